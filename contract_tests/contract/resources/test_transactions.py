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


# -- editing


def test_description_and_metadata_can_be_edited_and_nothing_else(sandbox: Sandbox) -> None:
    """Editable fields; metadata is merged (B-22)."""
    deposit = sandbox.deposit(metadata={"order": "7", "shop": "north"})
    path = f"/transactions/{deposit['id']}/"
    sandbox.advance("1h")
    body = {"description": "Delivered", "metadata": {"shop": None, "box": 3}}
    edited = sandbox.api.patch(path, body)
    same = {**deposit, "description": "Delivered", "metadata": {"order": "7", "box": 3}, "updated_at": sandbox.now}
    assert edited == same == sandbox.api.get(path)
    for field in ("amount", "status", "customer"):
        sandbox.api.rejected("PATCH", path, 422, "INVALID_FIELD", json={field: deposit[field]})


def test_metadata_has_fifty_keys_at_most_after_the_merge(sandbox: Sandbox) -> None:
    """B-22."""
    deposit = sandbox.deposit(metadata={"first": 1})
    path = f"/transactions/{deposit['id']}/"
    keys = {f"key{number}": number for number in range(50)}
    error = sandbox.api.rejected("PATCH", path, 422, "INVALID_FIELD", json={"metadata": keys})
    assert error["param"] == "metadata"
    assert sandbox.api.get(path) == deposit
    del keys["key0"]
    assert len(sandbox.api.patch(path, {"metadata": keys})["metadata"]) == 50


# -- lists


@pytest.fixture
def ledger(sandbox: Sandbox) -> dict[str, Any]:
    """Five transactions a day apart, by name."""
    awa, ben = sandbox.customer(email="Awa@example.com"), sandbox.customer(email="ben@example.com")
    sandbox.settings(refund_timing="instant")
    made = {"card": sandbox.deposit(sandbox.method(awa), amount=1000)}
    sandbox.advance("1d")
    made["euro"] = sandbox.deposit(sandbox.method(ben), amount=700, currency="EUR")
    sandbox.advance("1d")
    made["mobile"] = sandbox.deposit(sandbox.method(awa, "mobile_money", phone="+24177123456"), amount=3000)
    sandbox.api.post("/refunds/", {"transaction": made["mobile"]["id"]})
    made["refund"] = sandbox.api.get("/transactions/", type="refund")["data"][0]
    sandbox.advance("1d")
    made["transfer"] = sandbox.deposit(sandbox.method(ben, "bank_transfer", iban=IBAN), amount=2000)
    return {"names": {item["id"]: name for name, item in made.items()}, "awa": awa["id"], **made}


NEWEST_FIRST = ["transfer", "refund", "mobile", "euro", "card"]


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ({}, NEWEST_FIRST),
        ({"status": "pending"}, ["transfer"]),
        ({"status": "pending,refunded"}, ["transfer", "mobile"]),
        ({"type": "refund"}, ["refund"]),
        ({"type": "payout"}, []),
        ({"payment_method_type": "mobile_money"}, ["refund", "mobile"]),
        ({"payment_method_type": "bank_transfer"}, ["transfer"]),
        ({"currency": "EUR"}, ["euro"]),
        ({"customer": "AWA@example.COM"}, ["refund", "mobile", "card"]),
        ({"customer": "nobody@example.com"}, []),
        ({"customer": "cust_x"}, []),
        ({"min_amount": 2000}, ["transfer", "refund", "mobile"]),
        ({"min_amount": 2001}, ["refund", "mobile"]),
        ({"max_amount": 1000}, ["euro", "card"]),
        ({"max_amount": 999}, ["euro"]),
        ({"min_amount": 1000, "max_amount": 2000}, ["transfer", "card"]),
        ({"created_after": "2026-01-02T00:00:00Z", "created_before": "2026-01-03T00:00:00Z"}, NEWEST_FIRST[1:4]),
        ({"created_after": "2026-01-03T00:00:00.001Z"}, ["transfer"]),
        ({"ordering": "created_at"}, NEWEST_FIRST[::-1]),
        ({"ordering": "amount"}, ["euro", "card", "transfer", "mobile", "refund"]),
        ({"ordering": "-amount"}, ["refund", "mobile", "transfer", "card", "euro"]),
        ({"ordering": "net_amount"}, ["euro", "card", "transfer", "mobile", "refund"]),
        ({"ordering": "status"}, ["card", "euro", "refund", "transfer", "mobile"]),
        ({"page": 2, "page_size": 2}, ["mobile", "euro"]),
        ({"customer": "awa@example.com", "type": "deposit", "currency": "XAF", "max_amount": 1000}, ["card"]),
    ],
    ids=str,
)
def test_the_list_is_filtered_and_ordered(
    sandbox: Sandbox, ledger: dict[str, Any], query: dict[str, Any], names: list[str]
) -> None:
    """List query parameters of transactions; bounds are inclusive."""
    found = sandbox.api.get("/transactions/", **query)["data"]
    assert [ledger["names"][item["id"]] for item in found] == names


def test_the_list_is_filtered_by_customer_id(sandbox: Sandbox, ledger: dict[str, Any]) -> None:
    found = sandbox.api.get("/transactions/", customer=ledger["awa"])["data"]
    assert [ledger["names"][item["id"]] for item in found] == ["refund", "mobile", "card"]


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
    assert sandbox.api.get("/receipts/", ordering="created_at")["data"] == [receipt, newest]
    assert sandbox.api.get("/receipts/", created_before=receipt["created_at"])["data"] == [receipt]
    assert sandbox.api.get("/receipts/", transaction=receipt["transaction"])["data"] == [receipt]
    assert sandbox.api.get("/receipts/", customer=receipt["customer"])["data"] == [newest, receipt]
    for field in ("customer", "transaction"):
        assert sandbox.api.get("/receipts/", **{field: "unknown"})["data"] == []
