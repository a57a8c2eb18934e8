"""A delivery, from event to last attempt: signed, in order, retried at exact world instants."""

from __future__ import annotations

import base64
import hashlib
import json
import ssl
import threading
from datetime import datetime, timedelta
from itertools import accumulate
from pathlib import Path
from typing import Any

import jwt
import pytest
import trustme

from contract_tests.support.receiver import Receiver, Reply
from contract_tests.support.sandbox import START, RunningServer, Sandbox
from emulator.core.event_types import EVENTS

MINUTE, HOUR = 60, 3600
EXPONENTIAL = [MINUTE, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 8 * HOUR]
"""Delivery rule 3."""


def instants(*waits: int) -> list[str]:
    """Return the start, and then each instant so many seconds after the one before."""
    start = datetime.fromisoformat(START)
    moments = [start + timedelta(seconds=seconds) for seconds in accumulate(waits, initial=0)]
    return [moment.isoformat(timespec="milliseconds").replace("+00:00", "Z") for moment in moments]


def delivered(sandbox: Sandbox, receiver: Receiver, *statuses: int, **fields: Any) -> Any:
    """Return one event's delivery, with responses of these statuses to its attempts, then 200."""
    endpoint = sandbox.endpoint(receiver.url, **fields)
    receiver.statuses = [*statuses]
    sandbox.customer()
    return now(sandbox, {"webhook": endpoint["id"]})


def now(sandbox: Sandbox, delivery: Any) -> Any:
    """Return the one delivery of its endpoint as it stands now."""
    (delivery_now,) = sandbox.deliveries({"id": delivery["webhook"]})
    return delivery_now


def path(delivery: Any, action: str = "") -> str:
    return (
        f"/webhooks/{delivery['webhook']}/" + (action or f"deliveries/{delivery['id']}/retry") + "/"
    )


def customers(receiver: Receiver) -> list[str]:
    """Return the ids of the customers that the received events are about."""
    return [event["data"]["object"]["id"] for event in receiver.events]


# -- what is sent, and to whom


def test_a_delivery_shows_its_request_with_the_response(
    sandbox: Sandbox, receiver: Receiver
) -> None:
    """B-85."""
    endpoint = sandbox.endpoint(receiver.url)
    receiver.reply = lambda received: Reply(200, body=b"thanks")
    sandbox.customer(name="Ångström 🦆")
    (delivery,) = sandbox.deliveries(endpoint)
    (event,) = sandbox.events()
    (received,) = receiver.deliveries
    (attempt,) = delivery["attempts"]
    assert (delivery["id"], delivery["event"]) == (
        received.headers["emulator-delivery"],
        event["id"],
    )
    assert (delivery["event_type"], delivery["status"]) == ("customer.created", "succeeded")
    assert (delivery["attempt_count"], delivery["next_attempt_at"]) == (1, None)
    assert (attempt["at"], attempt["status_code"], attempt["error"]) == (START, 200, None)
    assert (attempt["duration_ms"] >= 0, attempt["response_body"]) == (True, "thanks")
    assert attempt["request_headers"] == {
        "Content-Type": "application/json",
        "Service-Signature": received.headers["service-signature"],
        "Emulator-Delivery": delivery["id"],
        "Emulator-Attempt": "1",
    }


def test_a_delivery_is_signed_over_its_raw_body(sandbox: Sandbox, receiver: Receiver) -> None:
    """Delivery rule 1, B-83: in lower-case hex."""
    endpoint = sandbox.endpoint(receiver.url)
    sandbox.customer(name="Ångström 🦆")
    sandbox.settle()
    (received,) = receiver.deliveries
    assert received.signed_with(endpoint["secret"])
    assert not received.signed_with(endpoint["secret"] + "x")
    assert "authorization" not in received.headers


