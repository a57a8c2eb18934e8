"""The certifier finds each defect of a receiver, and nothing wrong with a good one."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import socket
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from contract_tests.support.contract import Contract
from contract_tests.surfaces.checks.receiver.receivers import (
    CATALOGUE,
    SECRET,
    WEBHOOK,
    Defect,
    Receiver,
    Request,
    algorithm,
    claimed,
    genuine,
    normal,
    of_type,
    over,
    rewritten,
    well_formed,
    where,
)
from emulator.checks.receiver import certifier, checks
from emulator.checks.receiver.certifier import CheckResult
from emulator.checks.receiver.checks import CHECKS, METHODS, checks_of
from emulator.checks.receiver.service_world import ServiceWorld
from emulator.core.event_types import EVENTS
from emulator.document import bundles

PATIENCE = 60
"""Seconds a receiver has here: none of them depends on how busy the machine is."""


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """What comes slowly comes almost at once."""
    monkeypatch.setattr(checks, "PAUSE", 0.001)


async def examined(url: str, method: str, patience: float = PATIENCE) -> list[CheckResult]:
    service = ServiceWorld(url, SECRET, method, webhook=WEBHOOK)
    return [result async for result in certifier.results(service, patience)]


def certify(receiver: Receiver) -> list[CheckResult]:
    """What is found about a receiver."""

    async def run() -> list[CheckResult]:
        async with receiver.listening() as url:
            return await examined(url, receiver.method)

    return asyncio.run(run())


def failed(receiver: Receiver) -> set[str]:
    """Return the names of the checks it fails."""
    return {result.check.name for result in certify(receiver) if not result.passed}


@pytest.mark.parametrize("method", METHODS)
def test_a_good_receiver_passes_every_check(method: str) -> None:
    results = certify(Receiver(method))
    assert [result.check.name for result in results if not result.passed] == []
    assert [result.check for result in results] == checks_of(method)


# -- defects, each found by its check and by no other


def old(receiver: Receiver, request: Request) -> bool:
    """Return whether the event is older than five minutes."""
    return datetime.fromisoformat(request.event["created_at"]) < datetime.now(UTC) - timedelta(minutes=5)


def out_of_the_blue(receiver: Receiver, request: Request) -> bool:
    """Return whether it is the end of something whose beginning was not reported."""
    end = request.event["type"] in ("subscription.canceled", "customer.deleted")
    return end and request.event["data"]["object"]["id"] not in receiver.objects


def is_garbage(receiver: Receiver, request: Request) -> bool:
    """Return whether a proof is there, and is none."""
    given = request.proof(receiver.method) or ""
    return given != "" and given.isascii() and not well_formed(receiver.method, given)


def half_signed(receiver: Receiver, request: Request) -> bool:
    """Return whether a new event has a token that is in order but for who signed it."""
    token = request.proof("JWT") or ""
    claims = claimed(token, verify_signature=False, verify_exp=True) if well_formed("JWT", token) else None
    in_order = claims is not None and algorithm(token) == "HS256"
    return in_order and receiver.is_new(request) and claims["body_sha256"] == hashlib.sha256(request.body).hexdigest()


def credentials(request: Request) -> list[str]:
    """User and password."""
    given = request.proof("BASIC") or ""
    return base64.b64decode(given).decode().split(":") if well_formed("BASIC", given) and "." not in given else ["", ""]


def issued(request: Request) -> Any:
    """Return when the token was issued, in seconds."""
    return (claimed(request.proof("JWT") or "") or {"iat": 0})["iat"]


REJECTED: dict[str, Defect] = {
    "unsigned": where(lambda r, request: {*request.headers}.isdisjoint({"service-signature", "authorization"}), 200),
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
    "forged-secret": where(lambda r, request: r.is_new(request) and well_formed(r.method, request.signature), 200),
    "forged-method": where(lambda r, request: genuine("JWT", request), 200),
}

JWT: dict[str, Defect] = {
    **SIGNED,
    "valid-token": where(lambda r, request: 0 < issued(request) < time.time() - 60, 401),
    "stale-token": where(lambda r, request: genuine("JWT", request, verify_exp=False), 200),
    "forged-secret": where(half_signed, 200),
    "forged-method": where(lambda r, request: genuine("HMAC_SHA256", request), 200),
    "forged-algorithm": where(lambda r, request: algorithm(request.proof("JWT") or "") == "none", 200),
}

BASIC: dict[str, Defect] = {
    **REJECTED,
    "forged-secret": where(lambda r, request: credentials(request)[0] == WEBHOOK, 200),
    "forged-user": where(lambda r, request: credentials(request)[1] == SECRET, 200),
    "forged-method": where(lambda r, request: genuine("HMAC_SHA256", request), 200),
}

DEFECTS = [
    pytest.param(method, name, defect, id=f"{method}-{name}")
    for method, defects in zip(METHODS, (HMAC, JWT, BASIC), strict=True)
    for name, defect in defects.items()
]


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(("method", "check", "defect"), DEFECTS)
def test_a_defect_is_found_by_its_check_and_by_no_other(method: str, check: str, defect: Defect) -> None:
    assert failed(Receiver(method, defect)) == {check}


def test_a_receiver_that_reads_once_takes_no_body_in_pieces() -> None:
    """At the usual pace: the receiver must have read before the next piece comes."""
    assert failed(Receiver(in_one_go=True)) == {"slow"}


def test_each_check_has_its_defect_and_some_method() -> None:
    names = {check.name for check in CHECKS}
    assert {*HMAC, *JWT, *BASIC, "slow"} == names
    assert {check.name for method in METHODS for check in checks_of(method)} == names
    assert len(names) == len(CHECKS)
    assert list(METHODS) == bundles.load("service")["components"]["schemas"]["SigningMethod"]["enum"]


# -- the report


def test_a_receiver_that_takes_no_good_event_is_asked_no_more() -> None:
    """It would reject the bad ones too, and look good; one that hangs up on the ping is none."""
    results = certify(Receiver(defect=where(lambda receiver, request: True, 404)))
    assert [(result.check.name, result.passed) for result in results] == [("ping", False), ("good", False)]
    with pytest.raises(certifier.NoReceiver, match="closed before the answer"):
        certify(Receiver(defect=where(lambda receiver, request: True, -1)))
    result = next(result for result in certify(Receiver(defect=REJECTED["garbage"])) if not result.passed)
    assert (certifier.advice_for(result) or "").startswith(certifier.CRASHED), "an exception is no API error"


def test_a_receiver_that_does_not_answer_the_ping_in_time_is_none() -> None:
    """This one takes connections and reads nothing; the time is short, since no receiver is to manage it."""
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(certifier.NoReceiver, match="no answer with"):
        asyncio.run(examined(f"http://127.0.0.1:{silent.getsockname()[1]}/", "HMAC_SHA256", 0.05))


# -- what is sent


def test_events_are_those_of_the_service(service_contract: Contract) -> None:
    """Whatever a good receiver accepted is what the document says, but for the one type that is in no document."""
    receiver = Receiver()
    certify(receiver)
    accepted = [request for request in receiver.received if genuine(receiver.method, request)]
    types = {request.event["type"] for request in accepted}
    assert types == {*EVENTS, "webhook.ping", "webhook.test", "customer.certified"}
    for request in accepted:
        if request.event["type"] in CATALOGUE:
            assert service_contract.event_faults(request.body) == []
