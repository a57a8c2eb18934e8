"""Faults of requests and operators, and outcomes, by the control API (B-94)."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import combinations
from typing import Any

import httpx
import pytest

from contract_tests.contract.http.line import Line
from contract_tests.support.sandbox import FAILED, START, Sandbox

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


def decide(
    sandbox: Sandbox, operation: str = "payment", result: str = "failed", **fields: Any
) -> Any:
    return sandbox.control.post("/outcomes", {"operation": operation, "result": result, **fields})


def outcomes(sandbox: Sandbox) -> list[Any]:
    return list(sandbox.control.pages("/outcomes"))


def status(sandbox: Sandbox, method: str = "GET", path: str = "/customers/", **options: Any) -> int:
    return sandbox.api.http.request(method, path, **options).status_code


def customers(sandbox: Sandbox) -> int:
    return int(sandbox.api.get("/customers/")["pagination"]["count"])


@undocumented
def test_faults_are_stored_until_they_strike_the_one_arranged_first(sandbox: Sandbox) -> None:
    """They strike once by default. They are not objects: resets clear, do not count them (B-07)."""
    response = sandbox.control.request(
        "POST", "/faults", json={"match": {"method": "POST"}, "times": 2, "then": FAILING}
    )
    fault = response.json()
    whole = {
        "id": fault["id"],
        "object": "fault",
        "match": {"method": "POST"},
        "times": 2,
        "then": FAILING,
    }
    whole |= {"created_at": START, "probability": None, "starts_at": None, "ends_at": None}
    assert (response.status_code, fault) == (201, whole)
    others = [arrange(sandbox, {"status": code}) for code in (501, 502)]
    assert [fault["times"] for fault in others] == [1, 1]
    assert arranged(sandbox) == [*others[::-1], fault]
    assert [status(sandbox) for _ in range(3)] == [501, 502, 200]
    assert status(sandbox, "POST", json=AWA) == 500
    assert arranged(sandbox) == [{**fault, "times": 1}]
    assert (status(sandbox, "POST", json=AWA), arranged(sandbox)) == (500, [])
    arrange(sandbox, FAILING, match={"method": "GET"})
    assert (sandbox.api.post("/reset")["deleted"], arranged(sandbox)) == (0, [])
    arrange(sandbox, FAILING)
    assert sandbox.control.request("DELETE", "/faults").status_code == 204
    assert (arranged(sandbox), status(sandbox)) == ([], 200)


def test_an_impossible_fault_is_rejected(sandbox: Sandbox) -> None:
    """What the schemas of its parts forbid the document says."""
    silent = {"outage": "silent"}
    for then, fields, param in (
        *(
            ({"body": {}}, {}, "then"),
            ({"executed": True}, {}, "then"),
            ({"together": True}, {}, "then"),
        ),
        *(({**FAILING, "delay_ms": 1}, {}, "then"), ({**FAILING, "body": {}}, {}, "then.body")),
        *(({"status": 204, "body": {}}, {}, "then.body"), ({"status": 199}, {}, "then.status")),
        *(
            ({"drop": "after", "executed": True}, {}, "then.executed"),
            ({"code": "OOPS"}, {}, "then.code"),
        ),
        *(
            ({"lose": True, "refused": True}, {}, "then.refused"),
            ({"lose": True, "result": "failed"}, {}, "then.result"),
            (
                {"answer_after": "1h", "refused": True, "result": "succeeded"},
                {},
                "then.result",
            ),
            ({"delay": "0s"}, {}, "then.delay"),
        ),
        *(({name: "soon"}, {}, f"then.{name}") for name in ("answer_after", "again", "delay")),
        *(
            (FAILING, {"times": 1, "probability": 0.5}, "times"),
            (FAILING, {"ends_at": "2h"}, "ends_at"),
        ),
        *(
            (FAILING, {"match": {name: "nothing"}}, f"match.{name}")
            for name in ("operation", "path", "method")
        ),
        *(
            (FAILING, {"match": {"event": "invoice.paid"}}, "match.event"),
            (silent, {"times": 2}, "times"),
        ),
        *(
            (then, {"match": {"method": "POST"}}, "match.method")
            for then in (
                {"lose": True},
                {"answer_after": "1h"},
                {"refund_after": "1h"},
                {"early_return": True},
            )
        ),
        (silent, {"starts_at": "5d", "ends_at": "2d"}, "ends_at"),
        (silent, {"ends_at": "2020-01-01T00:00:00Z"}, "ends_at"),
    ):
        error = sandbox.control.request("POST", "/faults", json={"then": then, **fields}).json()
        assert error.get("param") == param, (then, fields)
    for wrong, param in (
        ({"code": "NO_SUCH_CODE"}, "code"),
        ({"match": {"color": "red"}}, "match.color"),
    ):
        body = {"operation": "payment", "result": "failed", **wrong}
        assert (
            sandbox.control.rejected("POST", "/outcomes", 422, "INVALID_FIELD", json=body)["param"]
            == param
        )
    assert arranged(sandbox) == outcomes(sandbox) == []


def test_only_what_matches_meets_it(sandbox: Sandbox) -> None:
    """By operation, method and path as in the document."""
    others = [
        ("GET", "/products/"),
        ("POST", "/products/"),
        ("GET", "/customers/cust_x/transactions/"),
    ]
    for match, method, path in (
        ({"operation": "getCustomer"}, "HEAD", "/customers/cust_x/"),
        ({"method": "DELETE"}, "DELETE", "/customers/cust_x/"),
        ({"path": "/customers/{id}/addresses/"}, "POST", "/customers/cust_x/addresses/"),
        ({"path": "/reset", "method": "POST"}, "POST", "/reset/"),
        (
            {"operation": "createCustomer", "method": "POST", "path": "/customers/"},
            "POST",
            "/customers/",
        ),
    ):
        arrange(sandbox, LIMITED, match=match)
        assert 429 not in [status(sandbox, *other) for other in others]
        assert status(sandbox, method, path) == 429, match


def test_a_customer_is_matched_wherever_it_is_named(sandbox: Sandbox) -> None:
    """In the path, the query or the body, or as the customer of an object that is named there."""
    awa, ida = sandbox.customer(phone="+24177000000"), sandbox.customer(phone="+24177000009")
    bodies = {
        customer["id"]: {"customer": customer["id"], "unit_amount": 500, "interval": "month"}
        for customer in (awa, ida)
    }
    subscription = sandbox.api.post("/subscriptions/", bodies[awa["id"]])["id"]
    arrange(sandbox, LIMITED, match={"customer": awa["id"]}, probability=1)
    pieces = iter([b'{"x": "', awa["id"].encode(), b'"}'])
    for expected, method, path, sent in [
        (429, "PATCH", f"/customers/{awa['id']}/", {"json": {}}),
        (429, "GET", f"/subscriptions/?customer={awa['id']}", {}),
        (429, "GET", f"/subscriptions/{subscription}/", {}),
        (429, "POST", "/subscriptions/", {"json": bodies[awa["id"]]}),
        (
            429,
            "POST",
            "/customers/",
            {"content": pieces, "headers": {"Content-Type": "application/json"}},
        ),
        (200, "GET", f"/customers/{ida['id']}/", {}),
        (201, "POST", "/subscriptions/", {"json": bodies[ida["id"]]}),
        (400, "POST", "/customers/", {"content": b"{"}),
        (400, "POST", "/customers/", {"content": b" " * 2_000_000}),
    ]:
        assert status(sandbox, method, path, **sent) == expected, (method, path)


def test_how_often_a_fault_strikes(sandbox: Sandbox) -> None:
    """All faults count requests from now on; each strikes from its nth one, so many times."""
    for faults, statuses in (
        ([{"match": {"path": "/customers/", "nth": 3}}], [200, 200, 429, 200]),
        ([{"match": {"nth": 2}}, {"match": {"nth": 4}}], [200, 429, 200, 429, 200]),
        ([{"match": {"nth": 2}, "times": 2}], [200, 429, 429, 200]),
        ([{"probability": 0}], [200] * 20),
        ([{"probability": 1}], [429] * 20),
    ):
        for fault in faults:
            arrange(sandbox, LIMITED, **fault)
        assert [status(sandbox) for _ in statuses] == statuses
        assert len(arranged(sandbox)) == ("probability" in faults[0])
        sandbox.control.delete("/faults")


@undocumented
def test_any_response_at_all(sandbox: Sandbox) -> None:
    """A 429 says when to come back."""
    for then, content_type, content in (
        ({"status": 503, "body": {"down": True}}, "application/json", b'{"down":true}'),
        (
            {"status": 502, "body": "<h1>Bad gateway</h1>"},
            "text/plain; charset=utf-8",
            b"<h1>Bad gateway</h1>",
        ),
        ({"status": 204}, None, b""),
        ({"status": 429, "body": []}, "application/json", b"[]"),
    ):
        assert arrange(sandbox, then)["then"] == then
        response = sandbox.api.http.post("/customers/", json=AWA)
        assert (response.status_code, response.content) == (then["status"], content)
        assert response.headers.get("content-type") == content_type
        assert response.headers["request-id"].startswith("req_")
        assert response.headers.get("retry-after") == ("1" if then["status"] == 429 else None)
    arrange(sandbox, {"status": 429})
    assert sandbox.api.http.get("/customers/").json()["retry_after"] == 1
    assert customers(sandbox) == 0


KEY = {"Idempotency-Key": "attempt-1"}


EFFECTS: list[Any] = [
    (FAILING, (500, "DATABASE_ERROR"), False),
    ({"drop": "before"}, None, False),
    ({"drop": "after"}, None, True),
    ({"hang_ms": 50}, None, True),
    ({"hang_ms": 50, "status": 504}, (504, ""), True),
    ({"garble": True}, (201, "}"), True),
    ({"code": "INTERNAL_ERROR", "executed": True}, (500, "INTERNAL_ERROR"), True),
    ({"status": 502, "body": "Bad gateway", "executed": True}, (502, "Bad gateway"), True),
    ({"delay_ms": 50, "executed": True}, (201, "created_at"), True),
]
"""A fault, the response that the client gets, and whether the request is done."""


@undocumented
@pytest.mark.parametrize(("then", "response", "is_done"), EFFECTS, ids=str)
def test_a_request_with_a_fault_is_done_or_not_as_arranged(
    sandbox: Sandbox, then: Any, response: tuple[int, str] | None, is_done: bool
) -> None:
    arrange(sandbox, then, match={"method": "POST"})
    with sandbox.expect(*["customer.created"] * is_done):
        if response:
            faulty = sandbox.api.http.post("/customers/", json=AWA, headers=KEY)
            assert faulty.status_code == response[0]
            assert response[1] in faulty.text
            assert faulty.text.startswith("}") is ("garble" in then)
        else:
            with pytest.raises(httpx.TransportError):
                sandbox.api.http.post("/customers/", json=AWA, headers=KEY)
    assert customers(sandbox) == is_done


@undocumented
@pytest.mark.parametrize(
    ("then", "is_done"), [(then, is_done) for then, _, is_done in EFFECTS], ids=str
)
def test_a_repeat_with_the_key_gets_the_response_that_was_lost(
    sandbox: Sandbox, then: Any, is_done: bool
) -> None:
    """B-05, B-16: faults come before idempotency; the key keeps the request's response."""
    arrange(sandbox, then, match={"method": "POST"})
    with contextlib.suppress(httpx.TransportError):
        sandbox.api.http.post("/customers/", json=AWA, headers=KEY)
    again = sandbox.api.request("POST", "/customers/", json=AWA, headers=KEY)
    assert (again.status_code, again.headers.get("idempotent-replayed")) == (
        201,
        "true" if is_done else None,
    )
    assert customers(sandbox) == 1