def test_a_retry_has_the_same_body(sandbox: Sandbox, receiver: Receiver) -> None:
    """B-80: the object is as it was."""
    sandbox.endpoint(receiver.url, "customer.created")
    receiver.reply = lambda received: Reply(500)
    customer = sandbox.customer(phone="+24177000000")
    sandbox.api.post("/subscriptions/", {"customer": customer["id"], "plan": sandbox.plan()["id"]})
    sandbox.settle()
    sandbox.advance("1d")
    assert len(receiver.deliveries) > 1
    assert len({received.body for received in receiver.deliveries}) == 1
    assert receiver.events[-1]["data"]["object"] == customer


def test_a_retry_follows_the_settings_that_its_endpoint_has_by_then(
    sandbox: Sandbox, receiver: Receiver
) -> None:
    """B-80: signature and number of tries are the endpoint's of now."""
    endpoint = sandbox.endpoint(receiver.url, "customer.created")
    receiver.reply = lambda received: Reply(500)
    sandbox.customer()
    sandbox.settle()
    changes = {
        "security_profile": "BASIC",
        "retry_policy": {"max_attempts": 2, "backoff_type": "linear"},
    }
    sandbox.api.patch(f"/webhooks/{endpoint['id']}/", changes)
    sandbox.advance("1d")
    (delivery,) = sandbox.deliveries(endpoint)
    assert [attempt["at"] for attempt in delivery["attempts"]] == instants(MINUTE, 30 * MINUTE)
    assert ["authorization" in received.headers for received in receiver.deliveries] == [
        False,
        True,
        True,
    ]


# -- signing


def test_a_jwt_vouches_for_the_body_to_any_library(sandbox: Sandbox, receiver: Receiver) -> None:
    """B-83: HS256, exp in the system's future at any time of the world, the body's digest."""
    endpoint = sandbox.endpoint(receiver.url, security_profile="JWT")
    sandbox.customer()
    (delivery,) = sandbox.deliveries(endpoint)
    for received in receiver.received:
        scheme, token = received.headers["authorization"].split(" ")
        needed = ["iss", "iat", "exp", "jti", "evt", "body_sha256"]
        own = {"algorithms": ["HS256"], "issuer": endpoint["app"]}
        claims = jwt.decode(token, endpoint["secret"], **own, options={"require": needed})
        assert scheme == "Bearer"
        assert claims["body_sha256"] == hashlib.sha256(received.body).hexdigest()
        assert claims["exp"] - claims["iat"] == 300
        assert claims["evt"] == received.event["id"]
        assert claims["jti"] == (received.event["id"] if received.is_ping else delivery["id"])
        assert "service-signature" not in received.headers
        with pytest.raises(jwt.InvalidSignatureError):
            jwt.decode(token, endpoint["secret"] + "x", algorithms=["HS256"])
    assert_hidden(delivery, "Bearer …", token, endpoint["secret"])


def test_basic_sends_the_endpoints_id_and_secret(sandbox: Sandbox, receiver: Receiver) -> None:
    """B-83."""
    endpoint = sandbox.endpoint(receiver.url, security_profile="BASIC")
    sandbox.customer()
    (delivery,) = sandbox.deliveries(endpoint)
    for received in receiver.received:
        scheme, pair = received.headers["authorization"].split(" ")
        assert scheme == "Basic"
        assert base64.b64decode(pair).decode() == f"{endpoint['id']}:{endpoint['secret']}"
    assert_hidden(delivery, "Basic …", pair, endpoint["secret"])


def assert_hidden(delivery: Any, masked: str, *secrets: str) -> None:
    """Raise where the history gives a secret away."""
    assert delivery["attempts"][0]["request_headers"]["Authorization"] == masked
    assert not [secret for secret in secrets if secret in json.dumps(delivery)]


# -- retries


