"""A delivery from the event to its last attempt: signed, in order, tried again at exact instants of the world."""

from __future__ import annotations

import base64
import hashlib
import json
import ssl
import threading
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import accumulate
from pathlib import Path
from typing import Any

import httpx
import jwt
import pytest
import trustme

from contract_tests.support.contract import Contract
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


def path(delivery: Any, *more: str) -> str:
    return "/".join(["/webhooks", delivery["webhook"], "deliveries", delivery["id"], *more, ""])


def failing(status: int = 500) -> Any:
    return lambda received: Reply(status)


# -- what is sent, and to whom


def test_a_delivery_shows_what_was_sent_and_answered(sandbox: Sandbox, receiver: Receiver) -> None:
    """B-85."""
    endpoint = sandbox.endpoint(receiver.url)
    receiver.reply = lambda received: Reply(200, body=b"thanks")
    sandbox.customer()
    (delivery,) = sandbox.deliveries(endpoint)
    (event,) = sandbox.events()
    (received,) = receiver.deliveries
    (attempt,) = delivery.pop("attempts")
    assert delivery == {
        "id": received.headers["emulator-delivery"],
        "object": "webhook_delivery",
        "webhook": endpoint["id"],
        "event": event["id"],
        "event_type": "customer.created",
        "status": "succeeded",
        "attempt_count": 1,
        "next_attempt_at": None,
        "created_at": START,
        "updated_at": START,
    }
    assert attempt.pop("duration_ms") >= 0
    assert attempt == {
        "at": START,
        "status_code": 200,
        "error": None,
        "request_headers": {
            "Content-Type": "application/json",
            "Service-Signature": received.headers["service-signature"],
            "Emulator-Delivery": delivery["id"],
            "Emulator-Attempt": "1",
        },
        "response_body": "thanks",
    }


def test_only_what_an_endpoint_listens_to_is_sent(sandbox: Sandbox, receiver: Receiver) -> None:
    some = sandbox.endpoint(f"{receiver.url}/some", "customer.deleted", "customer.created")
    every = sandbox.endpoint(f"{receiver.url}/all", "*")
    none = sandbox.endpoint(f"{receiver.url}/none", "invoice.paid")
    sandbox.customer()
    types = [[each["event_type"] for each in sandbox.deliveries(endpoint)] for endpoint in (some, every, none)]
    assert types == [["customer.created"], ["customer.created"], []]
    assert sorted(item.path for item in receiver.deliveries) == ["/hook/all", "/hook/some"]


def test_the_body_is_the_event_as_it_was_whatever_happens_to_its_object(sandbox: Sandbox, receiver: Receiver) -> None:
    """B-80: the object is as it was at that moment; a retry sends the very same bytes."""
    sandbox.endpoint(receiver.url, "customer.created")
    receiver.statuses = [500]
    customer = sandbox.customer(phone="+24177000000")
    sandbox.api.post("/subscriptions/", {"customer": customer["id"], "plan": sandbox.plan()["id"]})
    sandbox.advance("1m")
    assert sandbox.api.get(f"/customers/{customer['id']}/")["transactions_count"] == 1
    first, second = receiver.deliveries
    assert first.body == second.body
    assert first.event["data"]["object"] == customer


# -- signing


def test_an_hmac_is_over_the_raw_body_in_lower_case_hex(sandbox: Sandbox, receiver: Receiver) -> None:
    """Delivery rule 1, B-83."""
    endpoint = sandbox.endpoint(receiver.url)
    sandbox.customer(name="Ångström 🦆")
    sandbox.settle()
    (received,) = receiver.deliveries
    assert received.signed_with(endpoint["secret"])
    assert not received.signed_with(endpoint["secret"] + "x")
    assert "authorization" not in received.headers


