"""Arranged outcomes: the next matching payments and refunds end as the tester says (B-94, control API)."""

from __future__ import annotations

from typing import Any

import pytest

from contract_tests.support.sandbox import Sandbox

IBAN = "FR14 2004 1010 0505 0001 3M02 606"


def arrange(sandbox: Sandbox, operation: str = "payment", result: str = "failed", **fields: Any) -> Any:
    return sandbox.control.post("/outcomes", {"operation": operation, "result": result, **fields})


def arranged(sandbox: Sandbox) -> list[Any]:
    return list(sandbox.control.pages("/outcomes"))


def test_the_next_payment_ends_as_arranged_and_the_one_after_as_ever(sandbox: Sandbox) -> None:
    method = sandbox.method()
    outcome = arrange(sandbox, code="INSUFFICIENT_FUNDS")
    assert (outcome["times"], outcome["code"]) == (1, "INSUFFICIENT_FUNDS")
    assert outcome["match"] == {"customer": None, "amount": None, "payment_method_type": None}
    assert arranged(sandbox) == [outcome]
    with sandbox.expect("payment_intent.failed"):
        assert sandbox.pay(method)["last_error"]["code"] == "INSUFFICIENT_FUNDS"
    assert arranged(sandbox) == []
    assert sandbox.pay(method)["status"] == "succeeded"


def test_what_was_arranged_first_is_used_first(sandbox: Sandbox) -> None:
    method = sandbox.method()
    arrange(sandbox, code="MOBILE_MONEY_REJECTED")
    arrange(sandbox, code="UPSTREAM_ERROR")
    assert [outcome["code"] for outcome in arranged(sandbox)] == ["UPSTREAM_ERROR", "MOBILE_MONEY_REJECTED"]
    codes = [sandbox.pay(method)["last_error"]["code"] for _ in range(2)]
    assert codes == ["MOBILE_MONEY_REJECTED", "UPSTREAM_ERROR"]


@pytest.mark.parametrize(
    "match",
    [{"amount": 7000}, {"payment_method_type": "paypal"}, {"customer": "cust_x"}, {"amount": 5000}, {"customer": None}],
    ids=str,
)
def test_only_what_matches_is_meant(sandbox: Sandbox, match: Any) -> None:
    """One of payments is not for refunds. It applies so many times."""
    method = sandbox.method()
    deposit = sandbox.deposit(method)
    fits = match in ({"amount": 5000}, {"customer": None})
    if match == {"customer": None}:
        match = {"customer": method["customer"], "payment_method_type": "bank_card"}
        assert sandbox.method()["customer"] != method["customer"]
    arrange(sandbox, match=match, times=2)
    sandbox.api.post("/refunds/", {"transaction": deposit["id"], "amount": 100})
    statuses = [sandbox.pay(method)["status"] for _ in range(3)]
    assert statuses == (["canceled", "canceled", "succeeded"] if fits else ["succeeded"] * 3)
    assert len(arranged(sandbox)) == (0 if fits else 1)
    assert sandbox.control.delete("/outcomes") is None
    assert arranged(sandbox) == []


def test_it_decides_whether_a_method_is_saved(sandbox: Sandbox) -> None:
    """B-58: nothing is paid, and a session that saves a method ends as a payment would."""
    session = sandbox.session(mode="setup", customer=sandbox.customer()["id"])
    arrange(sandbox, code="INSUFFICIENT_FUNDS")
    assert sandbox.buy(session)["status"] == "payment_failed"
    assert arranged(sandbox) == []


@pytest.mark.parametrize("number", ["4000000000009995", "4000000000003220"])
def test_it_goes_before_what_a_magic_card_does(sandbox: Sandbox, number: str) -> None:
    arrange(sandbox, result="succeeded")
    assert sandbox.pay(sandbox.method(number=number))["status"] == "succeeded"


def test_the_answer_comes_when_it_would_have_come(sandbox: Sandbox) -> None:
    arrange(sandbox, code="INSUFFICIENT_FUNDS")
    intent = sandbox.pay(sandbox.method(type="bank_transfer", iban=IBAN))
    assert intent["status"] == "processing"
    with sandbox.expect("payment_intent.failed"):
        sandbox.advance("1d")
    assert sandbox.api.get(f"/transactions/{intent['transaction']}/")["status"] == "failed"


def test_a_renewal_ends_as_arranged(sandbox: Sandbox) -> None:
    customer = sandbox.customer(phone="+24177123456")
    arrange(sandbox, code="INSUFFICIENT_FUNDS", match={"customer": customer["id"]})
    body = {"customer": customer["id"], "unit_amount": 5000, "interval": "month"}
    with sandbox.expect("subscription.created", "payment_intent.failed", "subscription.payment_failed"):
        sandbox.api.post("/subscriptions/", body)


@pytest.mark.parametrize(
    ("result", "given", "reason"),
    [
        ("failed", {}, "UPSTREAM_ERROR"),
        ("failed", {"code": "DATABASE_ERROR"}, "DATABASE_ERROR"),
        ("succeeded", {}, None),
    ],
    ids=str,
)
def test_the_next_refund_ends_as_arranged(sandbox: Sandbox, result: str, given: Any, reason: str | None) -> None:
    deposit = sandbox.deposit(sandbox.method(type="mobile_money", phone="+24177000009"))
    arrange(sandbox, "refund", result, match={"amount": 100}, **given)
    other = sandbox.api.post("/refunds/", {"transaction": deposit["id"], "amount": 101})
    refund = sandbox.api.post("/refunds/", {"transaction": deposit["id"], "amount": 100})
    assert arranged(sandbox) == []
    with sandbox.expect(f"refund.{result}"):
        sandbox.advance("24h")
    ended = sandbox.api.get(f"/refunds/{refund['id']}/")
    assert (ended["status"], ended["failure_reason"]) == (result, reason)
    assert sandbox.api.get(f"/refunds/{other['id']}/")["status"] == "processing"


@pytest.mark.parametrize(
    ("body", "code", "param"),
    [
        ({"operation": "payment"}, "MISSING_FIELD", "result"),
        ({"result": "failed"}, "MISSING_FIELD", "operation"),
        ({"operation": "payout", "result": "failed"}, "INVALID_FIELD", "operation"),
        ({"operation": "payment", "result": "lost"}, "INVALID_FIELD", "result"),
        ({"operation": "payment", "result": "failed", "code": "NO_SUCH_CODE"}, "INVALID_FIELD", "code"),
        ({"operation": "payment", "result": "succeeded", "code": "INSUFFICIENT_FUNDS"}, "INVALID_FIELD", "code"),
        ({"operation": "payment", "result": "failed", "times": 0}, "INVALID_FIELD", "times"),
        ({"operation": "payment", "result": "failed", "match": {"color": "red"}}, "INVALID_FIELD", "match.color"),
    ],
    ids=str,
)
def test_an_impossible_arrangement_is_rejected(sandbox: Sandbox, body: Any, code: str, param: str) -> None:
    assert sandbox.control.rejected("POST", "/outcomes", 422, code, json=body)["param"] == param
    assert arranged(sandbox) == []