def test_who_waits_in_vain_keeps_nobody_else_waiting(sandbox: Sandbox) -> None:
    """Whether the request is done or not."""
    long = 600_000
    for count, then in enumerate(
        ({"delay_ms": long}, {"delay_ms": long, "executed": True}, {"hang_ms": long})
    ):
        arrange(sandbox, then, match={"method": "POST"})
        body = json.dumps({"email": f"{count}@example.com", "name": "A"}).encode()
        head = b"Content-Type: application/json", b"Content-Length: %d" % len(body)
        with Line(sandbox.url, sandbox.key) as line:
            line.request(b"POST /v1/customers/ HTTP/1.1", *head, body=body)
            while arranged(sandbox):
                pass
        assert any(customers(sandbox) == count for _ in range(1000))


def test_a_request_is_held_while_its_key_is_taken(sandbox: Sandbox) -> None:
    """What a client meets that asks again before its first request is answered (B-16).

    Both requests are sent before any response is read, and either may overtake the other: the one
    that comes second finds the first one held.
    """
    arrange(sandbox, {"hold_ms": 1000}, times=2, match={"method": "POST"})
    body = json.dumps(AWA).encode()
    head = b"Content-Type: application/json", b"Content-Length: %d" % len(body)
    key = b"Idempotency-Key: attempt-1"
    with Line(sandbox.url, sandbox.key) as first, Line(sandbox.url, sandbox.key) as second:
        for line in (first, second):
            line.request(b"POST /v1/customers/ HTTP/1.1", *head, key, body=body)
        responses = [line.response() for line in (first, second)]
    done, rejected = sorted(responses, key=lambda response: response.status)
    assert done.status == 201
    assert (rejected.status, rejected.code) == (409, "IDEMPOTENCY_CONFLICT")