def test_a_jwt_is_verified_by_a_library_and_vouches_for_the_body(sandbox: Sandbox, receiver: Receiver) -> None:
    """B-83: HS256, exp in the system's future although the world's clock stands still, digest of the body."""
    endpoint = sandbox.endpoint(receiver.url, security_profile="JWT")
    sandbox.customer()
    (delivery,) = sandbox.deliveries(endpoint)
    for received in receiver.received:
        scheme, token = received.headers["authorization"].split(" ")
        claims = jwt.decode(
            token,
            endpoint["secret"],
            algorithms=["HS256"],
            issuer=endpoint["app"],
            options={"require": ["iss", "iat", "exp", "jti", "evt", "body_sha256"]},
        )
        assert scheme == "Bearer"
        assert claims["body_sha256"] == hashlib.sha256(received.body).hexdigest()
        assert claims["exp"] - claims["iat"] == 300
        assert claims["evt"] == received.event["id"]
        assert claims["jti"] == (received.event["id"] if received.is_ping else delivery["id"])
        assert "service-signature" not in received.headers
        with pytest.raises(jwt.InvalidSignatureError):
            jwt.decode(token, endpoint["secret"] + "x", algorithms=["HS256"])


def test_basic_sends_the_endpoints_id_and_secret(sandbox: Sandbox, receiver: Receiver) -> None:
    """B-83."""
    endpoint = sandbox.endpoint(receiver.url, security_profile="BASIC")
    sandbox.customer()
    sandbox.settle()
    for received in receiver.received:
        scheme, pair = received.headers["authorization"].split(" ")
        assert scheme == "Basic"
        assert base64.b64decode(pair).decode() == f"{endpoint['id']}:{endpoint['secret']}"


@pytest.mark.parametrize(("method", "shown"), [("JWT", "Bearer …"), ("BASIC", "Basic …")])
def test_the_history_gives_no_secret_away(sandbox: Sandbox, receiver: Receiver, method: str, shown: str) -> None:
    endpoint = sandbox.endpoint(receiver.url, security_profile=method)
    sandbox.customer()
    history = sandbox.deliveries(endpoint)
    assert history[0]["attempts"][0]["request_headers"]["Authorization"] == shown
    sent = receiver.deliveries[0].headers["authorization"].split(" ")[1]
    assert sent not in json.dumps(history)
    assert endpoint["secret"] not in json.dumps(history)


def test_a_changed_signing_method_holds_for_the_next_attempt(sandbox: Sandbox, receiver: Receiver) -> None:
    endpoint = sandbox.endpoint(receiver.url)
    receiver.statuses = [500]
    sandbox.customer()
    sandbox.settle()
    sandbox.api.patch(f"/webhooks/{endpoint['id']}/", {"security_profile": "BASIC"})
    sandbox.advance("1m")
    assert ["authorization" in received.headers for received in receiver.deliveries] == [False, True]


# -- retries


@pytest.mark.parametrize(
    ("policy", "waits"),
    [
        ({}, EXPONENTIAL),
        ({"max_attempts": 10}, EXPONENTIAL + [8 * HOUR] * 5),
        ({"max_attempts": 10, "backoff_type": "linear"}, [30 * MINUTE] * 10),
        ({"backoff_type": "linear"}, [30 * MINUTE] * 5),
        ({"max_attempts": 1}, EXPONENTIAL[:1]),
        ({"max_attempts": 0}, []),
    ],
)
def test_retries_come_at_exact_instants_until_none_is_left(
    sandbox: Sandbox, receiver: Receiver, policy: Any, waits: list[int]
) -> None:
    """Delivery rule 3, B-84: each a wait since the try before; max_attempts counts retries after the first try."""
    endpoint = sandbox.endpoint(receiver.url, retry_policy=policy)
    receiver.reply = failing()
    sandbox.customer()
    answer = sandbox.advance("5d")
    (delivery,) = sandbox.deliveries(endpoint)
    assert [attempt["at"] for attempt in delivery["attempts"]] == instants(*waits)
    assert [item.headers["emulator-attempt"] for item in receiver.deliveries] == [
        str(number + 1) for number in range(len(waits) + 1)
    ]
    assert {item.headers["emulator-delivery"] for item in receiver.deliveries} == {delivery["id"]}
    assert (delivery["status"], delivery["attempt_count"]) == ("failed", len(waits) + 1)
    assert delivery["next_attempt_at"] is None
    assert delivery["updated_at"] == instants(*waits)[-1]
    assert answer["jobs"] == len(waits)


def test_between_two_attempts_it_is_pending_and_says_when_the_next_is(sandbox: Sandbox, receiver: Receiver) -> None:
    endpoint = sandbox.endpoint(receiver.url)
    receiver.reply = failing(503)
    sandbox.customer()
    for number, wait in enumerate(EXPONENTIAL, 1):
        (delivery,) = sandbox.deliveries(endpoint)
        assert (delivery["status"], delivery["attempt_count"]) == ("pending", number)
        assert delivery["next_attempt_at"] == instants(*EXPONENTIAL[:number])[-1]
        sandbox.advance(f"{wait - 1}s")
        assert len(receiver.deliveries) == number
        sandbox.advance("1s")
        assert len(receiver.deliveries) == number + 1


