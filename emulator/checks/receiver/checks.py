"""The checks: the delivery and its form, the expected response, and advice on a wrong response.

A correct receiver accepts valid deliveries in all forms they may have, and rejects invalid ones,
made from them.
"""

from __future__ import annotations

import asyncio
import base64
import json
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Literal, NamedTuple, TypedDict

from msgspec.structs import replace

from emulator.checks.receiver.service_world import PROOF_HEADERS, ServiceWorld, unsigned
from emulator.core.event_types import EVENTS
from emulator.core.unit_of_work import HttpResult
from emulator.document.paths import fixture
from emulator.engine.http_client import WebhookSender
from emulator.engine.outbox import tamper
from emulator.resources.webhooks.deliveries import TOKEN_LIFETIME, SignedRequest
from emulator.resources.webhooks.endpoints import WebhookEndpoint

# -- the ways of sending the deliveries of one check


SendStrategy = Callable[[WebhookSender, Sequence[SignedRequest]], Awaitable[list[HttpResult]]]

PIECES = 5
"""The number of pieces of a body that is sent slowly."""

PIECE_INTERVAL = 0.1
"""Seconds between two pieces; less if the receiver has little time to respond."""


async def one_by_one(sender: WebhookSender, sent: Sequence[SignedRequest]) -> list[HttpResult]:
    """Send each after the last response. Stop at the first without one: it may have taken long."""
    responses: list[HttpResult] = []
    for request in sent:
        responses.append(
            await sender.send(request.url, request.headers, request.body, verify=request.verify)
        )
        if responses[-1].status_code is None:
            break
    return responses


async def at_once(sender: WebhookSender, sent: Sequence[SignedRequest]) -> list[HttpResult]:
    return [
        response
        for (response,) in await asyncio.gather(
            *(one_by_one(sender, [request]) for request in sent)
        )
    ]


