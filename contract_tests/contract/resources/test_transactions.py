"""Transactions: fees, life, lists and the two fields that can be edited (Transactions section, B-30, B-56)."""

from __future__ import annotations

from typing import Any

import pytest

from contract_tests.support.sandbox import Sandbox

IBAN = "FR14 2004 1010 0505 0001 3M02 606"


@pytest.mark.parametrize(
    ("plan", "rate", "amount", "fee"),
    [
        ("starter", 3.5, 100, 4),
        ("growth", 2.9, 1050, 30),
        ("growth", 2.9, 500, 15),
        ("growth", 2.9, 499, 14),
        ("business", 2.4, 5000, 120),
        ("enterprise", 1.9, 5000, 95),
    ],
)
def test_the_fee_follows_the_pricing_plan_rounded_half_up(
    sandbox: Sandbox, plan: str, rate: float, amount: int, fee: int
) -> None:
    """B-23, B-56: 3.5 % of 100 is 3.5, so 4; 2.9 % of 500 is 14.5, so 15."""
    sandbox.settings(pricing_plan=plan)
    deposit = sandbox.deposit(amount=amount)
    assert (deposit["fee_rate"], deposit["fee"], deposit["net_amount"]) == (rate, fee, amount - fee)
    assert (deposit["commission_rate"], deposit["commission"]) == (0, 0)


def test_the_commission_is_the_partners(sandbox: Sandbox) -> None:
    """B-56: ``net_amount = amount − fee − commission``."""
    sandbox.settings(commission_rate=1.5)
    deposit = sandbox.deposit(amount=1100)
    assert (deposit["fee"], deposit["commission"], deposit["net_amount"]) == (32, 17, 1051)


@pytest.mark.parametrize(
    ("type", "fields", "operator"),
    [
        ("bank_card", {"number": "5555555555554444"}, "mastercard"),
        ("mobile_money", {"phone": "+24177123456"}, "Airtel"),
        ("paypal", {"email": "awa@example.com"}, None),
    ],
    ids=str,
)
def test_the_operator_follows_the_prefix_or_the_brand(
    sandbox: Sandbox, type: str, fields: Any, operator: str | None
) -> None:
    """B-56."""
    deposit = sandbox.deposit(sandbox.method(type=type, **fields))
    assert (deposit["payment_method_type"], deposit["operator"]) == (type, operator)


# -- life


def test_a_card_may_settle_later(sandbox: Sandbox) -> None:
    """States: ``approved``, then ``completed`` after settlement; only then the customer's totals count it (B-30)."""
    customer = sandbox.customer()
    with sandbox.expect("payment_intent.succeeded"):
        intent = sandbox.pay(sandbox.method(customer, number="4000 0000 0000 0077"))
    approved = sandbox.api.get(f"/transactions/{intent['transaction']}/")
    assert (approved["status"], approved["processed_at"]) == ("approved", None)
    body = {"transaction": approved["id"]}
    sandbox.api.rejected("POST", "/refunds/", 409, "transaction_not_refundable", json=body)
    assert sandbox.api.get(f"/customers/{customer['id']}/")["transactions_count"] == 0
    with sandbox.expect("transaction.succeeded"):
        sandbox.advance("1d")
    assert sandbox.api.get(f"/transactions/{approved['id']}/")["processed_at"] == sandbox.now
    assert sandbox.api.get(f"/customers/{customer['id']}/")["transactions_count"] == 1


def test_a_disputed_deposit_still_counts(sandbox: Sandbox) -> None:
    """B-56, B-95; and it cannot be refunded."""
    customer = sandbox.customer()
    deposit = sandbox.deposit(sandbox.method(customer, number="4000 0000 0000 0259"))
    sandbox.advance("1d")
    assert sandbox.api.get(f"/transactions/{deposit['id']}/")["status"] == "disputed"
    totals = sandbox.api.get(f"/customers/{customer['id']}/")
    assert (totals["transactions_count"], totals["total_spent"]) == (1, 5000)
    body = {"transaction": deposit["id"]}
    sandbox.api.rejected("POST", "/refunds/", 409, "transaction_not_refundable", json=body)