def test_a_retry_that_succeeds_is_the_last(sandbox: Sandbox, receiver: Receiver) -> None:
    endpoint = sandbox.endpoint(receiver.url)
    receiver.statuses = [500, 502, 200]
    sandbox.customer()
    sandbox.settle()
    answer = sandbox.advance("30d")
    (delivery,) = sandbox.deliveries(endpoint)
    assert [attempt["status_code"] for attempt in delivery["attempts"]] == [500, 502, 200]
    assert delivery["status"] == "succeeded"
    assert delivery["updated_at"] == instants(*EXPONENTIAL[:2])[-1]
    assert answer["deliveries"] == {"succeeded": 1, "failed": 1}


ANSWERS: list[tuple[dict[str, str], int, str]] = [
    *(({}, status, "failed") for status in (201, 202, 204, 299, 300, 304, 400, 401, 404, 409, 410, 429, 499, 600, 999)),
    *(({}, status, "pending") for status in (500, 502, 503, 504, 599)),
    *(({"webhook_success": "2xx"}, status, "succeeded") for status in (200, 201, 202, 204, 299)),
    ({"webhook_retry": "all"}, 404, "pending"),
]
"""What becomes of a delivery that is answered with a status, by assumptions (delivery rule 2, B-84)."""


@pytest.mark.parametrize(("assumptions", "status", "becomes"), ANSWERS)
def test_the_status_of_an_answer_decides(
    sandbox: Sandbox, receiver: Receiver, assumptions: dict[str, str], status: int, becomes: str
) -> None:
    sandbox.settings(assumptions=assumptions)
    endpoint = sandbox.endpoint(receiver.url)
    receiver.statuses = [status]
    sandbox.customer()
    (delivery,) = sandbox.deliveries(endpoint)
    assert (delivery["status"], delivery["attempt_count"]) == (becomes, 1)
    assert becomes != "failed" or status >= 300 or "must answer 200" in delivery["attempts"][0]["error"]
    sandbox.advance("2d")
    (delivery,) = sandbox.deliveries(endpoint)
    later = [200] if becomes == "pending" else []
    assert [attempt["status_code"] for attempt in delivery["attempts"]] == [status, *later]
    assert (delivery["status"], delivery["next_attempt_at"]) == ("succeeded" if later else becomes, None)


@pytest.mark.parametrize("status", [200, 204])
def test_what_wrongly_follows_an_answer_does_not_unmake_it(sandbox: Sandbox, receiver: Receiver, status: int) -> None:
    """B-84: a body after a 204, more of it than was announced; all in one piece, and so with the ping."""
    sandbox.settings(assumptions={"webhook_success": "2xx"})
    extra = {"content-length": "0"} if status == 200 else {}
    receiver.reply = lambda received: Reply(status, extra, body=b"ok")
    endpoint = sandbox.endpoint(receiver.url)
    sandbox.customer()
    (delivery,) = sandbox.deliveries(endpoint)
    assert [each["status_code"] for each in delivery["attempts"]] == [status]
    assert delivery["status"] == "succeeded"


def test_a_redirect_is_an_answer_and_not_followed(sandbox: Sandbox, receiver: Receiver) -> None:
    """B-82."""
    target = Receiver()
    endpoint = sandbox.endpoint(receiver.url)
    receiver.reply = lambda received: Reply(308, {"location": target.url})
    sandbox.customer()
    (delivery,) = sandbox.deliveries(endpoint)
    target.close()
    assert (delivery["status"], target.received) == ("failed", [])


def test_silence_is_a_failure_that_is_tried_again(impatient: Sandbox, receiver: Receiver) -> None:
    """Delivery rule 2; the ten seconds are shortened on this server."""
    endpoint = impatient.endpoint(receiver.url)
    replies = iter([Reply(held=True), Reply()])
    receiver.reply = lambda received: next(replies)
    impatient.customer()
    (delivery,) = impatient.deliveries(endpoint)
    (attempt,) = delivery["attempts"]
    assert attempt["error"] == "no answer within 1.5 s"
    assert (attempt["status_code"], attempt["response_body"]) == (None, None)
    assert attempt["duration_ms"] > 1000
    assert delivery["next_attempt_at"] == instants(MINUTE)[-1]
    impatient.advance("1m")
    assert [each["status"] for each in impatient.deliveries(endpoint)] == ["succeeded"]