def test_a_repeated_request_is_done_twice(sandbox: Sandbox) -> None:
    """Its response is the first one's. With an Idempotency-Key it is done once."""
    arrange(
        sandbox, {"repeat": True}, times=2, match={"method": "POST", "path": "/payment-intents/"}
    )
    payment = sandbox.intent()
    assert [intent["id"] for intent in payments(sandbox)][-1] == payment["id"]
    assert len(payments(sandbox)) == 2
    sandbox.api.post("/payment-intents/", {"amount": 5000, "currency": "XAF"}, **KEY)
    assert len(payments(sandbox)) == 3


def payments(sandbox: Sandbox) -> list[Any]:
    return list(sandbox.api.pages("/payment-intents/"))


def pay(sandbox: Sandbox) -> Any:
    return sandbox.pay(sandbox.method(type="mobile_money", phone="+24177000000"))


def test_an_operator_is_down_from_one_instant_to_another(sandbox: Sandbox) -> None:
    """A silent one answers when the outage is over."""
    ends = {"starts_at": "1d", "ends_at": "2026-01-03T00:00:00Z"}
    made = sandbox.control.post(
        "/faults", {"then": {"outage": "declined"}, "match": {"operator": "Airtel"}, **ends}
    )
    assert (made["starts_at"], made["ends_at"]) == (
        "2026-01-02T00:00:00.000Z",
        "2026-01-03T00:00:00.000Z",
    )
    assert made["times"] is None
    assert pay(sandbox)["status"] == "succeeded"
    sandbox.advance("1d")
    down = pay(sandbox)
    assert (down["status"], down["last_error"]["code"]) == ("canceled", "UPSTREAM_ERROR")
    sandbox.advance("1d")
    assert pay(sandbox)["status"] == "succeeded"
    sandbox.control.post("/faults", {"then": {"outage": "silent"}, "ends_at": "1h"})
    assert pay(sandbox)["status"] == "requires_action"
    for by, expected in (("59m", "requires_action"), ("1m", "succeeded")):
        sandbox.advance(by)
        assert payments(sandbox)[0]["status"] == expected


