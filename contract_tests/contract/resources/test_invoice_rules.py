"""Invoices: tax and email at finalization, clearing a draft, the subscription and plan they name (B-65 to B-67)."""

from __future__ import annotations

from typing import Any

import pytest

from contract_tests.support.sandbox import CARD, Sandbox
from contract_tests.surfaces.pages.buyer import buyer

LINE = {"description": "Raphia basket", "unit_amount": 5000}


def draft(sandbox: Sandbox, customer: Any = None, **fields: Any) -> Any:
    body = {"customer": (customer or sandbox.customer())["id"], "line_items": [LINE], **fields}
    return sandbox.api.post("/invoices/", body)


def finalized(sandbox: Sandbox, invoice: Any) -> Any:
    sandbox.api.post(f"/invoices/{invoice['id']}/finalize/")
    return sandbox.api.get(f"/invoices/{invoice['id']}/")


def test_finalization_takes_the_present_tax_and_email(sandbox: Sandbox) -> None:
    """B-65: "Tax is computed automatically from the App's configuration", and the email goes to the customer."""
    customer = sandbox.customer()
    invoice = draft(sandbox, customer)
    sandbox.settings(tax_rate=18)
    sandbox.api.patch(f"/customers/{customer['id']}/", {"email": "new@example.com"})
    invoice = finalized(sandbox, invoice)
    amounts = (invoice["subtotal"], invoice["tax_amount"], invoice["total"], invoice["amount_remaining"])
    assert (amounts, invoice["customer_email"]) == ((5000, 900, 5900, 5900), "new@example.com")