def test_a_connection_cut_is_a_failure_that_is_tried_again(sandbox: Sandbox, receiver: Receiver) -> None:
    endpoint = sandbox.endpoint(receiver.url)
    replies = iter([Reply(cut=True), Reply()])
    receiver.reply = lambda received: next(replies)
    sandbox.customer()
    sandbox.advance("1m")
    (delivery,) = sandbox.deliveries(endpoint)
    assert [attempt["error"] for attempt in delivery["attempts"]] == [
        "the connection was closed before the answer",
        None,
    ]
    assert len(receiver.deliveries) == 2, "one attempt on record is one request"


def test_a_receiver_that_is_gone_is_tried_again(sandbox: Sandbox) -> None:
    receiver = Receiver()
    endpoint = sandbox.endpoint(receiver.url, retry_policy={"max_attempts": 1})
    receiver.close()
    sandbox.customer()
    sandbox.advance("1m")
    (delivery,) = sandbox.deliveries(endpoint)
    assert [attempt["error"] for attempt in delivery["attempts"]] == ["cannot connect: Connection refused"] * 2
    assert delivery["status"] == "failed"


def test_a_changed_policy_holds_for_what_is_pending(sandbox: Sandbox, receiver: Receiver) -> None:
    endpoint = sandbox.endpoint(receiver.url)
    receiver.reply = failing()
    sandbox.customer()
    sandbox.settle()
    sandbox.api.patch(f"/webhooks/{endpoint['id']}/", {"retry_policy": {"max_attempts": 2, "backoff_type": "linear"}})
    sandbox.advance("1d")
    (delivery,) = sandbox.deliveries(endpoint)
    assert [attempt["at"] for attempt in delivery["attempts"]] == instants(MINUTE, 30 * MINUTE)


@pytest.mark.parametrize(
    ("body", "stored"),
    [
        (b"", ""),
        (b"x" * 4095, "x" * 4095),
        (b"x" * 4096, "x" * 4096),
        (b"x" * 4097, "x" * 4096),
        (b"x" * 1_000_000, "x" * 4096),
        (b"x" * 4095 + "é".encode(), "x" * 4095),
        (b"a\xffb", "a\N{REPLACEMENT CHARACTER}b"),
    ],
    ids=len,
)
def test_the_first_4_kib_of_an_answer_are_stored(
    sandbox: Sandbox, receiver: Receiver, body: bytes, stored: str
) -> None:
    """B-85; a character cut in two is left out, what is no UTF-8 is marked."""
    endpoint = sandbox.endpoint(receiver.url)
    receiver.reply = lambda received: Reply(200, body=body)
    sandbox.customer()
    assert sandbox.deliveries(endpoint)[0]["attempts"][0]["response_body"] == stored


# -- disabled endpoints


def test_a_disabled_endpoint_misses_what_happens_for_good(sandbox: Sandbox, receiver: Receiver) -> None:
    """Delivery rule 5, B-87."""
    endpoint = sandbox.endpoint(receiver.url)
    sandbox.api.post(f"/webhooks/{endpoint['id']}/disable/")
    sandbox.customer()
    sandbox.api.post(f"/webhooks/{endpoint['id']}/enable/")
    later = sandbox.customer()
    sandbox.advance("1d")
    assert [event["data"]["object"]["id"] for event in receiver.events] == [later["id"]]
    assert len(sandbox.deliveries(endpoint)) == 1