# -- arranged outcomes: the next matching payments and refunds end as the tester says


WRONG: dict[str, tuple[str, Any]] = {
    "match.path": ("match", {"path": "/nope/"}),
    "match.method": ("match", {"method": "BREW"}),
    "match.event": ("match", {"event": "invoice.paid"}),
    "then.executed": ("then", {"drop": "after", "executed": True}),
    "then.code": ("then", {"code": "BAD_LUCK"}),
    "starts_at": ("starts_at", "2027-01-01T00:00:00Z"),
    "times": ("times", 0),
}
"""Fields of a fault that are wrong, by form or by a rule: the part of the body, and its value."""


def test_all_that_is_wrong_with_a_fault_is_reported_at_once(sandbox: Sandbox) -> None:
    """B-12: any two fields, except that an unknown effect suits anything."""
    for paths in [[path] for path in WRONG] + [*map(list, combinations(WRONG, 2))]:
        parts = [WRONG[path] for path in paths]
        if len({part for part, _ in parts}) < len(parts):
            continue
        if "then.code" in paths and {"match.event", "starts_at"} & {*paths}:
            continue
        body = {"then": {"status": 500}, **dict(parts)}
        code = "INVALID_FIELD" if len(paths) == 1 else "VALIDATION_ERROR"
        error = sandbox.control.rejected("POST", "/faults", 422, code, json=body)
        assert error["errors"].keys() == set(paths)
    assert arranged(sandbox) == []


