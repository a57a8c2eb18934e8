"""The checks: what is sent to a receiver and how, the answer expected, and the advice if the answer is wrong.

A correct receiver accepts valid deliveries in all forms they may have, and rejects invalid ones, made from them.
"""

from __future__ import annotations

import asyncio
import base64
import json
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Literal, NamedTuple

from msgspec.structs import replace

from emulator.checks.receiver.service_world import PROOF_HEADERS, ServiceWorld, unsigned
from emulator.core.event_types import EVENTS
from emulator.core.unit_of_work import HttpResult
from emulator.engine.outbox import WebhookSender, tamper
from emulator.resources.webhooks.deliveries import TOKEN_LIFETIME, SignedRequest
from emulator.resources.webhooks.endpoints import WebhookEndpoint

# -- the ways of sending the deliveries of one check


SendStrategy = Callable[[WebhookSender, Sequence[SignedRequest]], Awaitable[list[HttpResult]]]

PIECES = 5
"""The number of pieces of a body that is sent slowly."""

PAUSE = 0.1
"""Seconds between two pieces; less if the receiver has little time to answer."""


async def one_by_one(sender: WebhookSender, sent: Sequence[SignedRequest]) -> list[HttpResult]:
    """Send each after the answer to the one before. Stop at the first without an answer, which may have taken long."""
    answers: list[HttpResult] = []
    for each in sent:
        answers.append(await sender.send(each.url, each.headers, each.body, verify=each.verify))
        if answers[-1].status_code is None:
            break
    return answers


async def at_once(sender: WebhookSender, sent: Sequence[SignedRequest]) -> list[HttpResult]:
    """Send all at the same time."""
    return [answer for (answer,) in await asyncio.gather(*(one_by_one(sender, [each]) for each in sent))]


async def slowly(sender: WebhookSender, sent: Sequence[SignedRequest]) -> list[HttpResult]:
    """Send each body in pieces, as over a slow connection."""
    pause = min(PAUSE, sender.answer_time / PIECES / 4)
    return [
        await sender.send(
            each.url,
            {**each.headers, "Content-Length": str(len(each.body))},
            _pieces(each.body, pause),
            verify=each.verify,
        )
        for each in sent
    ]


