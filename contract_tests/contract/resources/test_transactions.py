"""Transactions, refunds: fees, life, lists, receipts, returns (Transactions, Refunds sections)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contract_tests.support.sandbox import Sandbox, path_of
from emulator.core import calendar

IBAN = "FR14 2004 1010 0505 0001 3M02 606"


@pytest.mark.parametrize(
    ("plan", "rate", "amount", "fee"),
    [
        ("starter", 3.5, 100, 4),
        ("growth", 2.9, 500, 15),
        ("growth", 2.9, 499, 14),
        ("business", 2.4, 5000, 120),
        ("enterprise", 1.9, 5000, 95),
    ],
)
def test_the_fee_follows_the_pricing_plan_rounded_half_up(
    sandbox: Sandbox, plan: str, rate: float, amount: int, fee: int
) -> None:
    """B-23, B-56: 3.5 % of 100 is 4, not 3.5; 2.9 % of 500 is 15. Commissions go off as well."""
    for commission_rate, commission in ((0, 0), (1.5, int(amount * 0.015 + 0.5))):
        sandbox.settings(pricing_plan=plan, commission_rate=commission_rate)
        deposit = sandbox.deposit(amount=amount)
        assert (deposit["fee_rate"], deposit["fee"]) == (rate, fee)
        assert (deposit["commission_rate"], deposit["commission"]) == (commission_rate, commission)
        assert deposit["net_amount"] == amount - fee - commission


# -- life


def test_the_payment_of_a_canceled_transaction_fails(sandbox: Sandbox) -> None:
    """B-56."""
    intent = sandbox.pay(sandbox.method(type="bank_transfer", iban=IBAN))
    with sandbox.expect("payment_intent.failed"):
        canceled = sandbox.api.post(f"/transactions/{intent['transaction']}/cancel/")
        sandbox.advance("2d")
    assert (canceled["status"], canceled["processed_at"]) == ("canceled", None)
    failed = sandbox.shown(intent)
    assert (failed["status"], failed["last_error"]["code"]) == ("canceled", "INSUFFICIENT_FUNDS")
    assert failed["transaction"] == canceled["id"]


def test_a_transfer_whose_funds_do_not_arrive_is_a_failed_transaction(sandbox: Sandbox) -> None:
    """B-56."""
    intent = sandbox.pay(sandbox.method(type="bank_transfer", iban=IBAN))
    with sandbox.expect("payment_intent.failed"):
        sandbox.control.post(f"/payment-intents/{intent['id']}/answer", {"result": "failed"})
    failed = sandbox.api.get(f"/transactions/{intent['transaction']}/")
    assert (failed["status"], failed["processed_at"]) == ("failed", sandbox.now)


@pytest.mark.parametrize("number", ["4242424242424242", "4000000000000077"])
def test_only_a_pending_transaction_can_be_canceled(sandbox: Sandbox, number: str) -> None:
    """B-56."""
    deposit = sandbox.deposit(sandbox.method(number=number))
    with sandbox.expect():
        sandbox.api.rejected(
            "POST", f"/transactions/{deposit['id']}/cancel/", 422, "INVALID_STATUS_TRANSITION"
        )
    assert sandbox.shown(deposit) == deposit


# -- lists and receipts


def test_the_list_is_filtered_by_the_customers_email_too(sandbox: Sandbox) -> None:
    """Query parameters of transactions: id or email in any case; unknown ones match nothing."""
    awa, ben = sandbox.customer(email="Awa@example.com"), sandbox.customer()
    deposit, _ = (sandbox.deposit(sandbox.method(customer)) for customer in (awa, ben))
    for customer, expected in (
        (awa["id"], [deposit]),
        ("AWA@example.COM", [deposit]),
        ("a@example.com", []),
        ("x", []),
    ):
        assert sandbox.api.get("/transactions/", customer=customer)["data"] == expected


def test_each_completed_deposit_has_a_receipt(sandbox: Sandbox) -> None:
    """B-53: made with it, numbered, and none for what is pending, failed or a refund."""
    sandbox.settings(refund_timing="instant")
    customer = sandbox.customer()
    deposit = sandbox.deposit(sandbox.method(customer))
    sandbox.pay(sandbox.method(customer, number="4000000000000002"))
    sandbox.pay(sandbox.method(customer, "bank_transfer", iban=IBAN))
    sandbox.api.post("/refunds/", {"transaction": deposit["id"], "amount": 1000})
    (receipt,) = sandbox.api.get("/receipts/")["data"]
    assert (receipt["transaction"], receipt["amount"], receipt["currency"]) == (
        deposit["id"],
        5000,
        "XAF",
    )
    assert (receipt["customer"], receipt["customer_email"]) == (customer["id"], customer["email"])
    assert (receipt["number"], receipt["created_at"]) == (
        "RCPT-2026-000001",
        deposit["processed_at"],
    )
    assert receipt["url"] == f"{sandbox.url}/receipt/{receipt['id']}"
    assert sandbox.shown(receipt) == receipt
    sandbox.advance("1d")
    newest = sandbox.api.get("/receipts/")["data"][0]
    assert (newest["number"], newest["created_at"]) == ("RCPT-2026-000002", sandbox.now)


# -- refunds: what may be refunded, when the operator answers, and what follows (B-57)


MOBILE = {"type": "mobile_money", "phone": "+24177123456"}


def refund_of(sandbox: Sandbox, deposit: Any, **fields: Any) -> Any:
    return sandbox.api.post("/refunds/", {"transaction": deposit["id"], **fields})


def rejected(sandbox: Sandbox, deposit: Any, status: int, code: str, **fields: Any) -> Any:
    return sandbox.api.rejected(
        "POST", "/refunds/", status, code, json={"transaction": deposit["id"], **fields}
    )


# -- when the operator answers


def test_a_new_refund_is_processing(sandbox: Sandbox) -> None:
    """States of a refund; it has reason, description and metadata as they were sent."""
    deposit = sandbox.deposit(sandbox.method(**MOBILE))
    about = {"reason": "duplicate", "description": "Paid twice", "metadata": {"case": 7}}
    with sandbox.expect():
        refund = refund_of(sandbox, deposit, **about)
    assert (refund["status"], refund["amount"], refund["currency"]) == ("processing", 5000, "XAF")
    assert refund["payment_method_type"] == "mobile_money"
    assert {name: refund[name] for name in about} == about
    assert (refund["failure_reason"], refund["refunded_at"]) == (None, None)


def test_a_refund_succeeds_when_the_operator_answers(sandbox: Sandbox) -> None:
    """The event has the object as GET shows it, with reason and metadata."""
    deposit = sandbox.deposit(sandbox.method(**MOBILE))
    refund = refund_of(sandbox, deposit, reason="duplicate", metadata={"case": 7})
    with sandbox.expect("refund.succeeded"):
        sandbox.advance("24h")
    done = sandbox.shown(refund)
    assert done == {
        **refund,
        "status": "succeeded",
        "refunded_at": sandbox.now,
        "updated_at": sandbox.now,
    }
    assert sandbox.events()[-1]["data"]["object"] == done


@given(minutes=st.integers(0, 366 * 24 * 60), count=st.integers(0, 15))
def test_business_days_are_counted_one_by_one(minutes: int, count: int) -> None:
    """B-57: Monday to Friday, UTC, same time of day; from a weekend they start on Monday, 00:00."""
    start = day = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=minutes)
    while day.weekday() >= 5:
        day = (day + timedelta(days=1)).replace(hour=0, minute=0)
    for _ in range(count):
        day += timedelta(days=3 if day.weekday() == 4 else 1)
    assert calendar.business_days_after(calendar.stamp(start), count) == calendar.stamp(day)


# -- how much, and of what


def test_partial_refunds_accumulate_up_to_the_amount(sandbox: Sandbox) -> None:
    """Rule 2; B-57: pending, processing, succeeded ones count; too much is 400, also of nothing."""
    deposit = sandbox.deposit(sandbox.method(**MOBILE))
    refund_of(sandbox, deposit, amount=2000)
    sandbox.advance("24h")
    refund_of(sandbox, deposit, amount=2000)
    error = rejected(sandbox, deposit, 400, "refund_amount_exceeds_available", amount=1001)
    assert (error["type"], error["param"]) == ("validation_error", "amount")
    last = refund_of(sandbox, deposit)
    assert (last["amount"], last["reason"], last["description"]) == (1000, None, None)
    rejected(sandbox, deposit, 409, "transaction_not_refundable")
    rejected(sandbox, deposit, 400, "refund_amount_exceeds_available", amount=1)
    sandbox.answer(last, "failed")
    assert refund_of(sandbox, deposit)["amount"] == 1000


def test_the_limit_holds_under_concurrency(sandbox: Sandbox) -> None:
    """Limits: the sum of refunds on a transaction cannot exceed its amount."""
    deposit = sandbox.deposit(amount=1000)
    body = {"transaction": deposit["id"], "amount": 300}
    with ThreadPoolExecutor(10) as pool:
        answers = list(
            pool.map(lambda _: sandbox.api.request("POST", "/refunds/", json=body), range(10))
        )
    assert sorted(item.status_code for item in answers) == [201] * 3 + [400] * 7


def test_the_transaction_becomes_refunded_only_when_whole(sandbox: Sandbox) -> None:
    """B-57: a ``refund`` transaction each, ``amount_refunded``, ``total_spent``, then ``refunded``.

    ⚙ ``refund_timing: instant``: the 201 body says ``processing`` nevertheless.
    """
    sandbox.settings(refund_timing="instant", commission_rate=1)
    customer = sandbox.customer()
    deposit = sandbox.deposit(sandbox.method(customer))
    standing = []
    for amount in (1000, 4000):
        with sandbox.expect("refund.succeeded"):
            refund = refund_of(sandbox, deposit, amount=amount, metadata={"part": amount})
        assert (refund["status"], sandbox.status(refund)) == ("processing", "succeeded")
        now = sandbox.shown(deposit)
        person = sandbox.shown(customer)
        standing.append(
            (
                now["status"],
                now["amount_refunded"],
                person["total_spent"],
                person["transactions_count"],
            )
        )
        assert (now["fee"], now["net_amount"]) == (deposit["fee"], deposit["net_amount"])
        back = sandbox.api.get("/transactions/", type="refund")["data"][0]
        assert (back["amount"], back["net_amount"], back["amount_refunded"]) == (amount, amount, 0)
        assert (back["fee"], back["fee_rate"], back["commission"], back["commission_rate"]) == (
            0,
            0,
            0,
            0,
        )
        assert (back["status"], back["processed_at"]) == ("completed", sandbox.now)
        assert (back["description"], back["metadata"]) == (
            f"Refund {refund['id']}",
            {"part": amount},
        )
        for name in ("customer", "payment_intent", "payment_method_type", "operator", "currency"):
            assert back[name] == deposit[name]
    assert standing == [("completed", 1000, 4000, 1), ("refunded", 5000, 0, 1)]


def test_only_a_completed_deposit_may_be_refunded(sandbox: Sandbox) -> None:
    """Rule 1; neither what is pending, approved, disputed or refunded, nor a refund itself."""
    sandbox.settings(refund_timing="instant")
    pending = sandbox.deposit(sandbox.method(type="bank_transfer", iban=IBAN))
    approved, disputed = (
        sandbox.deposit(sandbox.method(number=f"4000 0000 0000 {end}")) for end in ("0077", "0259")
    )
    whole = sandbox.deposit()
    refund_of(sandbox, whole)
    back = sandbox.api.get("/transactions/", type="refund")["data"][0]
    sandbox.control.patch(f"/objects/{disputed['id']}", {"status": "disputed"})
    for transaction in (pending, approved, disputed, whole, back):
        assert (
            rejected(sandbox, transaction, 409, "transaction_not_refundable", amount=1)["type"]
            == "conflict_error"
        )
    assert sandbox.api.get("/refunds/")["pagination"]["count"] == 1


def test_a_disputed_transaction_that_is_refunded_in_full_is_refunded(sandbox: Sandbox) -> None:
    """B-57: a full refund makes a `disputed` one `refunded`; a partial one leaves it as it is."""
    deposits = [sandbox.deposit(sandbox.method(number="4000 0000 0000 0259")) for _ in range(2)]
    refund_of(sandbox, deposits[0])
    refund_of(sandbox, deposits[1], amount=100)
    for span, events, expected in (
        ("1d", 0, ["disputed", "disputed"]),
        ("20d", 2, ["refunded", "disputed"]),
    ):
        with sandbox.expect(*["refund.succeeded"] * events):
            sandbox.advance(span)
        assert [sandbox.status(deposit) for deposit in deposits] == expected


# -- review, and every state and every action


def test_a_reviewed_refund_is_pending_for_an_hour(sandbox: Sandbox) -> None:
    """⚙ ``refund_review``; the operator's delay counts from ``processing``.

    Till then it can be canceled, after which nothing more happens and the rest is free again.
    """
    sandbox.settings(refund_review=True)
    deposit = sandbox.deposit(sandbox.method(**MOBILE))
    refund, other = refund_of(sandbox, deposit, amount=3000), refund_of(sandbox, deposit)
    assert refund["status"] == "pending"
    rejected(sandbox, deposit, 409, "transaction_not_refundable")
    sandbox.advance_to("2026-01-01T00:59:59.999Z")
    with sandbox.expect():
        assert sandbox.act(other, "cancel")["status"] == "cancelled"
    assert sandbox.status(refund) == "pending"
    sandbox.advance("1s")
    assert sandbox.status(refund) == "processing"
    with sandbox.expect("refund.succeeded"):
        sandbox.advance("40d")
    assert sandbox.shown(refund)["refunded_at"] == "2026-01-02T01:00:00.000Z"
    assert sandbox.status(other) == "cancelled"
    assert refund_of(sandbox, deposit)["amount"] == 2000


def test_an_unanswered_refund_expires_so_long_after_its_review(sandbox: Sandbox) -> None:
    """B-57: ⚙ ``refund_expiry_days`` count from ``processing``."""
    sandbox.settings(refund_review=True, refund_expiry_days=1)
    deposit = sandbox.deposit(sandbox.method(type="mobile_money", phone="+24177000009"))
    refund = refund_of(sandbox, deposit)
    sandbox.advance_to("2026-01-02T00:59:59.999Z")
    assert sandbox.status(refund) == "processing"
    sandbox.advance_to("2026-01-02T01:00:00Z")
    assert sandbox.status(refund) == "expired"


def state(sandbox: Sandbox, wanted: str) -> Any:
    """Return a refund in this state."""
    sandbox.settings(refund_review=wanted in ("pending", "cancelled"))
    phone = "+24177000009" if wanted == "expired" else MOBILE["phone"]
    refund = refund_of(sandbox, sandbox.deposit(sandbox.method(type="mobile_money", phone=phone)))
    if wanted == "cancelled":
        sandbox.act(refund, "cancel")
    elif wanted == "expired":
        sandbox.advance("30d")
    elif wanted in ("succeeded", "failed"):
        sandbox.answer(refund, wanted)
    return sandbox.shown(refund)


@pytest.mark.parametrize(
    "wanted", ["pending", "processing", "succeeded", "failed", "cancelled", "expired"]
)
def test_each_action_in_each_state_works_or_is_rejected(sandbox: Sandbox, wanted: str) -> None:
    """An answer takes the place of the one that was to come; a success has no code."""
    for client, action, from_state in (
        (sandbox.control, "answer", "processing"),
        (sandbox.api, "cancel/", "pending"),
    ):
        refund = state(sandbox, wanted)
        assert refund["status"] == wanted
        path, code = f"{path_of(refund)}/{action}", "MOBILE_MONEY_LIMIT_REACHED"
        body = {} if from_state == "pending" else {"result": "failed", "code": code}
        if wanted != from_state:
            with sandbox.expect():
                client.rejected("POST", path, 422, "INVALID_STATUS_TRANSITION", json=body)
                assert sandbox.shown(refund) == refund
        elif from_state == "pending":
            assert client.post(path)["status"] == "cancelled"
        else:
            wrong = body | {"result": "succeeded"}
            assert (
                client.rejected("POST", path, 422, "INVALID_FIELD", json=wrong)["param"] == "code"
            )
            with sandbox.expect("refund.failed"):
                answered = client.post(path, body)
                sandbox.advance("40d")
            assert (answered["status"], answered["failure_reason"]) == ("failed", code)
