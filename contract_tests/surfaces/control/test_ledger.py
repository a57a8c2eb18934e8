"""The ledger over HTTP: where the money is, what posted it, and what broke the balance."""

from __future__ import annotations

from typing import Any

import pytest

from contract_tests.support.contract import Contract
from contract_tests.support.sandbox import RunningServer, Sandbox
from emulator.engine import journal
from emulator.resources.payments import payment_intents, transactions

BUYER_CARD = {"type": "bank_card", "number": "4242424242424242", "exp_month": 12, "exp_year": 2030, "cvc": "123"}


def paid_invoice(sandbox: Sandbox) -> Any:
    line = {"description": "Basket", "quantity": 1, "unit_amount": 5000}
    invoice = sandbox.api.post("/invoices/", {"customer": sandbox.customer()["id"], "line_items": [line]})
    sandbox.api.post(f"/invoices/{invoice['id']}/finalize/")
    sandbox.buy(invoice, BUYER_CARD)
    return sandbox.api.get(f"/invoices/{invoice['id']}/")


def test_what_a_buyer_paid_is_what_merchant_fees_and_commissions_got(sandbox: Sandbox) -> None:
    """The entries of an invoice come from its payment and itself; an empty world is balanced."""
    ledger = sandbox.control.get("/ledger")
    assert (ledger["balanced"], ledger["totals"], ledger["entries"]["data"], ledger["broken_by"]) == (True, [], [], [])
    invoice = paid_invoice(sandbox)
    ledger = sandbox.control.get("/ledger")
    assert ledger["balanced"] is True
    assert {each["account"]: each["amount"] for each in ledger["totals"] if each["amount"]} == {
        "buyers": -5000,
        "merchant": 4855,
        "fees": 145,
    }
    entries = sandbox.control.get("/ledger", object=invoice["id"])["entries"]["data"]
    own = f"payments of {invoice['id']}"
    assert {(each["account"], each["amount"]) for each in entries} == {(own, 5000), (own, -5000)}
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


def wrongly_netted(real: Any) -> Any:

    def open_deposit(world: Any, *args: Any, **fields: Any) -> Any:
        deposit = real(world, *args, **fields)
        return world.replace(deposit, net_amount=deposit.amount)

    return open_deposit


def do_not_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """No payment under way is noticed, so that an invoice can be paid twice while a card settles."""
    monkeypatch.setattr(payment_intents, "current_payment", lambda world, owner: None)


SETTLES_LATER = {**BUYER_CARD, "number": "4000000000000077"}
BY_TRANSACTION = {"assumptions": {"payment_received": "transaction"}}


def pay_twice(sandbox: Sandbox) -> tuple[str, list[int]]:
    """Return the path by which an invoice of 5000 XAF is paid, once with a card that settles later; the two statuses."""
    sandbox.control.patch("/app", {"settings": BY_TRANSACTION})
    line = {"description": "Basket", "quantity": 1, "unit_amount": 5000}
    invoice = sandbox.api.post("/invoices/", {"customer": sandbox.customer()["id"], "line_items": [line]})
    sandbox.api.post(f"/invoices/{invoice['id']}/finalize/")
    path = f"/invoices/{invoice['id']}/pay"
    payments = [sandbox.control.request("POST", path, json={"method": card}) for card in (SETTLES_LATER, BUYER_CARD)]
    return path, [payment.status_code for payment in payments]


@pytest.mark.parametrize("strict", [True, False])
def test_what_broke_it_is_named_with_the_request_before_it(
    strict: bool, world_name: str, contracts: tuple[Contract, Contract], monkeypatch: pytest.MonkeyPatch
) -> None:
    do_not_look(monkeypatch)
    with RunningServer(strict=strict) as server, server.world(world_name, *contracts) as sandbox:
        path, statuses = pay_twice(sandbox)
        sent = sandbox.control.get("/requests", method="POST", page_size=100)["data"]
        ledger = sandbox.control.get("/ledger")
    assert statuses == [200, 500 if strict else 200]
    (broken,) = ledger["broken_by"]
    assert (ledger["balanced"], broken["undone"]) == (False, strict)
    assert (broken["account"].split()[0], broken["amount"], broken["currency"]) == ("payments", 5000, "XAF")
    causes = [broken["cause"], broken["earlier"]]
    requests = [each["id"] for each in sent if each["path"] == f"/_emulator{path}"]
    assert causes == [{"id": id, "summary": f"POST /_emulator{path}"} for id in requests]


@pytest.mark.parametrize("kept", [1, 2])
def test_it_is_still_named_when_the_journal_has_dropped_the_requests(
    kept: int, world_name: str, contracts: tuple[Contract, Contract], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of one that was dropped before the second came its last event is named."""
    do_not_look(monkeypatch)
    monkeypatch.setattr(journal, "MAX_REQUESTS", kept)
    monkeypatch.setattr(journal, "MAX_UNITS", kept)
    with RunningServer(strict=False) as server, server.world(world_name, *contracts) as sandbox:
        path, _ = pay_twice(sandbox)
        for _ in range(3):
            sandbox.customer()
        (broken,) = sandbox.control.get("/ledger")["broken_by"]
    assert broken["cause"]["summary"] == f"POST /_emulator{path}"
    dropped = "no longer in the journal, which sent payment_intent.succeeded of pi_"
    assert (broken["cause"]["summary"] if kept == 2 else dropped) in broken["earlier"]["summary"]


def test_a_strict_server_undoes_what_does_not_add_up(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transactions, "open_deposit", wrongly_netted(transactions.open_deposit))
    intent = sandbox.intent(sandbox.method())
    response = sandbox.api.request("POST", f"/payment-intents/{intent['id']}/confirm/")
    assert response.status_code == 500
    assert sandbox.api.get(f"/payment-intents/{intent['id']}/")["status"] == "requires_confirmation"
    ledger = sandbox.control.get("/ledger")
    (broken,) = ledger["broken_by"]
    assert (ledger["totals"], ledger["balanced"], broken["undone"]) == ([], False, True)
    assert broken["cause"]["summary"] == f"POST /v1/payment-intents/{intent['id']}/confirm/"
    sandbox.control.post("/reset")
    ledger = sandbox.control.get("/ledger")
    assert (ledger["broken_by"], ledger["balanced"]) == ([], True)


def test_a_job_that_does_not_add_up_is_named(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    sandbox.subscribe()
    monkeypatch.setattr(transactions, "open_deposit", wrongly_netted(transactions.open_deposit))
    assert sandbox.control.post("/clock/advance", {"by": "31d"})["failures"]
    broken = sandbox.control.get("/ledger")["broken_by"][0]
    assert (broken["undone"], broken["cause"]["id"].split("_")[0]) == (True, "job")
    assert "subscription.renew" in broken["cause"]["summary"]
