"""The certifier finds each defect of a receiver, and nothing wrong with a good one."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import re
import socket
import time
import unicodedata
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import jwt
import pytest

from contract_tests.support.contract import Contract
from emulator.checks.receiver import certifier, checks
from emulator.checks.receiver.certifier import CheckResult
from emulator.checks.receiver.checks import CHECKS, METHODS, checks_of
from emulator.checks.receiver.service_world import ServiceWorld
from emulator.core.event_types import EVENTS
from emulator.document import bundles

SECRET = "whsec_4Kd8sF2hJ6lQ1wE5rT9yU3iO7pA0zX4c"
WEBHOOK = "wh_5Tn8cV2bX6mK1jH4gF7dS9aP"

CATALOGUE = {*EVENTS, "webhook.ping", "webhook.test"}

SMALL = 10_000
"""Bytes of a body that arrive together, unless the sender pauses."""


@dataclass(frozen=True)
class Request:
    """A request: headers by lower-case name, raw body, and the number of others in progress."""

    headers: dict[str, str]
    body: bytes
    beside: int = 0

    @property
    def event(self) -> Any:
        return json.loads(self.body)

    @property
    def signature(self) -> str:
        """The signature, or the token or the credentials; empty where there are none."""
        return self.headers.get(
            "service-signature", self.headers.get("authorization", "").partition(" ")[2]
        )

    def proof(self, method: str) -> str | None:
        """What stands where this method has its proof, or None where the header is missing."""
        if method == "HMAC_SHA256":
            return self.headers.get("service-signature")
        header = self.headers.get("authorization")
        return None if header is None else header.partition(" ")[2].strip()


Defect = Callable[["Receiver", Request], int | None]
"""The response instead of a good receiver's: a status; None where invisible; -1 hangs up."""


@dataclass
class Receiver:
    """A good receiver: verifies ``method``'s proof over the raw body and accepts all genuine ones.

    ``in_one_go`` is the defect of one that takes what arrived first for the whole body, unless that
    is large.
    """

    method: str = "HMAC_SHA256"
    defect: Defect = lambda receiver, request: None
    in_one_go: bool = False
    received: list[Request] = field(default_factory=list)
    ids: set[str] = field(default_factory=set)
    signatures: set[str] = field(default_factory=set)
    objects: set[str] = field(default_factory=set)
    busy: int = 0

    def response(self, request: Request) -> int:
        """Return the status a request is answered with; what was accepted is remembered."""
        status = self.defect(self, request) or (200 if genuine(self.method, request) else 401)
        if status == 200:
            self.ids.add(request.event["id"])
            self.signatures.add(request.signature)
            self.objects.add(request.event["data"]["object"]["id"])
        return status

    def knows(self, request: Request) -> bool:
        return request.event["id"] in self.ids

    def is_new(self, request: Request) -> bool:
        return not self.knows(request) and request.signature not in self.signatures

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[str]:
        """The URL it listens at, while it does."""
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        try:
            yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/hooks"
        finally:
            server.close()
            await server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.busy += 1
        _, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {
            name.lower(): value.strip()
            for name, _, value in (line.partition(":") for line in lines if line)
        }
        length = int(headers["content-length"])
        read = reader.read if self.in_one_go and length < SMALL else reader.readexactly
        request = Request(headers, await read(length), self.busy - 1)
        self.received.append(request)
        status = self.response(request)
        self.busy -= 1
        if status > 0:
            more = "Location: /elsewhere\r\n" if 300 <= status < 400 else ""
            writer.write(
                f"HTTP/1.1 {status} Said\r\n"
                f"Content-Length: 0\r\n{more}Connection: close\r\n\r\n".encode()
            )
        writer.close()
        with suppress(OSError):  # the sender hung up, with some of the body still to come
            await writer.wait_closed()