@pytest.mark.parametrize(
    ("policy", "waits"),
    [
        ({}, EXPONENTIAL),
        ({"max_attempts": 10}, EXPONENTIAL + [8 * HOUR] * 5),
        ({"max_attempts": 10, "backoff_type": "linear"}, [30 * MINUTE] * 10),
        ({"max_attempts": 1}, EXPONENTIAL[:1]),
        ({"max_attempts": 0}, []),
    ],
)
def test_retries_come_at_exact_instants_until_none_is_left(
    sandbox: Sandbox, receiver: Receiver, policy: Any, waits: list[int]
) -> None:
    """Delivery rule 3, B-84: each waits from the try before; max_attempts counts only retries."""
    first = delivered(sandbox, receiver, *[500] * 20, retry_policy=policy)
    response = sandbox.advance("5d")
    delivery = now(sandbox, first)
    assert [attempt["at"] for attempt in delivery["attempts"]] == instants(*waits)
    tries = [str(number + 1) for number in range(len(waits) + 1)]
    assert [item.headers["emulator-attempt"] for item in receiver.deliveries] == tries
    assert {item.headers["emulator-delivery"] for item in receiver.deliveries} == {delivery["id"]}
    assert (delivery["status"], delivery["attempt_count"]) == ("failed", len(waits) + 1)
    assert (delivery["next_attempt_at"], delivery["updated_at"]) == (None, instants(*waits)[-1])
    assert response["jobs"] == len(waits)


RESPONSES: list[tuple[dict[str, str], tuple[int, ...], str]] = [
    ({}, (201, 202, 204, 299, 300, 304, 400, 401, 404, 409, 410, 429, 499, 600, 999), "failed"),
    ({}, (500, 502, 503, 504, 599), "pending"),
    ({"webhook_success": "2xx"}, (200, 201, 202, 204, 299), "succeeded"),
    ({"webhook_retry": "all"}, (404,), "pending"),
]
"""A delivery's fate after a response with a status, by assumptions (delivery rule 2, B-84)."""


@pytest.mark.parametrize(("assumptions", "statuses", "becomes"), RESPONSES)
def test_the_status_of_a_response_decides(
    sandbox: Sandbox,
    receiver: Receiver,
    assumptions: dict[str, str],
    statuses: tuple[int, ...],
    becomes: str,
) -> None:
    sandbox.settings(assumptions=assumptions)
    endpoint = sandbox.endpoint(receiver.url)
    for status in statuses:
        receiver.statuses = [status]
        sandbox.customer()
        *_, delivery = sandbox.deliveries(endpoint)
        assert (delivery["status"], delivery["attempt_count"]) == (becomes, 1), status
        is_refused = becomes == "failed" and status < 300
        assert not is_refused or "must answer 200" in delivery["attempts"][0]["error"]
        sandbox.advance("2d")
        later = [200] if becomes == "pending" else []
        *_, delivery = sandbox.deliveries(endpoint)
        assert [attempt["status_code"] for attempt in delivery["attempts"]] == [status, *later]
        fate = ("succeeded" if later else becomes, None)
        assert (delivery["status"], delivery["next_attempt_at"]) == fate, status


@pytest.mark.parametrize(("success", "succeeded"), [("200", 0), ("2xx", 1)])
def test_an_advance_counts_what_is_success(
    sandbox: Sandbox, receiver: Receiver, success: str, succeeded: int
) -> None:
    """B-84, B-91: one attempt, answered with 204."""
    sandbox.settings(assumptions={"webhook_success": success})
    sandbox.endpoint(receiver.url, "invoice.payment_overdue")
    sandbox.invoice()
    receiver.statuses = [204]
    counted = sandbox.advance("31d")["deliveries"]
    assert counted == {"succeeded": succeeded, "failed": 1 - succeeded}