def test_disabling_fails_what_waits_for_a_retry(sandbox: Sandbox, receiver: Receiver) -> None:
    """B-87: at once, and it can be replayed manually once the endpoint is enabled; doing either twice changes nothing."""
    endpoint = sandbox.endpoint(receiver.url)
    receiver.statuses = [500]
    sandbox.customer()
    sandbox.settle()
    disabled = sandbox.api.post(f"/webhooks/{endpoint['id']}/disable/")
    assert sandbox.api.post(f"/webhooks/{endpoint['id']}/disable/") == disabled
    (delivery,) = sandbox.deliveries(endpoint)
    assert (delivery["status"], delivery["attempt_count"], delivery["next_attempt_at"]) == ("failed", 1, None)
    sandbox.api.rejected("POST", path(delivery, "retry"), 422, "INVALID_STATUS_TRANSITION")
    enabled = sandbox.api.post(f"/webhooks/{endpoint['id']}/enable/")
    assert sandbox.api.post(f"/webhooks/{endpoint['id']}/enable/") == enabled
    sandbox.advance("30d")
    assert len(receiver.deliveries) == 1
    assert sandbox.api.post(path(delivery, "retry"))["status"] == "succeeded"


def test_what_waits_in_line_when_the_endpoint_is_disabled_is_missed(sandbox: Sandbox, receiver: Receiver) -> None:
    endpoint = sandbox.endpoint(receiver.url)
    receiver.reply = lambda received: Reply(held=True)
    for _ in range(3):
        sandbox.customer()
    sandbox.api.post(f"/webhooks/{endpoint['id']}/disable/")
    receiver.release()
    history = sandbox.deliveries(endpoint)
    assert [(each["status"], each["attempt_count"]) for each in history] == [
        ("succeeded", 1),
        ("failed", 0),
        ("failed", 0),
    ]


# -- order and company


def test_events_reach_an_endpoint_in_order_of_creation(sandbox: Sandbox, receiver: Receiver) -> None:
    """B-84: also when the receiver is slow."""
    endpoint = sandbox.endpoint(receiver.url)
    receiver.reply = lambda received: Reply(held=len(receiver.deliveries) == 1)
    made = [sandbox.customer()["id"] for _ in range(10)]
    assert len(receiver.deliveries) <= 1, "one after the other"
    receiver.release()
    sandbox.settle()
    assert [event["data"]["object"]["id"] for event in receiver.events] == made
    assert [each["event"] for each in sandbox.deliveries(endpoint)] == [event["id"] for event in receiver.events]


def test_a_retry_does_not_hold_up_later_events(sandbox: Sandbox, receiver: Receiver) -> None:
    """B-84."""
    sandbox.endpoint(receiver.url)
    receiver.statuses = [500]
    first = sandbox.customer()["id"]
    sandbox.settle()
    second = sandbox.customer()["id"]
    sandbox.advance("1m")
    assert [event["data"]["object"]["id"] for event in receiver.events] == [first, second, first]


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


def test_an_advance_reports_how_its_attempts_ended(sandbox: Sandbox, receiver: Receiver) -> None:
    """B-91: the answer comes when every delivery has its result; deliveries counts attempts."""
    sandbox.endpoint(receiver.url, "transaction.succeeded")
    customer = sandbox.customer(phone="+24177000000")
    sandbox.api.post("/subscriptions/", {"customer": customer["id"], "plan": sandbox.plan()["id"]})
    sandbox.settle()
    receiver.statuses = [500, 500, 404]
    answer = sandbox.advance("P2M")
    assert answer["deliveries"] == {"succeeded": 1, "failed": 3}
    assert [(event["created_at"][:10]) for event in receiver.events] == [
        "2026-01-01",
        *["2026-02-01"] * 3,
        "2026-03-01",
    ]


PATIENCE = 6
EVENTS_EACH = 15


def test_many_endpoints_good_and_bad(impatient: Sandbox) -> None:
    """Every event is delivered or ends as failed with its attempts on record, in order per endpoint."""
    receivers = [Receiver() for _ in range(PATIENCE)]
    endpoints = [impatient.endpoint(each.url, retry_policy={"max_attempts": 2}) for each in receivers]
    _good, failing_, rejecting, cutting, moody, silent = receivers
    failing_.reply = lambda received: Reply(500)
    rejecting.reply = lambda received: Reply(404)
    cutting.reply = lambda received: Reply(cut=True)
    moody.reply = lambda received: Reply(503 if received.headers["emulator-attempt"] == "1" else 200)
    silent.reply = lambda received: Reply(held=len(silent.deliveries) == 1)
    made = [impatient.customer()["id"] for _ in range(EVENTS_EACH)]
    impatient.advance("1h")
    outcomes = {
        name: {(each["status"], each["attempt_count"]) for each in impatient.deliveries(endpoint)}
        for name, endpoint in zip(("good", "failing", "refusing", "cutting", "moody", "silent"), endpoints, strict=True)
    }
    assert outcomes == {
        "good": {("succeeded", 1)},
        "failing": {("failed", 3)},
        "refusing": {("failed", 1)},
        "cutting": {("failed", 3)},
        "moody": {("succeeded", 2)},
        "silent": {("succeeded", 2), ("succeeded", 1)},
    }
    for each in receivers:
        each.close()
        first = [item for item in each.deliveries if item.headers["emulator-attempt"] == "1"]
        assert [item.event["data"]["object"]["id"] for item in first] == made


