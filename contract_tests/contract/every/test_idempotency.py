"""Idempotency-Key: a POST is performed once and answered alike each time (B-16)."""

from __future__ import annotations

import concurrent.futures
from typing import Any

import httpx
import pytest

from contract_tests.contract.every.test_objects import request
from contract_tests.contract.every.values import BY_ID, id_of, of_service
from contract_tests.support.receiver import Receiver
from contract_tests.support.sandbox import Sandbox
from emulator.checks.document.object_factory import ObjectFactory

AWA = {"email": "awa@example.com", "name": "Awa Diop"}


KEY = {"Idempotency-Key": "k1"}


def post(sandbox: Sandbox, key: str, body: Any = None, path: str = "/customers/") -> httpx.Response:
    return sandbox.api.request("POST", path, json=AWA if body is None else body, headers={"Idempotency-Key": key})


def customers(sandbox: Sandbox) -> int:
    return int(sandbox.api.get("/customers/")["pagination"]["count"])


@pytest.mark.parametrize("id", [id_of(each) for each in of_service("POST") if each.path != "/reset"])
def test_a_post_with_a_key_is_performed_once(sandbox: Sandbox, factory: ObjectFactory, id: str) -> None:
    """The first answer again, byte for byte, marked, with a request id of its own."""
    sandbox.settings(refund_review=True)  # else no refund waits, to be canceled
    path, body = request(factory, BY_ID[id], {})
    headers = {"Idempotency-Key": "once"}
    first, again = (sandbox.api.request("POST", path, json=body, headers=headers) for _ in range(2))
    assert first.is_success, first.text
    assert (again.status_code, again.content) == (first.status_code, first.content)
    replayed = [each.headers.get("idempotent-replayed") for each in (first, again)]
    assert replayed == [None, "true"]
    assert first.headers["request-id"] != again.headers["request-id"]


def test_white_space_and_the_order_of_keys_do_not_make_another_body(sandbox: Sandbox) -> None:
    """The JSON body is compared, not its bytes."""
    first = post(sandbox, "k1")
    raw = '{ "name": "Awa Diop",\n "email": "awa@example.com" }'
    headers = {"Idempotency-Key": "k1", "Content-Type": "application/json"}
    assert sandbox.api.request("POST", "/customers/", content=raw, headers=headers).content == first.content


def test_another_body_or_path_under_the_key_is_a_conflict(sandbox: Sandbox) -> None:
    """409 IDEMPOTENCY_CONFLICT, and nothing is made."""
    post(sandbox, "k1")
    for path, body in (("/customers/", {**AWA, "name": "Awa"}), ("/subscription-plans/", {**PLAN})):
        sandbox.api.rejected("POST", path, 409, "IDEMPOTENCY_CONFLICT", json=body, headers={"Idempotency-Key": "k1"})
    assert customers(sandbox) == 1
    assert post(sandbox, "k1").headers["idempotent-replayed"] == "true"


PLAN = {"name": "Basic", "amount": 5000, "currency": "XAF", "interval": "month"}


def test_the_key_is_remembered_for_24_hours_of_the_worlds_clock(sandbox: Sandbox) -> None:
    """Byte-identical at 23 h 59 min, forgotten at 24 h."""
    body = {**PLAN}
    first = post(sandbox, "k1", body, "/subscription-plans/")
    sandbox.advance("PT23H59M")
    assert post(sandbox, "k1", body, "/subscription-plans/").content == first.content
    sandbox.advance("60s")
    later = post(sandbox, "k1", body, "/subscription-plans/")
    assert "idempotent-replayed" not in later.headers
    assert later.json()["id"] != first.json()["id"]


def test_expiry_is_nothing_the_clock_waits_for(sandbox: Sandbox) -> None:
    """Remembering an answer plans no job: the schedule shows only what the service does."""
    post(sandbox, "k1")
    assert sandbox.control.get("/clock")["next_due_at"] is None


def test_a_key_belongs_to_one_world(sandbox: Sandbox, other_world: Sandbox) -> None:
    """Nothing is shared between two Apps (B-01)."""
    post(sandbox, "k1")
    assert "idempotent-replayed" not in post(other_world, "k1").headers


def test_a_rejected_body_is_not_stored(sandbox: Sandbox) -> None:
    """400 and 422 are answered before anything was done: the fixed request may use the same key."""
    post(sandbox, "k1", {"email": "awa"})
    post(sandbox, "k2", ["no object"])
    assert [post(sandbox, key, {**AWA, "email": f"{key}@example.com"}).status_code for key in ("k1", "k2")] == [
        201,
        201,
    ]


