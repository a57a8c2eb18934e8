"""Faults of requests, arranged through the control API: whatever can go wrong on the way to the service (B-94)."""

from __future__ import annotations

import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from contract_tests.support.client import http_client
from contract_tests.support.sandbox import START, RunningServer, Sandbox

AWA = {"email": "awa@example.com", "name": "Awa Diop"}
FAILING = {"code": "DATABASE_ERROR"}
LIMITED = {"code": "RATE_LIMIT_EXCEEDED"}
"""What the document allows of every operation, and here nothing else causes."""

undocumented = pytest.mark.breaks_the_document
"""Has the service answer as no document allows."""


def arrange(sandbox: Sandbox, then: Any, **fields: Any) -> Any:
    return sandbox.control.post("/faults", {"then": then, **fields})


def arranged(sandbox: Sandbox) -> list[Any]:
    return list(sandbox.control.pages("/faults"))


def status(sandbox: Sandbox, method: str = "GET", path: str = "/customers/", **options: Any) -> int:
    return sandbox.api.http.request(method, path, **options).status_code


def customers(sandbox: Sandbox) -> int:
    return int(sandbox.api.get("/customers/")["pagination"]["count"])


def cut(sandbox: Sandbox, **options: Any) -> bool:
    try:
        sandbox.api.http.post("/customers/", json=AWA, **options)
    except httpx.TransportError:
        return True
    return False


# -- arranging


def test_a_fault_is_stored_until_it_strikes(sandbox: Sandbox) -> None:
    answer = sandbox.control.request("POST", "/faults", json={"match": {"method": "POST"}, "times": 2, "then": FAILING})
    assert answer.status_code == 201
    fault = answer.json()
    assert fault == {
        "id": fault["id"],
        "object": "fault",
        "match": {"method": "POST"},
        "times": 2,
        "probability": None,
        "starts_at": None,
        "ends_at": None,
        "then": FAILING,
        "created_at": START,
    }
    assert arranged(sandbox) == [fault]
    assert status(sandbox, "POST", json=AWA) == 500
    assert arranged(sandbox) == [{**fault, "times": 1}]
    assert status(sandbox, "POST", json=AWA) == 500
    assert arranged(sandbox) == []
    assert status(sandbox, "POST", json=AWA) == 201


@undocumented
def test_the_one_arranged_first_strikes_first(sandbox: Sandbox) -> None:
    for code in (501, 502, 503):
        arrange(sandbox, {"status": code}, match={"method": "POST"} if code == 502 else {})
    assert [status(sandbox) for _ in range(3)] == [501, 503, 200]
    assert status(sandbox, "POST") == 502