def test_the_next_payments_end_as_arranged(sandbox: Sandbox) -> None:
    """Those arranged first are used first."""
    method = sandbox.method()
    body = {"operation": "payment", "result": "failed", "code": "UPSTREAM_ERROR"}
    response = sandbox.control.request("POST", "/outcomes", json=body)
    first, second = response.json(), decide(sandbox, code="INSUFFICIENT_FUNDS", times=2)
    assert (response.status_code, first["times"], first["code"]) == (201, 1, "UPSTREAM_ERROR")
    assert first["match"] == {"customer": None, "amount": None, "payment_method_type": None}
    assert outcomes(sandbox) == [second, first]
    with sandbox.expect(*["payment_intent.failed"] * 3):
        codes = [sandbox.pay(method)["last_error"]["code"] for _ in range(3)]
    assert codes == ["UPSTREAM_ERROR", "INSUFFICIENT_FUNDS", "INSUFFICIENT_FUNDS"]
    assert outcomes(sandbox) == []
    assert sandbox.pay(method)["status"] == "succeeded"


def test_only_what_matches_is_meant(sandbox: Sandbox) -> None:
    """One of payments is not for refunds."""
    method = sandbox.method()
    deposit = sandbox.deposit(method)["id"]
    for match, fits in (
        *(
            ({name: other}, False)
            for name, other in (("amount", 7000), ("payment_method_type", "paypal"))
        ),
        ({"customer": sandbox.customer()["id"]}, False),
        ({"amount": 5000}, True),
        ({"customer": method["customer"], "payment_method_type": "bank_card"}, True),
    ):
        decide(sandbox, match=match)
        sandbox.api.post("/refunds/", {"transaction": deposit, "amount": 100})
        assert [sandbox.pay(method)["status"] for _ in range(2)] == [
            "canceled" if fits else "succeeded",
            "succeeded",
        ]
        assert len(outcomes(sandbox)) == (not fits)
        assert sandbox.control.delete("/outcomes") is None
        assert outcomes(sandbox) == []


def test_it_decides_in_place_of_whatever_would_have_decided(sandbox: Sandbox) -> None:
    """A magic card, an operator a day later, a renewal, a session that saves a method (B-58)."""
    for number in ("4000000000009995", "4000000000003220"):
        decide(sandbox, result="succeeded")
        assert sandbox.pay(sandbox.method(number=number))["status"] == "succeeded"
    decide(sandbox, code="INSUFFICIENT_FUNDS")
    intent = sandbox.pay(
        sandbox.method(type="bank_transfer", iban="FR14 2004 1010 0505 0001 3M02 606")
    )
    assert intent["status"] == "processing"
    with sandbox.expect("payment_intent.failed"):
        sandbox.advance("1d")
    decide(sandbox, code="INSUFFICIENT_FUNDS")
    with sandbox.expect("customer.created", "subscription.created", *FAILED):
        sandbox.subscribe()
    session = sandbox.session(mode="setup", customer=sandbox.customer()["id"])
    decide(sandbox)
    assert sandbox.buy(session)["status"] == "payment_failed"
    assert outcomes(sandbox) == []


def test_the_next_refund_ends_as_arranged(sandbox: Sandbox) -> None:
    deposit = sandbox.deposit(sandbox.method(type="mobile_money", phone="+24177000009"))["id"]
    for result, fields, reason in (
        ("failed", {}, "UPSTREAM_ERROR"),
        ("failed", {"code": "DATABASE_ERROR"}, "DATABASE_ERROR"),
        ("succeeded", {}, None),
    ):
        decide(sandbox, "refund", result, match={"amount": 100}, **fields)
        refund = sandbox.api.post("/refunds/", {"transaction": deposit, "amount": 100})
        path = f"/refunds/{refund['id']}/"
        assert outcomes(sandbox) == []
        with sandbox.expect(f"refund.{result}"):
            sandbox.advance("24h")
        ended = sandbox.api.get(path)
        assert (ended["status"], ended["failure_reason"]) == (result, reason)


def test_the_operator_declines_a_refund_later_as_arranged(sandbox: Sandbox) -> None:
    deposit = sandbox.deposit(sandbox.method())["id"]
    arrange(sandbox, {"refund_after": "20d", "refused": True}, match={"nth": 2})
    first, second = (
        sandbox.api.post("/refunds/", {"transaction": deposit, "amount": 100}) for _ in range(2)
    )
    assert (second["status"], arranged(sandbox)) == ("processing", [])
    with sandbox.expect("refund.succeeded"):
        sandbox.advance("10d")
    with sandbox.expect("refund.failed"):
        sandbox.advance("10d")
    assert sandbox.api.get(f"/refunds/{first['id']}/")["status"] == "succeeded"