def test_a_rejection_by_state_is_not_stored(sandbox: Sandbox) -> None:
    """B-16: nothing was done, so that the same key may succeed once the state allows it."""
    subscription = sandbox.subscribe()
    path = f"/subscriptions/{subscription['id']}/resume/"
    sandbox.api.rejected("POST", path, 422, "INVALID_STATUS_TRANSITION", headers=KEY)
    sandbox.act(subscription, "pause")
    resumed = sandbox.api.request("POST", path, headers=KEY)
    assert (resumed.status_code, resumed.headers.get("idempotent-replayed")) == (200, None)


def test_a_conflict_and_a_missing_object_are_stored(sandbox: Sandbox) -> None:
    """404 and 409 are answers about the objects: the same again, although the world has changed since."""
    customer = sandbox.api.post("/customers/", AWA)
    taken = post(sandbox, "k1")
    assert taken.status_code == 409
    body = {"customer": "cust_nobody", "plan": sandbox.plan()["id"]}
    unknown = post(sandbox, "k2", body, "/subscriptions/")
    assert unknown.status_code == 404
    again = post(sandbox, "k1"), post(sandbox, "k2", body, "/subscriptions/")
    assert [answer.content for answer in again] == [taken.content, unknown.content]
    assert [answer.headers["idempotent-replayed"] for answer in again] == ["true", "true"]
    assert customer["email"] == AWA["email"]


def test_a_forced_failure_is_not_stored(sandbox: Sandbox) -> None:
    """401, 403, 429 and 5xx are not stored."""
    for code, status in (("INTERNAL_ERROR", 500), ("RATE_LIMIT_EXCEEDED", 429), ("PERMISSION_DENIED", 403)):
        headers = {"Idempotency-Key": "k1", "Emulator-Answer": code}
        sandbox.api.rejected("POST", "/customers/", status, code, json=AWA, headers=headers)
    assert "idempotent-replayed" not in post(sandbox, "k1").headers


def test_fifty_simultaneous_posts_with_one_key_make_one_object(sandbox: Sandbox) -> None:
    with concurrent.futures.ThreadPoolExecutor(50) as pool:
        answers = list(pool.map(lambda _: post(sandbox, "k1"), range(50)))
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.content for answer in answers}) == 1
    assert customers(sandbox) == 1


def test_a_request_that_is_still_running_is_a_conflict(sandbox: Sandbox, receiver: Receiver) -> None:
    """While the validation ping of a webhook endpoint is under way, its key is taken; afterwards it is replayed."""
    body = {"name": "Shop", "url": receiver.url, "events": ["*"]}
    second: list[int] = []
    receiver.react = lambda received: second.append(post(sandbox, "k1", body, "/webhooks/").status_code)
    first = post(sandbox, "k1", body, "/webhooks/")
    assert (first.status_code, second) == (201, [409])
    receiver.react = lambda received: None
    assert post(sandbox, "k1", body, "/webhooks/").content == first.content
    assert len(receiver.received) == 1


@pytest.mark.parametrize("length", [1, 255])
def test_keys_of_1_to_255_printable_characters_are_taken(sandbox: Sandbox, length: int) -> None:
    assert post(sandbox, "~" * length).status_code == 201


@pytest.mark.parametrize("key", ["", "x" * 256, "a\tb", "é"], ids=["empty", "256", "control", "not ASCII"])
def test_other_keys_are_rejected(sandbox: Sandbox, key: str) -> None:
    """B-95: 400 VALIDATION_ERROR."""
    headers = {"Idempotency-Key": key.encode("latin-1")}
    error = sandbox.api.rejected("POST", "/customers/", 400, "VALIDATION_ERROR", json=AWA, headers=headers)
    assert error["param"] == "Idempotency-Key"
    assert error["message"] == "Idempotency-Key: must have 1 to 255 printable ASCII characters"
    assert customers(sandbox) == 0


def test_on_other_methods_the_header_means_nothing(sandbox: Sandbox) -> None:
    """It works on every POST, and on POSTs alone."""
    customer = post(sandbox, "k1").json()
    path = f"/customers/{customer['id']}/"
    assert "idempotent-replayed" not in sandbox.api.request("GET", path, headers={"Idempotency-Key": "k1"}).headers