def test_what_went_back_whole_is_not_disputed_any_more(sandbox: Sandbox) -> None:
    sandbox.settings(refund_timing="instant")
    deposit = sandbox.deposit(sandbox.method(number="4000 0000 0000 0259"))
    sandbox.api.post("/refunds/", {"transaction": deposit["id"]})
    sandbox.advance("2d")
    assert sandbox.api.get(f"/transactions/{deposit['id']}/")["status"] == "refunded"


def test_a_pending_one_can_be_canceled_and_its_payment_fails(sandbox: Sandbox) -> None:
    """B-56."""
    intent = sandbox.pay(sandbox.method(type="bank_transfer", iban=IBAN))
    with sandbox.expect("payment_intent.failed"):
        canceled = sandbox.api.post(f"/transactions/{intent['transaction']}/cancel/")
        sandbox.advance("2d")
    assert (canceled["status"], canceled["processed_at"]) == ("canceled", None)
    failed = sandbox.api.get(f"/payment-intents/{intent['id']}/")
    assert (failed["status"], failed["last_error"]["code"]) == ("canceled", "INSUFFICIENT_FUNDS")
    assert failed["transaction"] == canceled["id"]


@pytest.mark.parametrize("number", ["4242424242424242", "4000000000000077"])
def test_only_a_pending_one_can_be_canceled(sandbox: Sandbox, number: str) -> None:
    deposit = sandbox.deposit(sandbox.method(number=number))
    with sandbox.expect():
        sandbox.api.rejected("POST", f"/transactions/{deposit['id']}/cancel/", 422, "INVALID_STATUS_TRANSITION")
    assert sandbox.api.get(f"/transactions/{deposit['id']}/") == deposit


# -- lists


def test_the_list_is_filtered_by_the_customers_email_too(sandbox: Sandbox) -> None:
    """List query parameters of transactions: an id or an email, letter case aside; an unknown one matches nothing."""
    awa, ben = sandbox.customer(email="Awa@example.com"), sandbox.customer()
    deposit, _ = (sandbox.deposit(sandbox.method(each)) for each in (awa, ben))
    for customer, found in ((awa["id"], [deposit]), ("AWA@example.COM", [deposit]), ("a@example.com", []), ("x", [])):
        assert sandbox.api.get("/transactions/", customer=customer)["data"] == found


# -- receipts


def test_each_completed_deposit_has_a_receipt(sandbox: Sandbox) -> None:
    """B-53: made with it, numbered, and none for what is pending, failed or a refund."""
    sandbox.settings(refund_timing="instant")
    customer = sandbox.customer()
    deposit = sandbox.deposit(sandbox.method(customer))
    sandbox.pay(sandbox.method(customer, number="4000000000000002"))
    sandbox.pay(sandbox.method(customer, "bank_transfer", iban=IBAN))
    sandbox.api.post("/refunds/", {"transaction": deposit["id"], "amount": 1000})
    (receipt,) = sandbox.api.get("/receipts/")["data"]
    assert (receipt["transaction"], receipt["amount"], receipt["currency"]) == (deposit["id"], 5000, "XAF")
    assert (receipt["customer"], receipt["customer_email"]) == (customer["id"], customer["email"])
    assert (receipt["number"], receipt["created_at"]) == ("RCPT-2026-000001", deposit["processed_at"])
    assert receipt["url"] == f"{sandbox.url}/receipt/{receipt['id']}"
    assert sandbox.api.get(f"/receipts/{receipt['id']}/") == receipt
    sandbox.advance("1d")
    newest = sandbox.api.get("/receipts/")["data"][0]
    assert (newest["number"], newest["created_at"]) == ("RCPT-2026-000002", sandbox.now)