def test_a_receiver_without_a_response_is_tried_again(
    impatient: Sandbox, receiver: Receiver
) -> None:
    """Delivery rule 2; its ten seconds are shorter here. One attempt on record is one request."""
    endpoint = impatient.endpoint(receiver.url, retry_policy={"max_attempts": 2})
    replies = iter([Reply(held=True), Reply(cut=True)])
    receiver.reply = lambda received: next(replies)
    impatient.customer()
    (delivery,) = impatient.deliveries(endpoint)
    (attempt,) = delivery["attempts"]
    assert (attempt["status_code"], attempt["response_body"]) == (None, None)
    assert attempt["duration_ms"] > 1000
    assert delivery["next_attempt_at"] == instants(MINUTE)[-1]
    impatient.advance("1m")
    assert len(receiver.deliveries) == 2
    receiver.close()
    impatient.advance("5m")
    (delivery,) = impatient.deliveries(endpoint)
    assert [attempt["error"] for attempt in delivery["attempts"]] == [
        "no response within 1.5 s",
        "the connection was closed before the response",
        "cannot connect: Connection refused",
    ]
    assert delivery["status"] == "failed"


BODIES = {
    b"": "",
    b"x" * 4096: "x" * 4096,
    b"x" * 4097: "x" * 4096,
    b"x" * 1_000_000: "x" * 4096,
    b"x" * 4095 + "é".encode(): "x" * 4095,
    b"a\xffb": "a\N{REPLACEMENT CHARACTER}b",
}


def test_the_first_4_kib_of_a_response_are_stored(sandbox: Sandbox, receiver: Receiver) -> None:
    """B-85; a character cut in two is left out, what is no UTF-8 is marked."""
    bodies = iter((b"", *BODIES))  # the first is for the ping
    receiver.reply = lambda received: Reply(200, body=next(bodies))
    endpoint = sandbox.endpoint(receiver.url)
    for _ in BODIES:
        sandbox.customer()
    assert [
        delivery["attempts"][0]["response_body"] for delivery in sandbox.deliveries(endpoint)
    ] == list(BODIES.values())


def test_an_arranged_outcome_takes_the_place_of_attempts(
    sandbox: Sandbox, receiver: Receiver
) -> None:
    """The next delivery attempts end so, and nothing is sent; retries follow (B-84)."""
    sandbox.control.post("/outcomes", {"operation": "delivery", "result": "failed", "times": 2})
    first = delivered(sandbox, receiver)
    sandbox.advance("60s")
    assert (first["status"], receiver.deliveries) == ("pending", [])
    sandbox.advance("PT5M")
    delivery = now(sandbox, first)
    assert (delivery["status"], len(receiver.deliveries)) == ("succeeded", 1)
    assert [attempt["error"] for attempt in delivery["attempts"]] == ["failed, as arranged"] * 2 + [
        None
    ]


# -- disabled endpoints


def test_nothing_is_sent_to_a_disabled_endpoint(sandbox: Sandbox, receiver: Receiver) -> None:
    """Delivery rule 5, B-87: it misses events, and fails deliveries that wait at once, which can be
    replayed once the endpoint is enabled.

    Doing either twice changes nothing, not even ``updated_at``.
    """
    first = delivered(sandbox, receiver, 500)
    disabled = sandbox.api.post(path(first, "disable"))
    assert (disabled["enabled"], "secret" in disabled) == (False, False)
    sandbox.advance("1h")
    assert sandbox.api.post(path(first, "disable")) == disabled
    failed = now(sandbox, first)
    assert (failed["status"], failed["attempt_count"], failed["next_attempt_at"]) == (
        "failed",
        1,
        None,
    )
    for action in ("", "test"):
        sandbox.api.rejected("POST", path(failed, action), 422, "INVALID_STATUS_TRANSITION")
    sandbox.customer()
    enabled = sandbox.api.post(path(first, "enable"))
    assert (enabled["enabled"], enabled["updated_at"]) == (True, sandbox.now)
    sandbox.advance("1h")
    assert sandbox.api.post(path(first, "enable")) == enabled
    sandbox.advance("30d")
    assert len(receiver.deliveries) == 1
    assert sandbox.api.post(path(failed))["status"] == "succeeded"
    later = sandbox.customer()
    assert len(sandbox.deliveries(enabled)) == 2
    assert customers(receiver)[2:] == [later["id"]]