def test_they_are_listed_newest_first_and_cleared_together(sandbox: Sandbox) -> None:
    """Without ``times`` each strikes once. They are no objects: a reset clears them and does not count them (B-07)."""
    made = [arrange(sandbox, {"status": code}) for code in (501, 502, 503)]
    assert (arranged(sandbox), {each["times"] for each in made}) == (made[::-1], {1})
    sandbox.control.rejected("GET", f"/objects/{made[0]['id']}", 404, "NOT_FOUND")
    assert sandbox.control.request("DELETE", "/faults").status_code == 204
    assert (arranged(sandbox), status(sandbox)) == ([], 200)
    arrange(sandbox, FAILING, match={"method": "GET"})
    assert (sandbox.api.post("/reset")["deleted"], arranged(sandbox)) == (0, [])


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({}, "then"),
        ({"then": {}}, "then"),
        ({"then": {"body": {}}}, "then"),
        ({"then": {"code": "DATABASE_ERROR", "delay_ms": 1}}, "then"),
        ({"then": {"code": "DATABASE_ERROR", "body": {}}}, "then.body"),
        ({"then": {"status": 204, "body": {}}}, "then.body"),
        ({"then": {"status": 304, "body": ""}}, "then.body"),
        ({"then": {"code": "OOPS"}}, "then.code"),
        ({"then": {"status": 199}}, "then.status"),
        ({"then": {"status": 600}}, "then.status"),
        ({"then": {"executed": True}}, "then"),
        ({"then": {"drop": "after", "executed": True}}, "then.executed"),
        ({"then": {"lose": True, "executed": True}}, "then.executed"),
        ({"then": {"status": 500, "executed": False}}, "then.executed"),
        ({"then": {"hang_ms": 0}}, "then.hang_ms"),
        ({"then": {"late_answer": True}, "match": {"method": "POST"}}, "match.method"),
        ({"then": {"delay_ms": 0}}, "then.delay_ms"),
        ({"then": {"together": True}}, "then"),
        ({"then": {"lose": True, "together": True}}, "then.together"),
        ({"then": {"lose": True, "refused": True}}, "then.refused"),
        ({"then": {"answer_after": "soon"}}, "then.answer_after"),
        ({"then": {"answer_after": "1h"}, "match": {"method": "POST"}}, "match.method"),
        ({"then": {"again": "soon"}}, "then.again"),
        ({"then": {"repeat": True}, "match": {"event": "invoice.paid"}}, "match.event"),
        ({"then": {"outage": "loud"}}, "then.outage"),
        ({"then": {"outage": "silent"}, "match": {"method": "POST"}}, "match.method"),
        ({"then": {"outage": "silent"}, "times": 2}, "times"),
        ({"then": {"outage": "silent"}, "starts_at": "soon"}, "starts_at"),
        ({"then": {"outage": "silent"}, "starts_at": "5d", "ends_at": "2d"}, "ends_at"),
        ({"then": {"outage": "silent"}, "ends_at": "2020-01-01T00:00:00Z"}, "ends_at"),
        ({"then": FAILING, "ends_at": "2h"}, "ends_at"),
        ({"then": {"delay_ms": 600001}}, "then.delay_ms"),
        ({"then": {"drop": "during"}}, "then.drop"),
        ({"then": {"garble": False}}, "then.garble"),
        ({"then": {"explode": True}}, "then.explode"),
        ({"then": FAILING, "times": 0}, "times"),
        ({"then": FAILING, "times": 1, "probability": 0.5}, "times"),
        ({"then": FAILING, "probability": 1.1}, "probability"),
        ({"then": FAILING, "probability": -0.1}, "probability"),
        ({"then": FAILING, "match": {"operation": "eatCustomer"}}, "match.operation"),
        ({"then": FAILING, "match": {"path": "/customers/cust_x/"}}, "match.path"),
        ({"then": FAILING, "match": {"method": "BREW"}}, "match.method"),
        ({"then": FAILING, "match": {"event": "invoice.paid"}}, "match.event"),
        ({"then": {"lose": True}, "match": {"method": "POST"}}, "match.method"),
        ({"then": {"lose": True}, "match": {"event": "invoice.eaten"}}, "match.event"),
        ({"then": {"duplicate": 0}}, "then.duplicate"),
        ({"then": {"duplicate": 101}}, "then.duplicate"),
        ({"then": {"delay": "soon"}}, "then.delay"),
        ({"then": {"delay": "0s"}}, "then.delay"),
        ({"then": {"delay": "P9999Y"}}, "then.delay"),
        *(({"then": FAILING, "match": {"nth": nth}}, "match.nth") for nth in (0, -1, "2", 1.5)),
    ],
    ids=str,
)
def test_an_invalid_fault_is_rejected(sandbox: Sandbox, body: Any, param: str) -> None:
    answer = sandbox.control.request("POST", "/faults", json=body)
    assert (answer.status_code, answer.json()["param"]) == (422, param)
    assert arranged(sandbox) == []


# -- matching


@pytest.mark.parametrize(
    ("match", "method", "path"),
    [
        ({"operation": "listCustomers"}, "GET", "/customers/"),
        ({"operation": "getCustomer"}, "GET", "/customers/cust_x/"),
        ({"operation": "getCustomer"}, "HEAD", "/customers/cust_x/"),
        ({"method": "DELETE"}, "DELETE", "/customers/cust_x/"),
        ({"path": "/customers/{id}/"}, "PATCH", "/customers/cust_x/"),
        ({"path": "/customers/{id}/addresses/"}, "POST", "/customers/cust_x/addresses/"),
        ({"path": "/reset", "method": "POST"}, "POST", "/reset/"),
        ({"operation": "createCustomer", "method": "POST", "path": "/customers/"}, "POST", "/customers/"),
    ],
    ids=str,
)
def test_only_what_matches_meets_it(sandbox: Sandbox, match: Any, method: str, path: str) -> None:
    """Control API: by operation, method and path as in the document."""
    arrange(sandbox, LIMITED, match=match, times=2)
    others = [("GET", "/products/"), ("POST", "/products/"), ("GET", "/customers/cust_x/transactions/")]
    assert 429 not in [status(sandbox, *other) for other in others]
    assert status(sandbox, method, path) == 429