def genuine(method: str, request: Request, **leniency: Any) -> bool:
    """Return whether a request proves its sender by this method. ``leniency`` is for tokens."""
    scheme, _, proof = request.headers.get("authorization", "").partition(" ")
    if method == "HMAC_SHA256":
        return same(request.headers.get("service-signature", ""), signature(request.body))
    if method == "BASIC":
        return scheme == "Basic" and same(
            proof, base64.b64encode(f"{WEBHOOK}:{SECRET}".encode()).decode()
        )
    claims = claimed(proof, **leniency) if scheme == "Bearer" else None
    return claims is not None and claims["body_sha256"] == hashlib.sha256(request.body).hexdigest()


def signature(body: bytes) -> str:
    return hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()


def claimed(token: str, **options: Any) -> Any:
    """What a token claims, or None if it is not to be trusted."""
    try:
        return jwt.decode(
            token, SECRET, algorithms=["HS256"], options={"require": ["exp"], **options}
        )
    except jwt.InvalidTokenError:
        return None


def algorithm(token: str) -> str | None:
    try:
        return str(jwt.get_unverified_header(token)["alg"])
    except jwt.InvalidTokenError:
        return None


def same(proof: str, expected: str) -> bool:
    return hmac.compare_digest(proof.encode("latin-1"), expected.encode())


def well_formed(method: str, proof: str) -> bool:
    form = {
        "HMAC_SHA256": r"[0-9a-f]{64}",
        "JWT": r"[^.]+\.[^.]+\.[^.]*",
        "BASIC": r"[A-Za-z0-9+/]+=*",
    }[method]
    return re.fullmatch(form, proof) is not None


def where(condition: Callable[[Receiver, Request], bool], status: int) -> Defect:
    """Return a receiver that has its own answer to some requests."""
    return lambda receiver, request: status if condition(receiver, request) else None


def of_type(*types: str, status: int) -> Defect:
    """Return a receiver that has its own answer to some types of event."""
    return where(lambda receiver, request: request.event["type"] in types, status)


def over(change: Callable[[bytes], bytes]) -> Defect:
    """Return a receiver that computes signatures over something it made of the body."""
    return lambda receiver, request: (
        200 if same(request.signature, signature(change(request.body))) else 401
    )


def normal(body: bytes) -> bytes:
    """Return the text of a body in a normal form, as some frameworks hand it on."""
    return unicodedata.normalize("NFC", body.decode()).encode()


def rewritten(body: bytes, **options: Any) -> bytes:
    return json.dumps(json.loads(body), separators=(",", ":"), **options).encode()


CERTIFIED_SECONDS = 60
"""Seconds a receiver has here: none of them depends on how busy the machine is."""


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """What comes slowly comes almost at once."""
    monkeypatch.setattr(checks, "PIECE_INTERVAL", 0.001)


async def examined(url: str, method: str, patience: float = CERTIFIED_SECONDS) -> list[CheckResult]:
    service = ServiceWorld(url, SECRET, method, webhook=WEBHOOK)
    return [result async for result in certifier.results(service, patience)]


def certify(receiver: Receiver) -> list[CheckResult]:
    async def run() -> list[CheckResult]:
        async with receiver.listening() as url:
            return await examined(url, receiver.method)

    return asyncio.run(run())


def failed(receiver: Receiver) -> set[str]:
    return {result.check.name for result in certify(receiver) if not result.passed}


@pytest.mark.parametrize("method", METHODS)
def test_a_good_receiver_passes_every_check(method: str) -> None:
    results = certify(Receiver(method))
    assert [result.check.name for result in results if not result.passed] == []
    assert [result.check for result in results] == checks_of(method)


def old(receiver: Receiver, request: Request) -> bool:
    return datetime.fromisoformat(request.event["created_at"]) < datetime.now(UTC) - timedelta(
        minutes=5
    )


def out_of_the_blue(receiver: Receiver, request: Request) -> bool:
    """Return whether it is the end of something whose beginning was not reported."""
    end = request.event["type"] in ("subscription.canceled", "customer.deleted")
    return end and request.event["data"]["object"]["id"] not in receiver.objects