@pytest.mark.parametrize("after", ["0s", "1h", "2d"])
def test_a_refund_is_answered_at_the_time_that_is_arranged(sandbox: Sandbox, after: str) -> None:
    """B-94: before as after the time that is documented for its method, three business days."""
    deposit = sandbox.deposit(sandbox.method())["id"]
    arrange(sandbox, {"refund_after": after})
    refund = sandbox.api.post("/refunds/", {"transaction": deposit})
    sandbox.advance(after)
    ended = sandbox.shown(refund)
    assert (ended["status"], ended["refunded_at"]) == ("succeeded", sandbox.now)


def test_a_payment_is_answered_at_the_time_that_is_arranged(sandbox: Sandbox) -> None:
    """B-94: whatever the magic value of a slow phone and the setting say."""
    slow = {"type": "mobile_money", "phone": "+24177000006"}
    sandbox.settings(operator_delay=3600)
    for method in (slow, None):
        arrange(sandbox, {"answer_after": "5s"})
        paid = sandbox.buy(sandbox.session(), method)
        assert paid["status"] == "requires_action"
        sandbox.advance("5s")
        assert sandbox.shown(paid)["status"] == "succeeded"


@pytest.mark.parametrize(
    ("then", "stored"),
    [
        *(
            ({name: "1h", "result": result}, {name: "1h", **refused})
            for name in ("answer_after", "refund_after")
            for result, refused in (("succeeded", {}), ("failed", {"refused": True}))
        ),
        (
            {"refund_after": "1h", "refused": True, "result": "failed"},
            {"refund_after": "1h", "refused": True},
        ),
        ({"overlap": True}, {"overlap": "next"}),
    ],
    ids=str,
)
def test_an_effect_with_two_spellings_is_kept_in_one(
    sandbox: Sandbox, then: Any, stored: Any
) -> None:
    arrange(sandbox, then)
    assert [fault["then"] for fault in arranged(sandbox)] == [stored]


class Page:
    """The page of an application to which its buyers come back; it sees the session's status."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.opened: list[str] = []
        self.sandbox = sandbox

    @contextlib.contextmanager
    def served(self) -> Iterator[str]:
        page = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                id = self.path.rpartition("/")[2]
                page.opened.append(page.sandbox.api.get(f"/checkout-sessions/{id}/")["status"])
                self.send_response(200)
                self.end_headers()

        with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            yield f"http://127.0.0.1:{server.server_port}/thanks/{{CHECKOUT_SESSION_ID}}"
            server.shutdown()


@pytest.mark.parametrize(
    "act",
    [
        lambda sandbox, session: sandbox.buy(session),
        lambda sandbox, session: sandbox.advance("0s"),
        lambda sandbox, session: sandbox.advance("1d"),
    ],
    ids=["paid", "no time", "a day"],
)
def test_a_buyer_comes_back_before_paying(
    sandbox: Sandbox, act: Callable[[Sandbox, Any], object]
) -> None:
    """Once, after the application knows the session, before what happens next."""
    page = Page(sandbox)
    with page.served() as url:
        arrange(sandbox, {"early_return": True}, match={"nth": 2})
        sandbox.session(success_url=url)
        session = sandbox.session(success_url=url)
        assert (page.opened, arranged(sandbox)) == ([], [])
        act(sandbox, session)
        assert page.opened == ["open"]
        sandbox.advance("1d")
        assert page.opened == ["open"]


def test_lists_are_cut_to_a_page_size_for_the_application_alone(sandbox: Sandbox) -> None:
    for _ in range(3):
        sandbox.customer()
    arrange(sandbox, {"page_size": 1}, match={"method": "GET"}, probability=1)
    response = sandbox.api.get("/customers/?page_size=50&ordering=created_at&page=2")
    assert len(response["data"]) == 1
    pagination = response["pagination"]
    assert (pagination["page_size"], pagination["total_pages"], pagination["page"]) == (1, 3, 2)
    assert "page_size=1&" in pagination["next"]
    customer = response["data"][0]["id"]
    assert sandbox.api.get(f"/customers/{customer}/")["id"] == customer