def test_a_customer_is_matched_wherever_it_is_named(sandbox: Sandbox) -> None:
    """In the path, the query or the body, or as the customer of an object that is named there."""
    awa, ida = sandbox.customer(phone="+24177000000"), sandbox.customer(phone="+24177000009")
    bodies = {each["id"]: {"customer": each["id"], "unit_amount": 500, "interval": "month"} for each in (awa, ida)}
    subscription = sandbox.api.post("/subscriptions/", bodies[awa["id"]])["id"]
    arrange(sandbox, LIMITED, match={"customer": awa["id"]}, probability=1)
    pieces = iter([b'{"x": "', awa["id"].encode(), b'"}'])
    for expected, method, path, sent in [
        (429, "GET", f"/customers/{awa['id']}/", {}),
        (429, "PATCH", f"/customers/{awa['id']}/", {"json": {}}),
        (429, "GET", f"/subscriptions/?customer={awa['id']}", {}),
        (429, "GET", f"/subscriptions/{subscription}/", {}),
        (429, "POST", "/subscriptions/", {"json": bodies[awa["id"]]}),
        (429, "POST", "/customers/", {"content": pieces, "headers": {"Content-Type": "application/json"}}),
        (200, "GET", f"/customers/{ida['id']}/", {}),
        (201, "POST", "/subscriptions/", {"json": bodies[ida["id"]]}),
        (400, "POST", "/customers/", {"content": b"{"}),
        (400, "POST", "/customers/", {"content": b" " * 2_000_000}),
        (422, "GET", "/customers/?page=x", {}),
    ]:
        assert status(sandbox, method, path, **sent) == expected, (method, path)


# -- how often


def strikes(seed: int) -> list[int]:
    """Which of a hundred requests a fault with an even chance strikes, in a new world."""
    with RunningServer(seed=seed) as server, http_client(base_url=server.url) as http:
        http.post("/_emulator/faults", json={"then": FAILING, "probability": 0.5})
        headers = {"Authorization": "Bearer sk_test_demo"}
        return [http.get("/v1/customers/", headers=headers).status_code for _ in range(100)]


def test_with_a_seed_the_same_ones_are_struck(sandbox: Sandbox) -> None:
    """B-93."""
    first = strikes(7)
    assert 25 < first.count(500) < 75
    assert strikes(7) == first
    assert strikes(8) != first


# -- what goes wrong


@undocumented
@pytest.mark.parametrize(
    ("then", "content_type", "content"),
    [
        ({"status": 503, "body": {"down": True}}, "application/json", b'{"down":true}'),
        ({"status": 200, "body": []}, "application/json", b"[]"),
        ({"status": 502, "body": "<h1>Bad gateway</h1>"}, "text/plain; charset=utf-8", b"<h1>Bad gateway</h1>"),
        ({"status": 599}, None, b""),
        ({"status": 204}, None, b""),
    ],
    ids=str,
)
def test_any_answer_at_all(sandbox: Sandbox, then: Any, content_type: str | None, content: bytes) -> None:
    assert arrange(sandbox, then)["then"] == then
    answer = sandbox.api.http.post("/customers/", json=AWA)
    assert (answer.status_code, answer.content) == (then["status"], content)
    assert answer.headers.get("content-type") == content_type
    assert answer.headers["request-id"].startswith("req_")
    assert customers(sandbox) == 0


@pytest.mark.parametrize("then", [{"delay_ms": 300}, {"hold_ms": 300}], ids=str)
def test_a_delay_is_real_and_changes_nothing_else(sandbox: Sandbox, then: Any) -> None:
    arrange(sandbox, then)
    started = time.monotonic()
    assert sandbox.api.post("/customers/", AWA)["created_at"] == START
    assert time.monotonic() - started >= 0.3


def test_others_are_served_while_one_waits(sandbox: Sandbox) -> None:
    arrange(sandbox, {"delay_ms": 600_000}, match={"method": "POST"})
    parts = urlsplit(sandbox.url)
    with socket.create_connection((parts.hostname, parts.port), timeout=60) as line:
        line.sendall(f"POST /v1/reset HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {sandbox.key}\r\n\r\n".encode())
        assert any(not arranged(sandbox) for _ in range(1000)), "the fault never struck"
        assert status(sandbox) == 200


KEY = {"Idempotency-Key": "attempt-1"}


