"""Idempotency-Key: a POST is performed once and has the same response each time (B-16)."""

from __future__ import annotations

import concurrent.futures
from typing import Any

import httpx
import pytest

from contract_tests.contract.every.values import BY_ID, id_of, of_service, valid_request
from contract_tests.support.receiver import Receiver
from contract_tests.support.sandbox import Sandbox
from emulator.checks.document.object_factory import ObjectFactory

AWA = {"email": "awa@example.com", "name": "Awa Diop"}
PLAN = {"name": "Basic", "amount": 5000, "currency": "XAF", "interval": "month"}
REPLAYED = "idempotent-replayed"


def post(sandbox: Sandbox, key: str, body: Any = None, path: str = "/customers/") -> httpx.Response:
    return sandbox.api.request(
        "POST", path, json=AWA if body is None else body, headers={"Idempotency-Key": key}
    )


def customers(sandbox: Sandbox) -> int:
    return int(sandbox.api.get("/customers/")["pagination"]["count"])


@pytest.mark.parametrize(
    "id", [id_of(operation) for operation in of_service("POST") if operation.path != "/reset"]
)
def test_a_post_with_a_key_is_performed_once(
    sandbox: Sandbox, factory: ObjectFactory, id: str
) -> None:
    """The first response again, byte for byte, marked, with a request id of its own."""
    sandbox.settings(refund_review=True)  # else no refund waits, to be canceled
    path, body = valid_request(factory, BY_ID[id], {})
    first, again = (post(sandbox, "once", body, path) for _ in range(2))
    assert first.is_success, first.text
    assert (again.status_code, again.content) == (first.status_code, first.content)
    assert [response.headers.get(REPLAYED) for response in (first, again)] == [None, "true"]
    assert first.headers["request-id"] != again.headers["request-id"]


def test_another_body_or_path_under_the_key_is_a_conflict(sandbox: Sandbox) -> None:
    """409 IDEMPOTENCY_CONFLICT, and nothing is made. The JSON body is compared, not its bytes."""
    first = post(sandbox, "k1")
    for path, body in (("/customers/", {**AWA, "name": "Awa"}), ("/subscription-plans/", PLAN)):
        sandbox.api.rejected(
            "POST", path, 409, "IDEMPOTENCY_CONFLICT", json=body, headers={"Idempotency-Key": "k1"}
        )
    assert customers(sandbox) == 1
    headers = {"Idempotency-Key": "k1", "Content-Type": "application/json"}
    raw = '{ "name": "Awa Diop",\n "email": "awa@example.com" }'
    again = sandbox.api.request("POST", "/customers/", content=raw, headers=headers)
    assert (again.content, again.headers[REPLAYED]) == (first.content, "true")


@pytest.mark.parametrize("body", [PLAN, {**PLAN, "name": "Pro"}], ids=["same", "another"])
def test_the_key_is_remembered_for_24_hours_of_the_worlds_clock(
    sandbox: Sandbox, body: Any
) -> None:
    """Byte-identical at 23 h 59 min, forgotten at 24 h. No job: the schedule is the service's."""
    first = post(sandbox, "k1", PLAN, "/subscription-plans/")
    assert sandbox.control.get("/clock")["next_due_at"] is None
    sandbox.advance("PT23H59M")
    assert post(sandbox, "k1", PLAN, "/subscription-plans/").content == first.content
    sandbox.advance("60s")
    later = post(sandbox, "k1", body, "/subscription-plans/")
    assert REPLAYED not in later.headers
    assert later.json()["id"] != first.json()["id"]


def test_all_keys_whose_time_is_over_can_be_used_again(sandbox: Sandbox) -> None:
    keys, path = ("k1", "k2", "k3"), "/subscription-plans/"
    first = {post(sandbox, key, PLAN, path).json()["id"] for key in keys}
    sandbox.advance("24h")
    later = {post(sandbox, key, PLAN, path).json()["id"] for key in keys[::-1]}
    assert len(first | later) == 6


def test_a_key_belongs_to_one_world(sandbox: Sandbox, other_world: Sandbox) -> None:
    """Nothing is shared between two Apps (B-01)."""
    post(sandbox, "k1")
    assert REPLAYED not in post(other_world, "k1").headers


