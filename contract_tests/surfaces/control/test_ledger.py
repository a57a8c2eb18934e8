"""The ledger over HTTP: where the money is, what posted it, what the tester set, and what broke the balance."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from contract_tests.support.sandbox import CARD, RunningServer, Sandbox
from emulator.document import bundles
from emulator.resources import ledger
from emulator.resources.payments import payment_intents

SETTLES_LATER = {**CARD, "number": "4000000000000077"}


def test_what_a_buyer_paid_is_what_merchant_fees_and_commissions_got(sandbox: Sandbox) -> None:
    """The entries of an invoice come from its payment and itself; an empty world is balanced."""
    empty = sandbox.control.get("/ledger")
    assert (empty["balanced"], empty["totals"], empty["entries"]["data"], empty["broken_by"]) == (True, [], [], [])
    invoice = sandbox.invoice()["id"]
    sandbox.buy(sandbox.api.get(f"/invoices/{invoice}/"), CARD)
    totals = sandbox.control.get("/ledger")["totals"]
    amounts = {each["account"]: each["amount"] for each in totals if each["amount"]}
    assert amounts == {"buyers": -5000, "merchant": 4855, "fees": 145}
    entries = sandbox.control.get("/ledger", object=invoice)["entries"]["data"]
    own = f"payments of {invoice}"
    assert {(each["account"], each["amount"]) for each in entries} == {(own, 5000), (own, -5000)}
    request = sandbox.control.get("/requests", method="POST")["data"][0]["id"]
    assert entries[0]["cause"] == {"id": request, "summary": f"POST /_emulator/invoices/{invoice}/pay"}
    sandbox.subscribe()
    sandbox.advance("31d")
    cause = sandbox.control.get("/ledger")["entries"]["data"][0]["cause"]
    assert (cause["id"][:4], "subscription.renew" in cause["summary"]) == ("job_", True)
    sandbox.pay(currency="EUR")
    page = sandbox.control.get("/ledger", currency="EUR", page_size=2)
    assert {each["currency"] for each in page["entries"]["data"] + page["totals"]} == {"EUR"}
    assert (len(page["entries"]["data"]), "currency=EUR" in page["entries"]["pagination"]["next"]) == (2, True)
    schema = bundles.load("control")["components"]["schemas"]["LedgerTotal"]
    assert schema["properties"]["account"]["enum"] == [*ledger.BOOKS]


# -- what a tester sets directly has an account of its own

SET: list[tuple[str, dict[str, Any]]] = [
    ("deposit", {"amount": 99}),
    ("deposit", {"net_amount": 1}),
    ("deposit", {"amount_refunded": 4000}),
    ("deposit", {"currency": "EUR", "amount": 1}),
    ("deposit", {"type": "refund"}),
    ("deposit", {"status": "failed"}),
    ("deposit", {"status": "disputed", "amount": 1}),
    ("returned", {"currency": "XOF"}),
    ("returned", {"type": "deposit"}),
    ("waiting", {"net_amount": 1, "status": "completed"}),
    ("refund", {"status": "failed"}),
    ("paid", {"amount_paid": 1}),
    ("paid", {"status": "open"}),
    ("by hand", {"currency": "EUR"}),
    ("open", {"amount_paid": 500}),
    ("intent", {"amount_received": 1}),
    ("session", {"amount_total": 1}),
    ("customer", {"total_spent": 700}),
    ("customer", {"currency": "EUR"}),
]


@pytest.fixture
def shop(sandbox: Sandbox) -> dict[str, str]:
    """The ids of invoices paid by card, manually and not at all, a paid session, a refund, and a payment that settles later."""
    sandbox.settings(refund_timing="instant")
    customer = sandbox.customer()
    paid, by_hand, still_open = (sandbox.invoice(customer) for _ in range(3))
    intent = sandbox.buy(paid, CARD)
    sandbox.api.post(f"/invoices/{by_hand['id']}/pay/")
    sandbox.buy(session := sandbox.session(), CARD)
    refund = sandbox.api.post("/refunds/", {"transaction": intent["transaction"], "amount": 1000})
    (returned,) = sandbox.api.get("/transactions/", type="refund")["data"]
    made = {"customer": customer, "paid": paid, "by hand": by_hand, "open": still_open, "intent": intent}
    ids = {
        name: each["id"] for name, each in {**made, "session": session, "refund": refund, "returned": returned}.items()
    }
    waiting = sandbox.buy(sandbox.session(), SETTLES_LATER)["transaction"]
    return {**ids, "deposit": intent["transaction"], "waiting": waiting}


def books(sandbox: Sandbox) -> dict[tuple[str, str], int]:
    """The totals by account and currency; those of each currency sum to zero."""
    shown = sandbox.control.get("/ledger")
    totals = {(each["account"], each["currency"]): each["amount"] for each in shown["totals"] if each["amount"]}
    sums = Counter[str]()
    for (_, currency), amount in totals.items():
        sums[currency] += amount
    assert (set(sums.values()) <= {0}, shown["balanced"]) == (True, True), shown["broken_by"]
    return totals


def posted(sandbox: Sandbox) -> dict[tuple[str, str], int]:
    """What the entries of the books come to, by account and currency."""
    sums, page = Counter[tuple[str, str]](), 1
    while page:
        entries = sandbox.control.get("/ledger", page=page, page_size=100)["entries"]
        for each in entries["data"]:
            sums[each["account"], each["currency"]] += each["amount"] if each["account"] in ledger.BOOKS else 0
        page = page + 1 if entries["pagination"]["next"] else 0
    return {account: amount for account, amount in sums.items() if amount}


def test_the_ledger_adds_up_whatever_was_set(sandbox: Sandbox, shop: dict[str, str]) -> None:
    """One after the other; so it stays while the world goes on."""
    assert "set_directly" not in {account for account, _ in books(sandbox)}
    for kind, fields in SET:
        sandbox.control.patch(f"/objects/{shop[kind]}", fields)
        assert books(sandbox) == posted(sandbox), (kind, fields)
        sandbox.api.request("POST", "/refunds/", json={"transaction": shop["deposit"], "amount": 200})
        sandbox.advance("1d")
        assert books(sandbox) == posted(sandbox), (kind, fields)


def test_what_was_set_is_on_its_account_with_the_request_that_set_it(
    sandbox: Sandbox, other_world: Sandbox, shop: dict[str, str]
) -> None:
    """It stays through restore and import, and a rewind takes it back."""
    path = f"/objects/{shop['deposit']}"
    sandbox.control.patch(path, {"amount": 99})
    after = books(sandbox)
    assert after["set_directly", "XAF"] == 99 - 5000
    newest = sandbox.control.get("/ledger", object=shop["deposit"])["entries"]["data"][:2]
    assert {each["account"]: each["amount"] for each in newest} == {"buyers": 5000 - 99, "set_directly": 99 - 5000}
    assert {each["cause"]["summary"] for each in newest} == {f"PATCH /_emulator{path}"}
    sandbox.control.post("/snapshots", {"name": "set"})
    exported = sandbox.control.get("/snapshots/set")
    other_world.control.request("PUT", "/snapshots/set", json=exported).raise_for_status()
    for world in (sandbox, other_world):
        world.control.post("/snapshots/set/restore")
        assert books(world) == after
        world.control.patch(path, {"net_amount": 2})
        world.control.post("/rewind", {"steps": 1})
        assert books(world) == after


# -- what broke it


@pytest.mark.parametrize("strict", [True, False])
def test_what_broke_it_is_named_with_the_request_before_it(
    strict: bool, world_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No payment under way is noticed, so that an invoice can be paid twice while a card settles."""
    monkeypatch.setattr(payment_intents, "current_payment", lambda world, owner: None)
    with RunningServer(strict=strict) as server, server.world(world_name) as sandbox:
        sandbox.settings(assumptions={"payment_received": "transaction"})
        path = f"/invoices/{sandbox.invoice()['id']}/pay"
        payments = [sandbox.control.request("POST", path, json={"method": card}) for card in (SETTLES_LATER, CARD)]
        sent = sandbox.control.get("/requests", method="POST", page_size=100)["data"]
        found = sandbox.control.get("/ledger")
    assert [payment.status_code for payment in payments] == [200, 500 if strict else 200]
    (broken,) = found["broken_by"]
    assert (found["balanced"], broken["undone"]) == (False, strict)
    assert (broken["account"].split()[0], broken["amount"], broken["currency"]) == ("payments", 5000, "XAF")
    requests = [each["id"] for each in sent if each["path"] == f"/_emulator{path}"]
    summary = {"summary": f"POST /_emulator{path}"}
    assert [broken["cause"], broken["earlier"]] == [{"id": id, **summary} for id in requests]