@undocumented
@pytest.mark.parametrize(
    ("then", "answer", "is_done"),
    [
        (FAILING, (500, "DATABASE_ERROR"), False),
        ({"drop": "before"}, None, False),
        ({"drop": "after"}, None, True),
        ({"hang_ms": 50}, None, True),
        ({"garble": True}, (201, "}"), True),
        ({"code": "INTERNAL_ERROR", "executed": True}, (500, "INTERNAL_ERROR"), True),
        ({"status": 502, "body": "Bad gateway", "executed": True}, (502, "Bad gateway"), True),
        ({"delay_ms": 50, "executed": True}, (201, "created_at"), True),
    ],
    ids=str,
)
def test_whether_it_was_done_and_the_key_gets_what_was_lost(
    sandbox: Sandbox, then: Any, answer: tuple[int, str] | None, is_done: bool
) -> None:
    """B-05, B-16: faults come before idempotency, and the answer that a request got is kept for its key."""
    arrange(sandbox, then, match={"method": "POST", "nth": 2})
    assert status(sandbox, "POST", json={}) == 422
    with sandbox.expect(*["customer.created"] * is_done):
        if answer:
            given = sandbox.api.http.post("/customers/", json=AWA, headers=KEY)
            assert given.status_code == answer[0]
            assert answer[1] in given.text
            assert given.text.startswith("}") is ("garble" in then)
        else:
            assert cut(sandbox, headers=KEY)
    assert customers(sandbox) == is_done
    again = sandbox.api.request("POST", "/customers/", json=AWA, headers=KEY)
    assert (again.status_code, again.headers.get("idempotent-replayed")) == (201, "true" if is_done else None)
    assert customers(sandbox) == 1


@undocumented
def test_an_error_response_is_lost_like_any_answer(sandbox: Sandbox) -> None:
    sandbox.api.post("/customers/", AWA)
    arrange(sandbox, {"drop": "after"})
    assert cut(sandbox)
    arrange(sandbox, {"garble": True})
    answer = sandbox.api.http.post("/customers/", json=AWA)
    assert (answer.status_code, answer.content[:1]) == (409, b"}")


@pytest.mark.parametrize("then", [{"delay_ms": 600_000, "executed": True}, {"hang_ms": 600_000}], ids=str)
def test_an_answer_that_is_waited_for_in_vain_is_that_of_a_request_that_is_done(sandbox: Sandbox, then: Any) -> None:
    arrange(sandbox, then, match={"method": "POST"})
    with pytest.raises(httpx.ReadTimeout):
        sandbox.api.http.post("/customers/", json=AWA, timeout=0.5)
    assert any(customers(sandbox) == 1 for _ in range(1000))


# -- their place


def test_they_come_after_key_profile_and_limit_and_before_the_body(sandbox: Sandbox) -> None:
    """B-05."""
    arrange(sandbox, FAILING, times=2)
    assert status(sandbox, headers={"Authorization": "Bearer nobody"}) == 401
    assert status(sandbox, path="/nothing/") == 404
    assert status(sandbox, headers={"Emulator-Answer": "PERMISSION_DENIED"}) == 403
    assert status(sandbox, "POST", content=b"{") == 500
    sandbox.control.patch("/app", {"settings": {"rate_limit": {"per_second": 0.0001, "burst": 2}}})
    assert [status(sandbox), status(sandbox), status(sandbox)] == [500, 200, 429]
    assert arranged(sandbox) == []


# -- at a place, and inside the idempotency window


@pytest.mark.parametrize(
    ("faults", "statuses"),
    [
        ([{"match": {"path": "/customers/", "nth": 3}}], [200, 200, 429, 200]),
        ([{"match": {"nth": 2}}, {"match": {"nth": 4}}], [200, 429, 200, 429, 200]),
        ([{"match": {"nth": 2}, "times": 2}], [200, 429, 429, 200]),
        ([{"probability": 0}], [200] * 20),
        ([{"probability": 1}], [429] * 20),
    ],
    ids=str,
)
def test_how_often_a_fault_strikes(sandbox: Sandbox, faults: list[Any], statuses: list[int]) -> None:
    """Requests are counted from now on, by all faults alike, and each strikes from its nth one on, so many times."""
    sandbox.api.get("/customers/")
    for fault in faults:
        assert arrange(sandbox, LIMITED, **fault)["match"] == fault.get("match", {})
    assert [status(sandbox) for _ in statuses] == statuses
    assert len(arranged(sandbox)) == ("probability" in faults[0])


def test_a_request_is_held_while_its_key_is_taken(sandbox: Sandbox) -> None:
    """What a client meets that asks again before its first request is answered (B-16)."""
    arrange(sandbox, {"hold_ms": 1500}, match={"method": "POST"})
    key = {"Idempotency-Key": "k1"}
    with ThreadPoolExecutor() as pool:
        first = pool.submit(sandbox.api.request, "POST", "/customers/", json=AWA, headers=key)
        while arranged(sandbox):
            pass
        error = sandbox.api.rejected("POST", "/customers/", 409, "IDEMPOTENCY_CONFLICT", json=AWA, headers=key)
        assert "in progress" in error["message"]
        assert first.result().status_code == 201
    again = sandbox.api.request("POST", "/customers/", json=AWA, headers=key)
    assert (again.status_code, again.headers["idempotent-replayed"]) == (201, "true")
    assert customers(sandbox) == 1