def is_garbage(receiver: Receiver, request: Request) -> bool:
    """Return whether a proof is there, and is none, nor of digits that are too few or too many."""
    proof = request.proof(receiver.method) or ""
    is_proof = well_formed(receiver.method, proof) or re.fullmatch("[0-9a-f]+", proof)
    return proof != "" and proof.isascii() and not is_proof


def begins_like(proof: str, expected: str) -> bool:
    """Return whether all digits that were sent are right: what a loop over them finds."""
    return proof != "" and expected.startswith(proof)


def half_signed(receiver: Receiver, request: Request) -> bool:
    """Return whether a new event has a token that is in order but for who signed it."""
    token = request.proof("JWT") or ""
    claims = (
        claimed(token, verify_signature=False, verify_exp=True)
        if well_formed("JWT", token)
        else None
    )
    in_order = claims is not None and algorithm(token) == "HS256"
    return (
        in_order
        and receiver.is_new(request)
        and claims["body_sha256"] == hashlib.sha256(request.body).hexdigest()
    )


def credentials(request: Request) -> list[str]:
    proof = request.proof("BASIC") or ""
    return (
        base64.b64decode(proof).decode().split(":")
        if well_formed("BASIC", proof) and "." not in proof
        else ["", ""]
    )


def issued(request: Request) -> Any:
    return (claimed(request.proof("JWT") or "") or {"iat": 0})["iat"]


REJECTED: dict[str, Defect] = {
    "unsigned": where(
        lambda r, request: {*request.headers}.isdisjoint({"service-signature", "authorization"}),
        200,
    ),
    "empty": where(lambda r, request: request.proof(r.method) == "", 200),
    "garbage": where(is_garbage, 500),
    "non-ascii": where(lambda r, request: not (request.proof(r.method) or "").isascii(), 500),
}
"""Defects of every method."""

SIGNED: dict[str, Defect] = {
    **REJECTED,
    "repeated": where(lambda r, request: r.knows(request) and genuine(r.method, request), 409),
    "forged-body": where(Receiver.knows, 200),
    "forged-event": where(lambda r, request: not r.is_new(request) and not r.knows(request), 200),
}
"""Defects of methods that sign the body."""

HMAC: dict[str, Defect] = {
    **SIGNED,
    "ping": of_type("webhook.ping", status=400),
    "good": lambda receiver, request: 200 if request.event["type"] == "webhook.ping" else 401,
    "test": of_type("webhook.test", status=404),
    "events": of_type("refund.failed", status=400),
    "unknown": where(lambda r, request: request.event["type"] not in CATALOGUE, 400),
    "large": where(lambda r, request: len(request.body) > 100 * 1024, 413),
    "parallel": where(lambda r, request: request.beside > 0, 503),
    "reordered": where(out_of_the_blue, 404),
    "late": where(old, 400),
    "text": over(normal),
    "spacing": over(lambda body: rewritten(body, ensure_ascii=False)),
    "forged-secret": where(
        lambda r, request: r.is_new(request) and well_formed(r.method, request.signature), 200
    ),
    "forged-method": where(lambda r, request: genuine("JWT", request), 200),
    "truncated": where(
        lambda r, request: begins_like(request.signature, signature(request.body)), 200
    ),
    "lengthened": where(
        lambda r, request: same(request.signature[:64], signature(request.body)), 200
    ),
}

JWT: dict[str, Defect] = {
    **SIGNED,
    "valid-token": where(lambda r, request: 0 < issued(request) < time.time() - 60, 401),
    "stale-token": where(lambda r, request: genuine("JWT", request, verify_exp=False), 200),
    "forged-secret": where(half_signed, 200),
    "forged-method": where(lambda r, request: genuine("HMAC_SHA256", request), 200),
    "forged-algorithm": where(
        lambda r, request: algorithm(request.proof("JWT") or "") == "none", 200
    ),
}

