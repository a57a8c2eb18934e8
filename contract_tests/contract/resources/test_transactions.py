"""Transactions: fees, life, lists and receipts (Transactions section, B-30, B-53, B-56)."""

from __future__ import annotations

from typing import Any

import pytest

from contract_tests.support.sandbox import Sandbox

IBAN = "FR14 2004 1010 0505 0001 3M02 606"


def totals(sandbox: Sandbox, customer: Any) -> tuple[int, int]:
    """Return what a customer has paid: how often, and how much."""
    now = sandbox.api.get(f"/customers/{customer['id']}/")
    return now["transactions_count"], now["total_spent"]


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
    """B-23, B-56: 3.5 % of 100 is 3.5, so 4; 2.9 % of 500 is 14.5, so 15. The partners' commission goes off as well."""
    for commission_rate, commission in ((0, 0), (1.5, int(amount * 0.015 + 0.5))):
        sandbox.settings(pricing_plan=plan, commission_rate=commission_rate)
        deposit = sandbox.deposit(amount=amount)
        assert (deposit["fee_rate"], deposit["fee"]) == (rate, fee)
        assert (deposit["commission_rate"], deposit["commission"]) == (commission_rate, commission)
        assert deposit["net_amount"] == amount - fee - commission


# -- life


def test_a_card_may_settle_later(sandbox: Sandbox) -> None:
    """States: ``approved``, then ``completed`` after settlement; only then the customer's totals count it (B-30)."""
    customer = sandbox.customer()
    with sandbox.expect("payment_intent.succeeded"):
        approved = sandbox.deposit(sandbox.method(customer, number="4000 0000 0000 0077"))
    assert (approved["status"], approved["processed_at"], totals(sandbox, customer)) == ("approved", None, (0, 0))
    with sandbox.expect("transaction.succeeded"):
        sandbox.advance("1d")
    assert sandbox.api.get(f"/transactions/{approved['id']}/")["processed_at"] == sandbox.now
    assert totals(sandbox, customer) == (1, 5000)


def test_a_disputed_deposit_still_counts_unless_it_went_back_whole(sandbox: Sandbox) -> None:
    """B-56, B-95."""
    sandbox.settings(refund_timing="instant")
    customer = sandbox.customer()
    method = sandbox.method(customer, number="4000 0000 0000 0259")
    deposits = [sandbox.deposit(method) for _ in range(2)]
    sandbox.api.post("/refunds/", {"transaction": deposits[1]["id"]})
    sandbox.advance("1d")
    statuses = [sandbox.api.get(f"/transactions/{each['id']}/")["status"] for each in deposits]
    assert (statuses, totals(sandbox, customer)) == (["disputed", "refunded"], (2, 5000))


def test_only_a_pending_one_can_be_canceled_and_its_payment_fails(sandbox: Sandbox) -> None:
    """B-56."""
    intent = sandbox.pay(sandbox.method(type="bank_transfer", iban=IBAN))
    with sandbox.expect("payment_intent.failed"):
        canceled = sandbox.api.post(f"/transactions/{intent['transaction']}/cancel/")
        sandbox.advance("2d")
    assert (canceled["status"], canceled["processed_at"]) == ("canceled", None)
    failed = sandbox.api.get(f"/payment-intents/{intent['id']}/")
    assert (failed["status"], failed["last_error"]["code"]) == ("canceled", "INSUFFICIENT_FUNDS")
    assert failed["transaction"] == canceled["id"]
    for number in ("4242424242424242", "4000000000000077"):
        deposit = sandbox.deposit(sandbox.method(number=number))
        with sandbox.expect():
            sandbox.api.rejected("POST", f"/transactions/{deposit['id']}/cancel/", 422, "INVALID_STATUS_TRANSITION")
        assert sandbox.api.get(f"/transactions/{deposit['id']}/") == deposit


# -- lists and receipts


def test_the_list_is_filtered_by_the_customers_email_too(sandbox: Sandbox) -> None:
    """List query parameters of transactions: an id or an email, letter case aside; an unknown one matches nothing."""
    awa, ben = sandbox.customer(email="Awa@example.com"), sandbox.customer()
    deposit, _ = (sandbox.deposit(sandbox.method(each)) for each in (awa, ben))
    for customer, found in ((awa["id"], [deposit]), ("AWA@example.COM", [deposit]), ("a@example.com", []), ("x", [])):
        assert sandbox.api.get("/transactions/", customer=customer)["data"] == found


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