@undocumented
@pytest.mark.parametrize("body", [{}, {"body": {"slow": "down"}}], ids=str)
def test_a_429_says_when_to_come_back(sandbox: Sandbox, body: Any) -> None:
    arrange(sandbox, {"status": 429, **body})
    answer = sandbox.api.http.get("/customers/")
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "1")
    assert answer.json() == body["body"] if body else answer.json()["retry_after"] == 1


def payments(sandbox: Sandbox) -> list[Any]:
    return list(sandbox.api.pages("/payment-intents/"))


def pay(sandbox: Sandbox) -> Any:
    return sandbox.pay(sandbox.method(type="mobile_money", phone="+24177000000"))


def test_a_request_is_done_twice_and_the_first_answer_given(sandbox: Sandbox) -> None:
    """Unless it has an Idempotency-Key."""
    arrange(sandbox, {"repeat": True}, times=2, match={"method": "POST", "path": "/payment-intents/"})
    body = {"amount": 5000, "currency": "XAF"}
    given = sandbox.api.post("/payment-intents/", body)
    assert [each["id"] for each in payments(sandbox)][-1] == given["id"]
    assert len(payments(sandbox)) == 2
    sandbox.api.post("/payment-intents/", body, **{"Idempotency-Key": "order-1"})
    assert len(payments(sandbox)) == 3


def test_an_operator_is_down_from_one_instant_to_another(sandbox: Sandbox) -> None:
    """A silent one answers when the outage is over."""
    ends = {"starts_at": "1d", "ends_at": "2026-01-03T00:00:00Z"}
    made = sandbox.control.post("/faults", {"then": {"outage": "declined"}, "match": {"operator": "Airtel"}, **ends})
    assert (made["starts_at"], made["ends_at"]) == ("2026-01-02T00:00:00.000Z", "2026-01-03T00:00:00.000Z")
    assert made["times"] is None
    assert pay(sandbox)["status"] == "succeeded"
    sandbox.advance("1d")
    down = pay(sandbox)
    assert (down["status"], down["last_error"]["code"]) == ("canceled", "UPSTREAM_ERROR")
    for _day in range(2):
        sandbox.advance("1d")
        assert pay(sandbox)["status"] == "succeeded"
    sandbox.control.post("/faults", {"then": {"outage": "silent"}, "ends_at": "1h"})
    assert pay(sandbox)["status"] == "requires_action"
    for by, expected in (("59m", "requires_action"), ("1m", "succeeded")):
        sandbox.advance(by)
        assert payments(sandbox)[0]["status"] == expected


def test_one_buyer_is_answered_later_than_the_others(sandbox: Sandbox) -> None:
    sandbox.control.post("/faults", {"then": {"answer_after": "1h"}, "match": {"nth": 2}})
    assert [pay(sandbox)["status"] for _ in range(3)] == ["succeeded", "requires_action", "succeeded"]
    sandbox.advance("1h")
    assert {each["status"] for each in payments(sandbox)} == {"succeeded"}


@pytest.mark.parametrize("after", ["0s", "1h"])
def test_one_buyer_is_refused_and_comes_back_all_the_same(sandbox: Sandbox, after: str) -> None:
    """A page of another machine is not opened."""
    opened = []

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            opened.append(self.path)
            self.send_response(200)
            self.end_headers()

    with HTTPServer(("127.0.0.1", 0), Page) as page:
        threading.Thread(target=page.serve_forever, daemon=True).start()
        own = f"http://127.0.0.1:{page.server_port}/thanks/{{CHECKOUT_SESSION_ID}}"
        for url in (own, "https://shop.example.com/thanks"):
            sandbox.control.post("/faults", {"then": {"answer_after": after, "refused": True, "returns": True}})
            session = sandbox.session(success_url=url)["id"]
            method = {"type": "mobile_money", "phone": "+24177000000"}
            sandbox.control.post(f"/checkout-sessions/{session}/pay", {"method": method})
            sandbox.advance("2h")
            assert [each["status"] for each in payments(sandbox)][-1] == "canceled"
        page.shutdown()
    assert [path.partition("sess_")[0] for path in opened] == ["/thanks/"]


@undocumented
def test_a_client_that_waits_on_gets_a_status_and_one_that_gives_up_does_not(sandbox: Sandbox) -> None:
    arrange(sandbox, {"hang_ms": 300, "status": 504})
    assert sandbox.api.http.post("/customers/", json=AWA).status_code == 504
    assert customers(sandbox) == 1