def test_a_key_under_way_belongs_to_one_world(sandbox: Sandbox, other_world: Sandbox) -> None:
    """B-01: while a request of one App has not been answered, another App's has the same key."""
    sandbox.control.post("/faults", {"then": {"hold_ms": 500}})
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        first = pool.submit(post, sandbox, "k1")
        while list(sandbox.control.pages("/faults")):
            pass
        assert post(other_world, "k1").status_code == 201
        assert first.result().status_code == 201


def test_on_other_methods_than_post_a_key_means_nothing(sandbox: Sandbox) -> None:
    path = f"/customers/{post(sandbox, 'k1').json()['id']}/"
    assert (
        REPLAYED not in sandbox.api.request("GET", path, headers={"Idempotency-Key": "k1"}).headers
    )


def test_what_was_not_done_is_not_stored(sandbox: Sandbox) -> None:
    """400, 401, 403, 422, 429, 5xx: the key serves a fixed request, or the same one later on."""
    for body in ({"email": "awa"}, ["no object"]):
        assert post(sandbox, "k1", body).status_code in (400, 422)
    for code, status in (
        ("INTERNAL_ERROR", 500),
        ("RATE_LIMIT_EXCEEDED", 429),
        ("PERMISSION_DENIED", 403),
    ):
        headers = {"Idempotency-Key": "k1", "Emulator-Answer": code}
        sandbox.api.rejected("POST", "/customers/", status, code, json=AWA, headers=headers)
    done = post(sandbox, "k1")
    assert (done.status_code, done.headers.get(REPLAYED)) == (201, None)
    subscription = sandbox.subscribe()
    path = f"/subscriptions/{subscription['id']}/resume/"
    assert post(sandbox, "k2", {}, path).status_code == 422
    sandbox.act(subscription, "pause")
    resumed = post(sandbox, "k2", {}, path)
    assert (resumed.status_code, resumed.headers.get(REPLAYED)) == (200, None)


def test_an_error_about_objects_is_stored(sandbox: Sandbox) -> None:
    """404 and 409 are about objects: the same response again, although the world has changed."""
    customer = sandbox.api.post("/customers/", AWA)
    subscription = {"customer": "cust_nobody", "plan": sandbox.plan()["id"]}
    requests = (("k1", AWA, "/customers/"), ("k2", subscription, "/subscriptions/"))
    before = [post(sandbox, *request) for request in requests]
    assert [response.status_code for response in before] == [409, 404]
    sandbox.api.delete(f"/customers/{customer['id']}/")
    again = [post(sandbox, *request) for request in requests]
    assert [response.content for response in again] == [response.content for response in before]
    assert [response.headers[REPLAYED] for response in again] == ["true", "true"]


def test_fifty_simultaneous_posts_with_one_key_make_one_object(sandbox: Sandbox) -> None:
    with concurrent.futures.ThreadPoolExecutor(50) as pool:
        responses = list(pool.map(lambda _: post(sandbox, "k1"), range(50)))
    assert {response.status_code for response in responses} == {201}
    assert len({response.content for response in responses}) == 1
    assert customers(sandbox) == 1


def test_a_request_that_is_still_running_is_a_conflict(
    sandbox: Sandbox, receiver: Receiver
) -> None:
    """While a webhook endpoint's validation ping runs, its key is taken; afterwards it replays."""
    body = {"name": "Shop", "url": receiver.url, "events": ["*"]}
    second: list[int] = []
    receiver.react = lambda received: second.append(
        post(sandbox, "k1", body, "/webhooks/").status_code
    )
    first = post(sandbox, "k1", body, "/webhooks/")
    assert (first.status_code, second) == (201, [409])
    assert post(sandbox, "k1", body, "/webhooks/").content == first.content
    assert len(receiver.received) == 1


def test_keys_have_1_to_255_printable_characters(sandbox: Sandbox) -> None:
    """B-95: 400 VALIDATION_ERROR."""
    for key in ("", "x" * 256, "a\tb", "é"):
        headers = {"Idempotency-Key": key.encode("latin-1")}
        error = sandbox.api.rejected(
            "POST", "/customers/", 400, "VALIDATION_ERROR", json=AWA, headers=headers
        )
        assert error["param"] == "Idempotency-Key"
        assert error["message"] == "Idempotency-Key: must have 1 to 255 printable ASCII characters"
    assert customers(sandbox) == 0
    for key in ("~", "~" * 255):
        assert post(sandbox, key, {**AWA, "email": f"{len(key)}@example.com"}).status_code == 201