async def _pieces(body: bytes, pause: float) -> AsyncIterator[bytes]:
    size = -(-len(body) // PIECES)
    for start in range(0, len(body), size):
        if start:
            await asyncio.sleep(pause)
        yield body[start : start + size]


# -- valid deliveries


THREE_DAYS = 3 * 24 * 3600
"""Seconds; longer than ten retries with exponential backoff take, so only a replay arrives this late (B-84)."""

PARALLEL = 5
"""Deliveries sent at the same time."""


def every_type(service: ServiceWorld) -> list[SignedRequest]:
    """Events of every type, each after the events that lead to it.

    The customer who is deleted is an earlier one: the events about the others find theirs where they read it.
    """
    deleted = {"customer": json.loads(service.valid_event.body)["data"]["object"]["id"]}
    overrides = {"customer.deleted": deleted}
    return [sent for type in EVENTS for sent in service.deliveries_of(type, **overrides.get(type, {}))]


def text(service: ServiceWorld) -> list[SignedRequest]:
    """Non-ASCII characters. The combining accent is lost if a receiver normalizes the text before it verifies."""
    return [service.customer(name="Zoe\u0301 Ñandú 王 🧺", metadata={"note": "« prêt »"})]


def spaced(service: ServiceWorld) -> list[SignedRequest]:
    """Return the same JSON with different white space."""
    sent = service.customer()
    return [service.signed(sent, body=json.dumps(json.loads(sent.body), indent=2).encode())]


def large(service: ServiceWorld) -> list[SignedRequest]:
    """Return the most metadata that a customer can have, in characters of four bytes (B-22)."""
    return [service.customer(metadata={f"{number:02}".ljust(40, "k"): "🧺" * 500 for number in range(50)})]


def parallel(service: ServiceWorld) -> list[SignedRequest]:
    """Several events, for one strategy to send at the same time."""
    return [service.customer() for _ in range(PARALLEL)]


def twice(service: ServiceWorld) -> list[SignedRequest]:
    """Return a delivery, and its retry after the answer was lost."""
    sent = service.customer()
    return [sent, service.again(sent)]


def reordered(service: ServiceWorld) -> list[SignedRequest]:
    """Return the events of a subscription in reverse order: canceled, created, its customer created."""
    return service.deliveries_of("subscription.canceled")[::-1]


def late(service: ServiceWorld) -> list[SignedRequest]:
    """Return an event that happened three days ago."""
    return [service.customer(ago=THREE_DAYS)]


def nearly_expired(service: ServiceWorld) -> list[SignedRequest]:
    """Return a token that is valid for one more minute."""
    return [service.signed(service.customer(), ago=TOKEN_LIFETIME - 60)]


# -- invalid deliveries


OTHER = {"HMAC_SHA256": "JWT", "JWT": "HMAC_SHA256", "BASIC": "HMAC_SHA256"}
"""For each signing method, another one that the endpoint does not use."""

NO_ALGORITHM = base64.urlsafe_b64encode(b'{"alg":"none","typ":"JWT"}').rstrip(b"=").decode()


def by_another_secret(service: ServiceWorld) -> SignedRequest:
    """Signed without knowing the secret."""
    return service.signed(service.customer(), by={"secret": f"whsec_{secrets.token_hex(16)}"})


def by_another_user(service: ServiceWorld) -> SignedRequest:
    """Signed with the id of another endpoint."""
    return service.signed(service.customer(), by={"id": f"{WebhookEndpoint.prefix}_{secrets.token_hex(12)}"})


def by_another_method(service: ServiceWorld) -> SignedRequest:
    """Signed with a method that the endpoint does not use."""
    return service.signed(service.customer(), by={"security_profile": OTHER[service.endpoint.security_profile]})


def changed(service: ServiceWorld) -> SignedRequest:
    """Return a valid delivery whose body was changed."""
    return replace(service.valid_event, body=tamper(service.valid_event.body))


def borrowed(service: ServiceWorld) -> SignedRequest:
    """Return a new event with the signature of another one."""
    name, _ = PROOF_HEADERS[service.endpoint.security_profile]
    return _with_proof(service, service.valid_event.headers[name])


def without_signature(service: ServiceWorld) -> SignedRequest:
    """Without any signature."""
    return unsigned(service.customer())


def empty(service: ServiceWorld) -> SignedRequest:
    """With an empty signature header."""
    return _with_proof(service, _scheme(service))


def garbage(service: ServiceWorld) -> SignedRequest:
    """With a signature of another length and form."""
    return _with_proof(service, _scheme(service) + "not-a-signature")


def beyond_ascii(service: ServiceWorld) -> SignedRequest:
    """With a signature of the right length in bytes, in characters that no signature has."""
    return _with_proof(service, _scheme(service) + "é" * 32)


def without_algorithm(service: ServiceWorld) -> SignedRequest:
    """Return a token that declares itself unsigned."""
    sent = service.customer()
    claims = sent.headers["Authorization"].split(".")[1]
    return replace(sent, headers={**sent.headers, "Authorization": f"Bearer {NO_ALGORITHM}.{claims}."})


def expired(service: ServiceWorld) -> SignedRequest:
    """Return a token that expired long ago."""
    return service.signed(service.customer(), ago=12 * TOKEN_LIFETIME)


def _scheme(service: ServiceWorld) -> str:
    return PROOF_HEADERS[service.endpoint.security_profile][1]


def _with_proof(service: ServiceWorld, proof: str) -> SignedRequest:
    sent, (name, _) = service.customer(), PROOF_HEADERS[service.endpoint.security_profile]
    return replace(sent, headers={**sent.headers, name: proof})


# -- checks


Make = Callable[[ServiceWorld], Sequence[SignedRequest]]

METHODS = tuple(PROOF_HEADERS)
"""The signing methods of an endpoint."""

SIGN_THE_BODY = ("HMAC_SHA256", "JWT")
"""The methods whose signature covers the body."""


class ReceiverCheck(NamedTuple):
    """One check. A correct receiver accepts the deliveries with a 2xx, or rejects them with a 4xx.

    ``rule`` names the source: a delivery rule, a limit, or the number of an assumption. ``advice`` is for the developer
    of a receiver that does the opposite.
    """

    name: str
    sent: str
    expected: Literal["accepted", "refused"]
    rule: str
    advice: str
    make: Make
    send: SendStrategy = one_by_one
    methods: tuple[str, ...] = METHODS


def _one(make: Callable[[ServiceWorld], SignedRequest]) -> Make:
    return lambda service: [make(service)]


RULE = "Delivery rule 1; B-83"

PING = ReceiverCheck(
    "ping",
    "the ping that validates a new endpoint",
    "accepted",
    "B-82",
    "Answer events of type webhook.ping with a 2xx, otherwise the endpoint cannot be registered.",
    _one(ServiceWorld.ping),
)
GOOD = ReceiverCheck(
    "good",
    "a new event, correctly signed",
    "accepted",
    RULE,
    "Do both sides use the same secret and the same signing method? "
    "Compute the signature over the raw body, before any JSON parsing.",
    _one(lambda service: service.valid_event),
)

CHECKS: tuple[ReceiverCheck, ...] = (
    PING,
    GOOD,
    ReceiverCheck(
        "test",
        "the test event webhook.test",
        "accepted",
        "B-85",
        "Answer events of type webhook.test with a 2xx: the test operation sends them.",
        _one(ServiceWorld.test),
    ),
    ReceiverCheck(
        "events",
        "events of every type in the catalogue",
        "accepted",
        "Events",
        "Answer every type with a 2xx, including those you do not use.",
        every_type,
    ),
    ReceiverCheck(
        "unknown",
        "an event of an unknown type",
        "accepted",
        "Events",
        "Answer unknown types with a 2xx and ignore them: the service adds new types of event.",
        _one(ServiceWorld.unknown_type),
    ),
    ReceiverCheck(
        "text",
        "accents, other scripts and an emoji",
        "accepted",
        RULE,
        "Compute the signature over the raw bytes, and only then decode them as UTF-8.",
        text,
    ),
    ReceiverCheck(
        "spacing",
        "a body with different white space",
        "accepted",
        RULE,
        "Compute the signature over the raw bytes, not over JSON that you serialized again.",
        spaced,
        methods=SIGN_THE_BODY,
    ),
    ReceiverCheck(
        "large",
        "a customer with all the metadata allowed",
        "accepted",
        "Limits; B-22",
        "Accept bodies of at least 128 KiB; the default limit of many frameworks is 100 KiB.",
        large,
    ),
    ReceiverCheck(
        "slow",
        "a body that arrives in pieces",
        "accepted",
        "Delivery rule 2",
        "Read all Content-Length bytes before you compute the signature.",
        _one(ServiceWorld.customer),
        send=slowly,
    ),
    ReceiverCheck(
        "parallel",
        "five deliveries at the same time",
        "accepted",
        "Events, Gaps; Delivery rule 2",
        "Handle requests concurrently, or fast enough that all of them are answered in time.",
        parallel,
        send=at_once,
    ),
    ReceiverCheck(
        "repeated",
        "the same delivery twice",
        "accepted",
        "Events, Gaps; B-84",
        "Store the ids of handled events; answer a repeated one with a 2xx and do nothing else.",
        twice,
    ),
    ReceiverCheck(
        "reordered",
        "events of a subscription, last one first",
        "accepted",
        "Events, Gaps; B-84",
        "Do not rely on the order: accept events about objects you do not know yet, and fetch what you need.",
        reordered,
    ),
    ReceiverCheck(
        "late",
        "an event that happened three days ago",
        "accepted",
        "Delivery rules 3 and 4; B-84",
        "Do not reject an event for its created_at: retries continue for days, and events can be replayed at any time.",
        late,
    ),
    ReceiverCheck(
        "valid-token",
        "a token in its last valid minute",
        "accepted",
        "B-83",
        "Use the exp claim, and do not allow less time than it gives.",
        nearly_expired,
        methods=("JWT",),
    ),
    ReceiverCheck(
        "stale-token",
        "a token that expired long ago",
        "refused",
        "B-83",
        "Have your library check the exp claim.",
        _one(expired),
        methods=("JWT",),
    ),
    ReceiverCheck(
        "forged-secret",
        "an event signed with another secret",
        "refused",
        RULE,
        "Compute the signature with the endpoint's secret and compare; anyone can send requests to your URL.",
        _one(by_another_secret),
    ),
    ReceiverCheck(
        "forged-user",
        "the credentials of another endpoint",
        "refused",
        "B-83",
        "Compare the user name as well: it is the endpoint's id.",
        _one(by_another_user),
        methods=("BASIC",),
    ),
    ReceiverCheck(
        "forged-body",
        "a body that was changed after signing",
        "refused",
        RULE,
        "Check the signature of every request before you check whether you know the event. "
        "With JWT also compare the body_sha256 claim with the body.",
        _one(changed),
        methods=SIGN_THE_BODY,
    ),
    ReceiverCheck(
        "forged-event",
        "an event with the signature of another",
        "refused",
        RULE,
        "Compute the signature over the body of this request. With JWT compare the body_sha256 claim with the body.",
        _one(borrowed),
        methods=SIGN_THE_BODY,
    ),
    ReceiverCheck(
        "forged-method",
        "the signature of another method",
        "refused",
        "Authentication rule 7",
        "Accept only the method that the endpoint is registered with.",
        _one(by_another_method),
    ),
    ReceiverCheck(
        "forged-algorithm",
        'a token of the algorithm "none"',
        "refused",
        "B-83",
        "Configure your library to allow only the algorithm HS256.",
        _one(without_algorithm),
        methods=("JWT",),
    ),
    ReceiverCheck(
        "unsigned",
        "an event without a signature",
        "refused",
        RULE,
        "Reject requests without the header; do not skip the check when it is missing.",
        _one(without_signature),
    ),
    ReceiverCheck(
        "empty",
        "an empty signature header",
        "refused",
        RULE,
        "Reject requests with an empty header, like those without one.",
        _one(empty),
    ),
    ReceiverCheck(
        "garbage",
        "a signature header with garbage",
        "refused",
        RULE,
        "Expect any value: comparing signatures of different lengths is an error in some libraries.",
        _one(garbage),
    ),
    ReceiverCheck(
        "non-ascii",
        "a signature with non-ASCII characters",
        "refused",
        RULE,
        "Compare bytes, not strings: comparing non-ASCII strings is an error in some libraries.",
        _one(beyond_ascii),
    ),
)
"""All checks, in the order of the run."""


def checks_of(method: str) -> list[ReceiverCheck]:
    """Return the checks for a signing method."""
    return [check for check in CHECKS if method in check.methods]