@pytest.mark.parametrize("change", [{}, {"line_items": [LINE, LINE]}], ids=["as it is", "new lines"])
def test_tax_is_of_what_a_discount_leaves(sandbox: Sandbox, change: Any) -> None:
    """B-65: ``tax_rate`` on subtotal less discount."""
    sandbox.settings(tax_rate=10)
    invoice = draft(sandbox)
    sandbox.control.patch(f"/objects/{invoice['id']}", {"discount_amount": 500})
    sandbox.api.patch(f"/invoices/{invoice['id']}/", change)
    invoice = finalized(sandbox, invoice)
    net = 5000 * len(invoice["line_items"]) - 500
    assert (invoice["tax_amount"], invoice["total"], invoice["amount_remaining"]) == (net // 10, *[net * 11 // 10] * 2)


@pytest.mark.parametrize("field", ["due_date", "description", "footer"])
def test_null_removes_a_field_of_a_draft(sandbox: Sandbox, field: str) -> None:
    """B-66: GET shows null for it, so PATCH takes null."""
    invoice = draft(sandbox, due_date="2026-02-01", description="Thanks", footer="Payable in cash")
    changed = sandbox.api.patch(f"/invoices/{invoice['id']}/", {field: None})
    assert changed == {**invoice, field: None}


def test_without_its_due_date_it_has_thirty_days_again(sandbox: Sandbox) -> None:
    invoice = draft(sandbox, due_date="2026-01-02")
    sandbox.api.patch(f"/invoices/{invoice['id']}/", {"due_date": None})
    assert finalized(sandbox, invoice)["due_date"] == "2026-01-31"


def test_an_invoice_shows_its_subscription_and_is_found_by_it(sandbox: Sandbox) -> None:
    """B-67."""
    subscription = sandbox.subscribe()
    other = draft(sandbox)
    [own] = sandbox.api.get("/invoices/", subscription=subscription["id"])["data"]
    assert (own["subscription"], other["subscription"]) == (subscription["id"], None)
    assert sandbox.api.get("/invoices/", subscription="sub_none")["data"] == []


@pytest.mark.parametrize("method", ["charge_automatically", "send_invoice"])
@pytest.mark.parametrize("with_product", [True, False])
def test_the_plan_is_named_in_every_renewals_email_and_on_its_page(
    sandbox: Sandbox, method: str, with_product: bool
) -> None:
    """SubscriptionPlan ``name``: "Shown to customers on payment pages, invoices and renewal emails"."""
    plan = sandbox.plan(name="Gold membership")
    product = {"product": sandbox.product(name="Raphia club")["id"]} if with_product else {}
    sandbox.subscribe(plan=plan["id"], collection_method=method, **product)
    sandbox.advance("31d")
    names = ["Gold membership", *(["Raphia club"] if with_product else [])]
    emails = sandbox.control.get("/emails")["data"]
    assert {each["kind"] for each in emails} == {"receipt" if method == "charge_automatically" else "invoice"}
    for email in emails:
        read = sandbox.control.request("GET", f"/emails/{email['id']}/html").text
        assert all(name in read for name in names)
    if method == "send_invoice":
        with buyer(sandbox, sandbox.api.get("/invoices/")["data"][0]) as awa:
            page = awa.open()
        assert all(name in page.text for name in names)


def test_total_spent_is_in_the_customers_currency_alone(sandbox: Sandbox) -> None:
    """B-30: deposits in another currency are counted, not summed; so are their refunds."""
    customer = sandbox.customer()
    method = sandbox.method(customer)
    for currency in ("XAF", "EUR"):
        sandbox.pay(method, customer=customer["id"], amount=1000, currency=currency)
    now = sandbox.api.get(f"/customers/{customer['id']}/")
    assert (now["total_spent"], now["currency"], now["transactions_count"]) == (1000, "XAF", 2)
    sandbox.settings(refund_timing="instant")
    for deposit in sandbox.api.get("/transactions/")["data"]:
        sandbox.api.post("/refunds/", {"transaction": deposit["id"], "amount": 400})
    assert sandbox.api.get(f"/customers/{customer['id']}/")["total_spent"] == 600


def test_a_payment_in_progress_loses_its_deleted_customer_altogether(sandbox: Sandbox) -> None:
    """Customers, DELETE: payments in progress "lose the customer reference"; their pending transactions as well."""
    customer = sandbox.customer()
    transfer = {"type": "bank_transfer", "iban": "FR14 2004 1010 0505 0001 3M02 606"}
    sandbox.buy(sandbox.session(customer=customer["id"]), transfer)
    paid = sandbox.buy(sandbox.session(customer=customer["id"]), CARD)
    sandbox.api.delete(f"/customers/{customer['id']}/")
    of = {each["id"]: each["customer"] for each in sandbox.api.get("/transactions/")["data"]}
    assert sorted(of.values(), key=str) == [None, customer["id"]]
    assert of[paid["transaction"]] == customer["id"]


# -- from an invoice to its money (B-60)


def test_a_renewal_is_refunded_by_way_of_its_invoice(sandbox: Sandbox) -> None:
    """B-60: a paid invoice shows its payment intent and its transaction, also in the event."""
    subscription = sandbox.subscribe()
    [renewal] = sandbox.api.get("/invoices/", subscription=subscription["id"])["data"]
    intent = sandbox.api.get(f"/payment-intents/{renewal['payment_intent']}/")
    assert (intent["invoice"], intent["transaction"]) == (renewal["id"], renewal["transaction"])
    [paid] = [event for event in sandbox.events() if event["type"] == "invoice.paid"]
    assert paid["data"]["object"] == renewal
    refund = sandbox.api.post("/refunds/", {"transaction": renewal["transaction"]})
    assert refund["amount"] == renewal["total"]


def test_what_was_not_paid_by_a_payment_shows_none(sandbox: Sandbox) -> None:
    """B-60: a draft, an open invoice whose payment failed, and one that was paid manually."""
    invoice = draft(sandbox)
    open_invoice = finalized(sandbox, invoice)
    failed = sandbox.buy(open_invoice, {"type": "mobile_money", "phone": "+24177000001"})
    manual = sandbox.api.post(f"/invoices/{invoice['id']}/pay/")
    assert failed["status"] == "canceled"
    assert [(each["payment_intent"], each["transaction"]) for each in (invoice, open_invoice, manual)] == [
        (None, None)
    ] * 3


def test_the_first_invoice_of_a_session_leads_to_its_payment(sandbox: Sandbox) -> None:
    customer = sandbox.customer(phone="+24177000000")
    intent = sandbox.buy(sandbox.session(mode="subscription", customer=customer["id"]), CARD)
    [invoice] = sandbox.api.get("/invoices/")["data"]
    assert (invoice["payment_intent"], invoice["transaction"]) == (intent["id"], intent["transaction"])


def test_payment_intents_are_found_by_customer_invoice_status_and_currency(sandbox: Sandbox) -> None:
    """B-20: each attempt to pay the invoice; one that is unknown matches nothing."""
    customer, other = sandbox.customer(), sandbox.customer()
    invoice = finalized(sandbox, draft(sandbox, customer))
    for phone in ("+24177000001", "+24177000000"):
        sandbox.buy(invoice, {"type": "mobile_money", "phone": phone})
    single = sandbox.intent(customer=customer["id"])
    foreign = sandbox.intent(customer=other["id"], currency="EUR")

    def found(**query: str) -> list[str]:
        return [each["id"] for each in sandbox.api.get("/payment-intents/", **query)["data"]]

    assert found(customer=other["id"]) == [foreign["id"]]
    assert len(found(invoice=invoice["id"])) == 2
    assert set(found(customer=customer["id"])) == {*found(invoice=invoice["id"]), single["id"]}
    assert found(invoice="inv_none") == found(customer="cust_none") == []
    assert found(currency="EUR") == found(currency="EUR", customer=other["id"]) == [foreign["id"]]
    assert found(status="requires_payment_method") == [foreign["id"], single["id"]]
    assert len(found(status="canceled,succeeded", invoice=invoice["id"])) == 2
    for wrong in ({"status": "lost"}, {"currency": "XYZ"}):
        sandbox.api.rejected("GET", "/payment-intents/", 422, "INVALID_FILTER_PARAM", params=wrong)