# -- manual replay


def test_a_failed_delivery_is_replayed(sandbox: Sandbox, receiver: Receiver) -> None:
    """Delivery rule 4: the answer is the delivery once the attempt is made."""
    endpoint = sandbox.endpoint(receiver.url)
    receiver.statuses = [404]
    sandbox.customer()
    (failed,) = sandbox.deliveries(endpoint)
    sandbox.advance("20m")
    replayed = sandbox.api.post(path(failed, "retry"))
    assert replayed["attempts"][0] == failed["attempts"][0]
    assert replayed["attempts"][1]["at"] == replayed["updated_at"] == instants(20 * MINUTE)[-1]
    assert (replayed["status"], replayed["attempt_count"]) == ("succeeded", 2)
    assert sandbox.deliveries(endpoint) == [replayed]
    assert receiver.deliveries[0].body == receiver.deliveries[1].body


def test_a_replay_that_fails_is_failed_again_without_further_retries(sandbox: Sandbox, receiver: Receiver) -> None:
    endpoint = sandbox.endpoint(receiver.url)
    receiver.statuses = [404, 500, 500]
    sandbox.customer()
    (failed,) = sandbox.deliveries(endpoint)
    for count in (2, 3):
        again = sandbox.api.post(path(failed, "retry"))
        assert (again["status"], again["attempt_count"], again["next_attempt_at"]) == ("failed", count, None)
    sandbox.advance("2d")
    assert len(receiver.deliveries) == 3
    assert sandbox.api.post(path(failed, "retry"))["status"] == "succeeded"


def test_only_a_failed_delivery_can_be_replayed(sandbox: Sandbox, receiver: Receiver) -> None:
    """B-85."""
    endpoint = sandbox.endpoint(receiver.url)
    receiver.statuses = [200, 500]
    sandbox.customer()
    sandbox.customer()
    succeeded, pending = sandbox.deliveries(endpoint)
    assert (succeeded["status"], pending["status"]) == ("succeeded", "pending")
    for delivery in (succeeded, pending):
        sandbox.api.rejected("POST", path(delivery, "retry"), 422, "INVALID_STATUS_TRANSITION")
    assert len(receiver.deliveries) == 2


def test_a_delivery_is_found_under_its_own_endpoint_only(sandbox: Sandbox, receiver: Receiver) -> None:
    """B-15."""
    endpoint, other = sandbox.endpoint(receiver.url), sandbox.endpoint(receiver.url, "invoice.paid")
    receiver.statuses = [404]
    sandbox.customer()
    (failed,) = sandbox.deliveries(endpoint)
    for stranger in ({**failed, "webhook": other["id"]}, {**failed, "id": "whd_0"}):
        sandbox.api.rejected("POST", path(stranger, "retry"), 404, "NOT_FOUND")


# -- test events


def test_a_test_is_made_before_it_is_answered(sandbox: Sandbox, receiver: Receiver) -> None:
    """B-85: webhook.test by default, with the endpoint as its object, to this endpoint alone."""
    endpoint = sandbox.endpoint(receiver.url, "invoice.paid")
    sandbox.endpoint(f"{receiver.url}/other")
    delivery = sandbox.api.post(f"/webhooks/{endpoint['id']}/test/")
    (received,) = receiver.deliveries
    assert (delivery["status"], delivery["event_type"]) == ("succeeded", "webhook.test")
    assert delivery["event"] == received.event["id"]
    assert received.event["data"]["object"] == sandbox.api.get(f"/webhooks/{endpoint['id']}/")
    assert received.signed_with(endpoint["secret"])
    assert sandbox.deliveries(endpoint) == [delivery]
    assert sandbox.events() == [received.event]
    assert sandbox.control.get("/events", object=endpoint["id"])["data"] == [received.event]