def test_what_waits_in_line_when_the_endpoint_is_disabled_is_missed(
    sandbox: Sandbox, receiver: Receiver
) -> None:
    endpoint = sandbox.endpoint(receiver.url)
    receiver.reply = lambda received: Reply(held=True)
    for _ in range(3):
        sandbox.customer()
    sandbox.act(endpoint, "disable")
    receiver.release()
    history = [
        (delivery["status"], delivery["attempt_count"]) for delivery in sandbox.deliveries(endpoint)
    ]
    assert history == [("succeeded", 1), ("failed", 0), ("failed", 0)]


# -- order and company


def test_events_reach_an_endpoint_in_order_of_creation(
    sandbox: Sandbox, receiver: Receiver
) -> None:
    """B-84: also when the receiver is slow."""
    endpoint = sandbox.endpoint(receiver.url)
    receiver.reply = lambda received: Reply(held=len(receiver.deliveries) == 1)
    made = [sandbox.customer()["id"] for _ in range(10)]
    assert len(receiver.deliveries) <= 1, "one after the other"
    receiver.release()
    sandbox.settle()
    assert customers(receiver) == made
    assert [delivery["event"] for delivery in sandbox.deliveries(endpoint)] == [
        event["id"] for event in receiver.events
    ]


def test_a_retry_does_not_hold_up_later_events(sandbox: Sandbox, receiver: Receiver) -> None:
    """B-84."""
    sandbox.endpoint(receiver.url)
    receiver.statuses = [500]
    first = sandbox.customer()["id"]
    sandbox.settle()
    second = sandbox.customer()["id"]
    sandbox.advance("1m")
    assert customers(receiver) == [first, second, first]


def test_a_slow_receiver_does_not_hold_up_another(sandbox: Sandbox, receiver: Receiver) -> None:
    released = threading.Event()
    quick = Receiver()
    quick.reply = lambda received: Reply(200 if received.is_ping or released.set() is None else 500)
    sandbox.endpoint(receiver.url)
    sandbox.endpoint(quick.url)
    receiver.reply = lambda received: Reply(held=True)
    sandbox.customer()
    assert released.wait(5)
    receiver.release()
    sandbox.settle()
    quick.close()
    assert len(receiver.deliveries) == len(quick.deliveries) == 1


# -- manual replay


def test_a_failed_delivery_is_replayed(sandbox: Sandbox, receiver: Receiver) -> None:
    """Delivery rule 4, B-85: the response is the delivery after the attempt, without retries."""
    failed = delivered(sandbox, receiver, 404, 500, 500)
    for count in (2, 3):
        again = sandbox.api.post(path(failed))
        assert (again["status"], again["attempt_count"], again["next_attempt_at"]) == (
            "failed",
            count,
            None,
        )
    sandbox.advance("2d")
    assert len(receiver.deliveries) == 3
    replayed = sandbox.api.post(path(failed))
    assert replayed["attempts"][0] == failed["attempts"][0]
    assert replayed["attempts"][3]["at"] == replayed["updated_at"] == sandbox.now
    assert (replayed["status"], now(sandbox, failed)) == ("succeeded", replayed)
    assert len({received.body for received in receiver.deliveries}) == 1


def test_only_a_failed_delivery_is_replayed(sandbox: Sandbox, receiver: Receiver) -> None:
    """Delivery rule 4, B-85."""
    endpoint = sandbox.endpoint(receiver.url)
    sandbox.customer()
    sandbox.settle()
    receiver.statuses = [500]
    sandbox.customer()
    sandbox.settle()
    for delivery, status in zip(
        sandbox.deliveries(endpoint), ("succeeded", "pending"), strict=True
    ):
        assert delivery["status"] == status
        sandbox.api.rejected("POST", path(delivery), 422, "INVALID_STATUS_TRANSITION")


# -- test events


TYPES = [*EVENTS, "webhook.ping", "webhook.test"]