async def slowly(sender: WebhookSender, sent: Sequence[SignedRequest]) -> list[HttpResult]:
    """Send each body in pieces, as over a slow connection."""
    pause = min(PIECE_INTERVAL, sender.response_time / PIECES / 4)

    async def pace(request: bytes) -> AsyncIterator[bytes]:
        head, end, body = request.partition(b"\r\n\r\n")
        yield head + end
        size = -(-len(body) // PIECES)
        for start in range(0, len(body), size):
            if start:
                await asyncio.sleep(pause)
            yield body[start : start + size]

    return [
        await sender.send(
            request.url, request.headers, request.body, verify=request.verify, pace=pace
        )
        for request in sent
    ]


# -- valid deliveries


def every_type(service: ServiceWorld) -> list[SignedRequest]:
    """Return events of every type, each after the events that lead to it.

    The customer who is deleted is an earlier one: the events about the others find theirs where
    they read it.
    """
    deleted = {"customer": json.loads(service.valid_event.body)["data"]["object"]["id"]}
    overrides = {"customer.deleted": deleted}
    return [
        sent for type in EVENTS for sent in service.deliveries_of(type, **overrides.get(type, {}))
    ]


def spaced(service: ServiceWorld) -> list[SignedRequest]:
    """Return the same JSON with different white space."""
    sent = service.customer()
    return [service.signed(sent, body=json.dumps(json.loads(sent.body), indent=2).encode())]


def twice(service: ServiceWorld) -> list[SignedRequest]:
    """Return a delivery, and its retry after the response was lost."""
    sent = service.customer()
    return [sent, service.again(sent)]


# -- invalid deliveries


OTHER = {"HMAC_SHA256": "JWT", "JWT": "HMAC_SHA256", "BASIC": "HMAC_SHA256"}
"""For each signing method, another one that the endpoint does not use."""


def without_algorithm(service: ServiceWorld) -> SignedRequest:
    """Return a token that declares itself unsigned."""
    sent = service.customer()
    head = base64.urlsafe_b64encode(b'{"alg":"none","typ":"JWT"}').rstrip(b"=").decode()
    claims = sent.headers["Authorization"].split(".")[1]
    return replace(sent, headers={**sent.headers, "Authorization": f"Bearer {head}.{claims}."})


def with_proof(service: ServiceWorld, proof: str | None = None) -> SignedRequest:
    """Return a new event with a foreign signature: ``proof``, or that of another event."""
    sent, (name, scheme) = service.customer(), PROOF_HEADERS[service.endpoint.security_profile]
    value = service.valid_event.headers[name] if proof is None else scheme + proof
    return replace(sent, headers={**sent.headers, name: value})


def with_signature(service: ServiceWorld, length: int | None, more: str = "") -> SignedRequest:
    """Return a new event with the first digits of its signature (None: all), and ``more``."""
    sent, (name, _) = service.customer(), PROOF_HEADERS["HMAC_SHA256"]
    return replace(sent, headers={**sent.headers, name: sent.headers[name][:length] + more})


# -- checks


Make = Callable[[ServiceWorld], Sequence[SignedRequest]]

TRUNCATED_LENGTHS = (1, 32)
"""Digits that are left of a truncated signature, which has 64."""

METHODS = tuple(PROOF_HEADERS)
"""The signing methods of an endpoint."""


class ReceiverCheck(NamedTuple):
    """One check. A correct receiver accepts the deliveries with a 2xx, or rejects them with a 4xx.

    ``by_status`` has the advice for some wrong responses, in place of ``advice``; ``follows`` names
    a check whose failure explains this one's. The table of all is
    ``fixtures/receiver-checks.yaml``.
    """

    name: str
    sent: str
    expected: Literal["accepted", "refused"]
    rule: str
    advice: str
    make: Make
    send: SendStrategy = one_by_one
    methods: Sequence[str] = METHODS
    by_status: Mapping[int, str] = {}
    follows: str = ""


def _one(make: Callable[[ServiceWorld], SignedRequest]) -> Make:
    return lambda service: [make(service)]


class NewSignature(TypedDict, total=False):
    """The arguments of :meth:`ServiceWorld.signed`."""

    body: bytes
    by: Mapping[str, str]
    ago: int


def _resigned(how: Callable[[ServiceWorld], NewSignature]) -> Make:
    """Return a new event, signed again as the arguments of :meth:`ServiceWorld.signed` say."""
    return lambda service: [service.signed(service.customer(), **how(service))]


SENT: Mapping[str, Make] = {
    "ping": _one(ServiceWorld.ping),
    "good": _one(lambda service: service.valid_event),
    "test": _one(ServiceWorld.test),
    "events": every_type,
    "unknown": _one(ServiceWorld.unknown_type),
    # A receiver that normalizes text before it verifies loses the accent.
    "text": _one(
        lambda service: service.customer(
            name="Zoe\u0301 Ñandú 王 🧺", metadata={"note": "« prêt »"}
        )
    ),
    "spacing": spaced,
    # The most metadata that a customer can have, in characters of four bytes (B-22).
    "large": _one(
        lambda service: service.customer(
            metadata={f"{n:02}".ljust(40, "k"): "🧺" * 500 for n in range(50)}
        )
    ),
    "slow": _one(ServiceWorld.customer),
    "parallel": lambda service: [service.customer() for _ in range(5)],
    "repeated": twice,
    # Canceled, created, its customer created.
    "reordered": lambda service: service.deliveries_of("subscription.canceled")[::-1],
    # Ten retries with exponential backoff take less than three days, so only a replay arrives this
    # late (B-84).
    "late": _one(lambda service: service.customer(ago=3 * 24 * 3600)),
    "valid-token": _resigned(lambda service: {"ago": TOKEN_LIFETIME - 60}),
    "stale-token": _resigned(lambda service: {"ago": 12 * TOKEN_LIFETIME}),
    "forged-secret": _resigned(
        lambda service: {"by": {"secret": f"whsec_{secrets.token_hex(16)}"}}
    ),
    "forged-user": _resigned(
        lambda service: {"by": {"id": f"{WebhookEndpoint.prefix}_{secrets.token_hex(12)}"}}
    ),
    "forged-body": _one(
        lambda service: replace(service.valid_event, body=tamper(service.valid_event.body))
    ),
    "forged-event": _one(with_proof),
    "forged-method": _resigned(
        lambda service: {"by": {"security_profile": OTHER[service.endpoint.security_profile]}}
    ),
    "forged-algorithm": _one(without_algorithm),
    "unsigned": _one(lambda service: unsigned(service.customer())),
    "empty": _one(lambda service: with_proof(service, "")),
    "garbage": _one(lambda service: with_proof(service, "not-a-signature")),
    # A receiver that compares as many digits as it was sent accepts each beginning; the first digit
    # alone is guessed in sixteen attempts.
    "truncated": lambda service: [with_signature(service, length) for length in TRUNCATED_LENGTHS],
    "lengthened": _one(lambda service: with_signature(service, None, "00")),
    # Of the right length in bytes, in characters that no signature has.
    "non-ascii": _one(lambda service: with_proof(service, "é" * 32)),
}
"""The deliveries of each check, by its name."""

STRATEGIES: Mapping[str, SendStrategy] = {"slow": slowly, "parallel": at_once}
"""How it is sent, where not one delivery after the other."""

CHECKS: tuple[ReceiverCheck, ...] = tuple(
    ReceiverCheck(name, make=SENT[name], send=STRATEGIES.get(name, one_by_one), **fields)
    for name, fields in fixture("receiver-checks").items()
)
"""All checks, in the order of the run."""

PING, GOOD = CHECKS[:2]


def checks_of(method: str) -> list[ReceiverCheck]:
    return [check for check in CHECKS if method in check.methods]