@pytest.mark.parametrize("type", [*EVENTS, "webhook.ping", "webhook.test"])
def test_every_type_can_be_tried(sandbox: Sandbox, receiver: Receiver, type: str) -> None:
    """The endpoint need not listen to it; the payload is one the document allows, and of this App."""
    endpoint = sandbox.endpoint(receiver.url, "customer.created")
    delivery = sandbox.api.post(f"/webhooks/{endpoint['id']}/test/", {"event": type})
    assert (delivery["status"], delivery["event_type"]) == ("succeeded", type)
    received = receiver.received[-1]
    assert received.event["type"] == type
    assert received.event["data"]["object"].get("app", endpoint["app"]) == endpoint["app"]
    assert sandbox.control.get("/events", object=received.event["data"]["object"]["id"])["data"] == [received.event]


def test_a_sample_of_an_event_makes_nothing_happen(sandbox: Sandbox, receiver: Receiver) -> None:
    """An invoice.paid that is only tried pays no invoice and is sent to no other endpoint."""
    endpoint = sandbox.endpoint(receiver.url)
    other = sandbox.endpoint(receiver.url)
    with sandbox.expect("invoice.paid"):
        sandbox.api.post(f"/webhooks/{endpoint['id']}/test/", {"event": "invoice.paid"})
        sandbox.advance("1d")
    assert sandbox.deliveries(other) == []
    assert sandbox.api.get("/invoices/")["data"] == []


def test_a_failed_test_is_tried_again_like_any_delivery(sandbox: Sandbox, receiver: Receiver) -> None:
    endpoint = sandbox.endpoint(receiver.url)
    receiver.statuses = [500]
    delivery = sandbox.api.post(f"/webhooks/{endpoint['id']}/test/")
    assert (delivery["status"], delivery["next_attempt_at"]) == ("pending", instants(MINUTE)[-1])
    sandbox.advance("1m")
    assert [each["status"] for each in sandbox.deliveries(endpoint)] == ["succeeded"]


@pytest.mark.parametrize(
    ("body", "param"), [({"event": "invoice.lost"}, "event"), ({"event": "*"}, "event"), ({"type": "x"}, "type")]
)
def test_an_unknown_type_cannot_be_tried(sandbox: Sandbox, receiver: Receiver, body: Any, param: str) -> None:
    endpoint = sandbox.endpoint(receiver.url)
    place = f"/webhooks/{endpoint['id']}/test/"
    assert sandbox.api.rejected("POST", place, 422, "INVALID_FIELD", json=body)["param"] == param


def test_a_disabled_endpoint_is_neither_tried_nor_sent_a_replay(sandbox: Sandbox, receiver: Receiver) -> None:
    """Delivery rule 5."""
    endpoint = sandbox.endpoint(receiver.url)
    receiver.statuses = [404]
    sandbox.customer()
    (failed,) = sandbox.deliveries(endpoint)
    sandbox.api.post(f"/webhooks/{endpoint['id']}/disable/")
    sandbox.api.rejected("POST", f"/webhooks/{endpoint['id']}/test/", 422, "INVALID_STATUS_TRANSITION")
    sandbox.api.rejected("POST", path(failed, "retry"), 422, "INVALID_STATUS_TRANSITION")
    assert len(receiver.deliveries) == 1


# -- the history


def test_the_history_is_filtered(sandbox: Sandbox, receiver: Receiver) -> None:
    """B-20: status, event_type, bounds (inclusive), newest first."""
    endpoint = sandbox.endpoint(receiver.url)
    place = f"/webhooks/{endpoint['id']}/deliveries/"
    receiver.statuses = [404, 500, 200]
    made = []
    for type in ("customer.created", "customer.created", "webhook.test"):
        if type == "customer.created":
            sandbox.customer()
        else:
            sandbox.api.post(f"/webhooks/{endpoint['id']}/test/")
        sandbox.settle()
        made.append(sandbox.api.get(place)["data"][0]["id"])
        sandbox.advance("10s")

    def listed(**filters: str) -> list[int]:
        return [made.index(each["id"]) for each in sandbox.api.get(place, **filters)["data"]]

    _, second, third = instants(10, 10)
    assert listed() == [2, 1, 0]
    assert listed(ordering="created_at") == [0, 1, 2]
    assert [listed(status=status) for status in ("failed", "pending", "succeeded")] == [[0], [1], [2]]
    assert listed(event_type="customer.created") == [1, 0]
    assert listed(event_type="customer.created", status="pending") == [1]
    assert listed(created_after=second) == [2, 1]
    assert listed(created_before=second) == [1, 0]
    assert listed(created_after=second, created_before=second) == [1]
    assert listed(created_after=third, event_type="customer.created") == []
    assert listed(page_size="2", page="2") == [0]