def test_a_test_is_made_before_its_response(sandbox: Sandbox, receiver: Receiver) -> None:
    """B-85: webhook.test by default, about the endpoint, to it alone; retried like others."""
    endpoint = sandbox.endpoint(receiver.url, "invoice.paid")
    sandbox.endpoint(f"{receiver.url}/other")
    receiver.statuses = [500]
    delivery = sandbox.act(endpoint, "test")
    (received,) = receiver.deliveries
    assert (delivery["status"], delivery["event_type"]) == ("pending", "webhook.test")
    assert delivery["event"] == received.event["id"]
    assert received.event["data"]["object"] == sandbox.shown(endpoint)
    assert received.signed_with(endpoint["secret"])
    assert sandbox.deliveries(endpoint) == [delivery]
    assert sandbox.events() == [received.event]
    sandbox.advance("1m")
    assert [delivery["status"] for delivery in sandbox.deliveries(endpoint)] == ["succeeded"]


def test_every_type_can_be_tried(sandbox: Sandbox, receiver: Receiver) -> None:
    """The endpoint need not listen to it; the payload is the App's own, valid by the document."""
    endpoint = sandbox.endpoint(receiver.url, "customer.created")
    for type in TYPES:
        delivery = sandbox.api.post(f"/webhooks/{endpoint['id']}/test/", {"event": type})
        assert (delivery["status"], delivery["event_type"]) == ("succeeded", type)
        event = receiver.received[-1].event
        assert event["type"] == type
        assert event["data"]["object"].get("app", endpoint["app"]) == endpoint["app"]
        assert event in sandbox.control.get("/events", object=event["data"]["object"]["id"])["data"]


def test_a_test_makes_nothing_else_happen(sandbox: Sandbox, receiver: Receiver) -> None:
    endpoint = sandbox.endpoint(receiver.url, "customer.created")
    other = sandbox.endpoint(receiver.url)
    for type in TYPES:
        sandbox.api.post(f"/webhooks/{endpoint['id']}/test/", {"event": type})
    sandbox.advance("1d")
    assert [event["type"] for event in sandbox.events()] == TYPES
    assert sandbox.deliveries(other) == sandbox.api.get("/invoices/")["data"] == []


# -- certificates


def test_an_untrusted_certificate_is_rejected_unless_that_is_switched_off(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Until ``ssl_verification`` is on: then the attempt is a connection fault, and is retried.

    That of a trusted authority is accepted, but not under another name.
    """
    authority, context = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    tls_receiver = Receiver(context)
    body: dict[str, Any] = {"name": "Shop", "url": tls_receiver.url, "events": ["*"]}
    error = sandbox.api.rejected(
        "POST", "/webhooks/", 422, "WEBHOOK_ENDPOINT_UNREACHABLE", json=body
    )
    assert ("the certificate is not trusted" in error["message"], tls_receiver.received) == (
        True,
        [],
    )
    endpoint = sandbox.endpoint(tls_receiver.url, ssl_verification=False)
    sandbox.customer()
    sandbox.settle()
    sandbox.api.patch(f"/webhooks/{endpoint['id']}/", {"ssl_verification": True})
    sandbox.customer()
    sent, untold = sandbox.deliveries(endpoint)
    assert (sent["status"], len(tls_receiver.deliveries)) == ("succeeded", 1)
    assert untold["attempts"][0]["error"] == "the certificate is not trusted"
    assert untold["next_attempt_at"] == instants(MINUTE)[-1]
    bundle = tmp_path / "authority.pem"
    authority.cert_pem.write_to_path(str(bundle))
    monkeypatch.setenv("SSL_CERT_FILE", str(bundle))
    with RunningServer() as server, server.world("trusting") as trusting:
        assert delivered(trusting, tls_receiver)["status"] == "succeeded"
        body["url"] = tls_receiver.url.replace("127.0.0.1", "localhost")
        trusting.api.rejected("POST", "/webhooks/", 422, "WEBHOOK_ENDPOINT_UNREACHABLE", json=body)
    tls_receiver.close()