BASIC: dict[str, Defect] = {
    **REJECTED,
    "forged-secret": where(lambda r, request: credentials(request)[0] == WEBHOOK, 200),
    "forged-user": where(lambda r, request: credentials(request)[1] == SECRET, 200),
    "forged-method": where(lambda r, request: genuine("HMAC_SHA256", request), 200),
}

ALIKE = {"empty", "garbage", "non-ascii"}
"""Defects that a plain run tries with one method alone: the header's form decides, no proof."""

DEFECTS = [
    pytest.param(
        method,
        name,
        defect,
        id=f"{method}-{name}",
        marks=pytest.mark.long if defects is not HMAC and name in ALIKE else (),
    )
    for method, defects in zip(METHODS, (HMAC, JWT, BASIC), strict=True)
    for name, defect in defects.items()
]


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(("method", "check", "defect"), DEFECTS)
def test_a_defect_is_found_by_its_check_alone(method: str, check: str, defect: Defect) -> None:
    assert failed(Receiver(method, defect)) == {check}


@pytest.mark.usefixtures("quick")
def test_a_cause_is_reported_before_what_follows_from_it() -> None:
    """Where the header may be missing, the header of another method passes too."""
    missing = where(lambda r, request: request.proof(r.method) is None, 200)
    service = ServiceWorld("http://127.0.0.1/", SECRET, "HMAC_SHA256")
    findings = certifier.report(certify(Receiver(defect=missing)), service, 10).findings
    assert [finding.name for finding in findings] == ["unsigned", "forged-method"]


def test_a_receiver_that_reads_once_takes_no_body_in_pieces() -> None:
    """At the usual pace: the receiver must have read before the next piece comes."""
    assert failed(Receiver(in_one_go=True)) == {"slow"}


NAMES = {check.name for check in CHECKS}


def test_each_check_has_a_name_of_its_own() -> None:
    assert len(NAMES) == len(CHECKS)


def test_each_check_has_its_defect() -> None:
    assert {*HMAC, *JWT, *BASIC, "slow"} == NAMES


def test_each_check_is_of_some_method() -> None:
    assert {check.name for method in METHODS for check in checks_of(method)} == NAMES


def test_the_methods_are_those_of_the_document() -> None:
    assert (
        list(METHODS) == bundles.load("service")["components"]["schemas"]["SigningMethod"]["enum"]
    )


def test_a_receiver_that_takes_no_good_event_is_asked_no_more() -> None:
    """It would reject the bad ones too, and look good; one that hangs up on the ping is none."""
    results = certify(Receiver(defect=where(lambda receiver, request: True, 404)))
    assert [(result.check.name, result.passed) for result in results] == [
        ("ping", False),
        ("good", False),
    ]
    with pytest.raises(certifier.NoReceiver, match="closed before the response"):
        certify(Receiver(defect=where(lambda receiver, request: True, -1)))
    result = next(
        result for result in certify(Receiver(defect=REJECTED["garbage"])) if not result.passed
    )
    assert (certifier.advice_for(result) or "").startswith(certifier.CRASHED), (
        "an exception is no API error"
    )


def test_a_receiver_that_does_not_respond_to_the_ping_in_time_is_none() -> None:
    """It takes connections but reads nothing; the time is short, as no receiver may manage it."""
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        pytest.raises(certifier.NoReceiver, match="no response with"),
    ):
        asyncio.run(examined(f"http://127.0.0.1:{silent.getsockname()[1]}/", "HMAC_SHA256", 0.05))


def test_events_are_those_of_the_service(service_contract: Contract) -> None:
    """The document allows all that a good receiver accepted, but for one undocumented type."""
    receiver = Receiver()
    certify(receiver)
    accepted = [request for request in receiver.received if genuine(receiver.method, request)]
    types = {request.event["type"] for request in accepted}
    assert types == {*EVENTS, "webhook.ping", "webhook.test", "customer.certified"}
    for request in accepted:
        if request.event["type"] in CATALOGUE:
            assert service_contract.event_faults(request.body) == []