# -- certificates


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def tls_receiver(authority: trustme.CA) -> Iterator[Receiver]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    receiver = Receiver(context)
    yield receiver
    receiver.close()


def test_an_untrusted_certificate_is_rejected(sandbox: Sandbox, tls_receiver: Receiver) -> None:
    """ssl_verification is on unless switched off."""
    body = {"name": "Shop", "url": tls_receiver.url, "events": ["*"]}
    error = sandbox.api.rejected("POST", "/webhooks/", 422, "WEBHOOK_ENDPOINT_UNREACHABLE", json=body)
    assert "the certificate is not trusted" in error["message"]
    assert tls_receiver.received == []


def test_without_ssl_verification_any_certificate_will_do(sandbox: Sandbox, tls_receiver: Receiver) -> None:
    """Until it is switched on again: then the attempt fails like a connection fault, and is tried again."""
    endpoint = sandbox.endpoint(tls_receiver.url, ssl_verification=False)
    sandbox.customer()
    sandbox.settle()
    sandbox.api.patch(f"/webhooks/{endpoint['id']}/", {"ssl_verification": True})
    sandbox.customer()
    delivered, untold = sandbox.deliveries(endpoint)
    assert delivered["status"] == "succeeded"
    assert untold["attempts"][0]["error"] == "the certificate is not trusted"
    assert untold["next_attempt_at"] == instants(MINUTE)[-1]
    assert len(tls_receiver.deliveries) == 1


def test_a_url_without_a_path_is_called_at_its_root(sandbox: Sandbox, receiver: Receiver) -> None:
    sandbox.endpoint(str(httpx.URL(receiver.url).copy_with(raw_path=b"")))
    sandbox.customer()
    sandbox.settle()
    assert {each.path for each in receiver.received} == {"/"}


@pytest.fixture
def trusting(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, authority: trustme.CA, contracts: tuple[Contract, Contract]
) -> Iterator[Sandbox]:
    """A world on a server whose system trusts the authority."""
    bundle = tmp_path / "authority.pem"
    authority.cert_pem.write_to_path(str(bundle))
    monkeypatch.setenv("SSL_CERT_FILE", str(bundle))
    with RunningServer() as server, server.world("trusting", *contracts) as sandbox:
        yield sandbox


def test_a_certificate_of_a_trusted_authority_is_accepted(trusting: Sandbox, tls_receiver: Receiver) -> None:
    """So the verification does not merely reject everything; but not under another name."""
    endpoint = trusting.endpoint(tls_receiver.url)
    trusting.customer()
    assert [each["status"] for each in trusting.deliveries(endpoint)] == ["succeeded"]
    body = {"name": "Shop", "url": tls_receiver.url.replace("127.0.0.1", "localhost"), "events": ["*"]}
    trusting.api.rejected("POST", "/webhooks/", 422, "WEBHOOK_ENDPOINT_UNREACHABLE", json=body)


def test_an_arranged_outcome_takes_the_place_of_attempts(sandbox: Sandbox, receiver: Receiver) -> None:
    """control-api.md, ``outcomes``: the next delivery attempts end so, and nothing is sent; retries follow (B-84)."""
    endpoint = sandbox.endpoint(receiver.url, "customer.created")
    sandbox.control.post("/outcomes", {"operation": "delivery", "result": "failed", "times": 2})
    sandbox.customer()
    assert [row["status"] for row in sandbox.deliveries(endpoint)] == ["pending"]
    sandbox.advance("60s")
    assert receiver.deliveries == []
    sandbox.advance("PT5M")
    (delivery,) = sandbox.deliveries(endpoint)
    assert (delivery["status"], delivery["attempt_count"]) == ("succeeded", 3)
    assert [attempt["error"] for attempt in delivery["attempts"]] == ["failed, as arranged"] * 2 + [None]
    assert len(receiver.deliveries) == 1
