"""The ledger over HTTP: where the money is, what posted it, and what broke the balance."""

from __future__ import annotations

from typing import Any

import pytest

from contract_tests.contract import Contract
from contract_tests.sandbox import RunningServer, Sandbox
from emulator.resources.payments import transactions

BUYER_CARD = {"type": "bank_card", "number": "4242424242424242", "exp_month": 12, "exp_year": 2030, "cvc": "123"}


def paid_invoice(sandbox: Sandbox) -> Any:
    """An invoice of 5000 XAF that its buyer paid by card."""
    line = {"description": "Basket", "quantity": 1, "unit_amount": 5000}
    invoice = sandbox.api.post("/invoices/", {"customer": sandbox.customer()["id"], "line_items": [line]})
    sandbox.api.post(f"/invoices/{invoice['id']}/finalize/")
    sandbox.buy(invoice, BUYER_CARD)
    return sandbox.api.get(f"/invoices/{invoice['id']}/")


def test_an_empty_world_is_balanced(sandbox: Sandbox) -> None:
    ledger = sandbox.control.get("/ledger")
    assert (ledger["balanced"], ledger["totals"], ledger["entries"]["data"], ledger["broken_by"]) == (True, [], [], [])


def test_what_a_buyer_paid_is_what_merchant_fees_and_commissions_got(sandbox: Sandbox) -> None:
    paid_invoice(sandbox)
    ledger = sandbox.control.get("/ledger")
    assert ledger["balanced"] is True
    assert {each["account"]: each["amount"] for each in ledger["totals"] if each["amount"]} == {
        "buyers": -5000,
        "merchant": 4855,
        "fees": 145,
    }


def test_the_entries_of_an_invoice_come_from_its_payment_and_itself(sandbox: Sandbox) -> None:
    invoice = paid_invoice(sandbox)
    entries = sandbox.control.get("/ledger", object=invoice["id"])["entries"]["data"]
    assert {(each["account"], each["amount"]) for each in entries} == {
        (f"payments of {invoice['id']}", 5000),
        (f"payments of {invoice['id']}", -5000),
    }
    request = sandbox.control.get("/requests", method="POST")["data"][0]
    assert {each["cause"]["id"] for each in entries} == {request["id"]}
    assert entries[0]["cause"]["summary"] == f"POST /_emulator/invoices/{invoice['id']}/pay"


def test_what_a_renewal_posts_is_caused_by_its_job(sandbox: Sandbox) -> None:
    sandbox.subscribe()
    sandbox.advance("31d")
    newest = sandbox.control.get("/ledger")["entries"]["data"][0]
    assert newest["cause"]["id"].startswith("job_")
    assert "subscription.renew" in newest["cause"]["summary"]


def test_entries_are_paged_and_filtered_by_currency(sandbox: Sandbox) -> None:
    paid_invoice(sandbox)
    sandbox.pay(currency="EUR")
    page = sandbox.control.get("/ledger", currency="EUR", page_size=2)
    assert {each["currency"] for each in page["entries"]["data"] + page["totals"]} == {"EUR"}
    assert len(page["entries"]["data"]) == 2
    assert "currency=EUR" in page["entries"]["pagination"]["next"]


def test_what_a_tester_sets_directly_posts_nothing(sandbox: Sandbox) -> None:
    customer = sandbox.customer()
    sandbox.control.patch(f"/objects/{customer['id']}", {"total_spent": 700})
    ledger = sandbox.control.get("/ledger")
    assert (ledger["balanced"], ledger["entries"]["data"]) == (True, [])


def wrongly_netted(real: Any) -> Any:
    """A deposit whose fee the merchant is paid as well."""

    def open_deposit(world: Any, *args: Any, **fields: Any) -> Any:
        deposit = real(world, *args, **fields)
        return world.replace(deposit, net_amount=deposit.amount)

    return open_deposit


def test_what_broke_it_is_named_with_what_touched_the_account_before(
    world_name: str, contracts: tuple[Contract, Contract], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transactions, "open_deposit", wrongly_netted(transactions.open_deposit))
    server = RunningServer(strict=False)
    try:
        with server.world(world_name, *contracts) as sandbox:
            invoice = paid_invoice(sandbox)
            ledger = sandbox.control.get("/ledger")
    finally:
        server.stop()
    (broken,) = ledger["broken_by"]
    assert ledger["balanced"] is False
    assert (broken["amount"], broken["currency"]) == (145, "XAF")
    assert broken["cause"]["summary"] == f"POST /_emulator/invoices/{invoice['id']}/pay"


def test_a_strict_server_undoes_what_does_not_add_up(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transactions, "open_deposit", wrongly_netted(transactions.open_deposit))
    intent = sandbox.intent(sandbox.method())
    response = sandbox.api.request("POST", f"/payment-intents/{intent['id']}/confirm/")
    assert response.status_code == 500
    assert sandbox.api.get(f"/payment-intents/{intent['id']}/")["status"] == "requires_confirmation"
    assert sandbox.control.get("/ledger")["balanced"] is True
