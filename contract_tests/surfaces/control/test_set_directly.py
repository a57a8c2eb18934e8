"""What a tester sets directly has an account of its own: the ledger adds up whatever was set, and before and after."""

from __future__ import annotations

import inspect
import re
from collections import Counter
from typing import Any

import pytest

from contract_tests.support.sandbox import Sandbox
from contract_tests.surfaces.console.visitor import visiting
from emulator.document import bundles
from emulator.resources import ledger

CARD = {"type": "bank_card", "number": "4242424242424242", "exp_month": 12, "exp_year": 2030, "cvc": "123"}

Shop = dict[str, str]
"""The ids of the objects of a shop, by what they are."""

SETTINGS: list[tuple[str, dict[str, Any]]] = [
    ("deposit", {"amount": 99}),
    ("deposit", {"amount": 99999999}),
    ("deposit", {"fee": 0}),
    ("deposit", {"fee": 5000}),
    ("deposit", {"net_amount": 1}),
    ("deposit", {"commission": 700}),
    ("deposit", {"amount_refunded": 4000}),
    ("deposit", {"amount": 99, "net_amount": 99, "fee": 0}),
    ("deposit", {"currency": "EUR"}),
    ("deposit", {"currency": "EUR", "amount": 1}),
    ("deposit", {"type": "refund"}),
    ("deposit", {"type": "payout"}),
    ("deposit", {"status": "failed"}),
    ("deposit", {"status": "pending"}),
    ("deposit", {"status": "disputed", "amount": 1}),
    ("deposit", {"customer": None}),
    ("returned", {"amount": 1}),
    ("returned", {"currency": "XOF"}),
    ("returned", {"type": "deposit"}),
    ("waiting", {"amount": 1}),
    ("waiting", {"net_amount": 1, "status": "completed"}),
    ("refund", {"amount": 4000}),
    ("refund", {"status": "failed"}),
    ("paid", {"amount_paid": 1}),
    ("paid", {"status": "open"}),
    ("paid by hand", {"amount_paid": 1}),
    ("paid by hand", {"currency": "EUR"}),
    ("open", {"amount_paid": 500}),
    ("intent", {"amount_received": 1}),
    ("session", {"amount_total": 1}),
    ("customer", {"total_spent": 700}),
    ("customer", {"currency": "EUR"}),
]


def invoice(sandbox: Sandbox, customer: str) -> str:
    line = {"description": "Basket", "quantity": 1, "unit_amount": 5000}
    id: str = sandbox.api.post("/invoices/", {"customer": customer, "line_items": [line]})["id"]
    sandbox.api.post(f"/invoices/{id}/finalize/")
    return id


@pytest.fixture
def shop(sandbox: Sandbox) -> Shop:
    """Invoices paid by card, manually and not at all, a paid session, a refund, and a payment that settles later."""
    sandbox.settings(refund_timing="instant")
    customer = sandbox.customer()["id"]
    paid, by_hand, still_open = (invoice(sandbox, customer) for _ in range(3))
    intent = sandbox.buy({"id": paid, "object": "invoice"}, CARD)
    sandbox.api.post(f"/invoices/{by_hand}/pay/")
    session = sandbox.session()
    sandbox.buy(session, CARD)
    refund = sandbox.api.post("/refunds/", {"transaction": intent["transaction"], "amount": 1000})
    (returned,) = sandbox.api.get("/transactions/", type="refund")["data"]
    waiting = sandbox.buy(sandbox.session(), {**CARD, "number": "4000000000000077"})
    return {
        "customer": customer,
        "paid": paid,
        "paid by hand": by_hand,
        "open": still_open,
        "intent": intent["id"],
        "deposit": intent["transaction"],
        "session": session["id"],
        "refund": refund["id"],
        "returned": returned["id"],
        "waiting": waiting["transaction"],
    }


def posted(sandbox: Sandbox) -> Counter[tuple[str, str]]:
    """What the entries of the books come to, by account and currency."""
    sums: Counter[tuple[str, str]] = Counter()
    page = 1
    while True:
        found = sandbox.control.get("/ledger", page=page, page_size=100)["entries"]
        for each in found["data"]:
            if each["account"] in ledger.BOOKS:
                sums[each["account"], each["currency"]] += each["amount"]
        if found["pagination"]["next"] is None:
            return sums
        page += 1


def books(sandbox: Sandbox) -> dict[tuple[str, str], int]:
    ledger = sandbox.control.get("/ledger")
    totals = {(each["account"], each["currency"]): each["amount"] for each in ledger["totals"]}
    for currency in {currency for _, currency in totals}:
        assert sum(amount for (_, in_), amount in totals.items() if in_ == currency) == 0, totals
    assert ledger["balanced"] is True, ledger["broken_by"]
    return totals


@pytest.mark.parametrize(("kind", "fields"), SETTINGS, ids=str)
def test_the_ledger_adds_up_whatever_was_set(sandbox: Sandbox, shop: Shop, kind: str, fields: dict[str, Any]) -> None:
    """The totals are those of the objects and of the entries alike; so they stay while the world goes on."""
    before = books(sandbox)
    assert not {account for account, _ in before} & {"set_directly"}
    sandbox.control.post("/snapshots", {"name": "before"})
    sandbox.control.patch(f"/objects/{shop[kind]}", fields)
    for step in ("now", "refunded", "later"):
        if step == "refunded":
            sandbox.api.request("POST", "/refunds/", json={"transaction": shop["deposit"], "amount": 200})
            sandbox.control.request("POST", f"/invoices/{shop['open']}/pay", json={"method": CARD})
        if step == "later":
            assert sandbox.advance("40d")["failures"] == []
        after = books(sandbox)
        sums = posted(sandbox)
        assert {key: n for key, n in after.items() if n} == {key: n for key, n in sums.items() if n}, step
    sandbox.control.post("/snapshots/before/restore")
    assert books(sandbox) == before


def test_what_was_set_is_on_its_account_with_the_request_that_set_it(sandbox: Sandbox, shop: Shop) -> None:
    sandbox.control.patch(f"/objects/{shop['deposit']}", {"amount": 99})
    assert books(sandbox)["set_directly", "XAF"] == 99 - 5000
    newest = sandbox.control.get("/ledger", object=shop["deposit"])["entries"]["data"][:2]
    assert {each["account"]: each["amount"] for each in newest} == {"buyers": 5000 - 99, "set_directly": 99 - 5000}
    assert {each["cause"]["summary"] for each in newest} == {f"PATCH /_emulator/objects/{shop['deposit']}"}


def test_it_stays_through_restore_and_import_and_a_rewind_takes_it_back(
    sandbox: Sandbox, other_world: Sandbox, shop: Shop
) -> None:
    before = books(sandbox)
    sandbox.control.patch(f"/objects/{shop['deposit']}", {"net_amount": 1})
    after = books(sandbox)
    assert after["set_directly", "XAF"] > 0
    sandbox.control.post("/snapshots", {"name": "set"})
    exported = sandbox.control.get("/snapshots/set")
    other_world.control.request("PUT", "/snapshots/set", json=exported).raise_for_status()
    for world in (sandbox, other_world):
        world.advance("1d")
        world.control.post("/snapshots/set/restore")
        assert books(world) == after
        world.control.patch(f"/objects/{shop['deposit']}", {"net_amount": 2})
        world.control.post("/rewind", {"steps": 1})
        assert books(world) == after
    assert before != after


def test_the_console_shows_it(sandbox: Sandbox, shop: Shop) -> None:
    sandbox.control.patch(f"/objects/{shop['deposit']}", {"amount": 99})
    with visiting(sandbox) as visitor:
        page, french = visitor.open("ledger"), visitor.open("ledger", lang="fr")
    assert "Set directly" in page.text
    assert "−4,901 XAF" in page.text.replace("\N{NO-BREAK SPACE}", " ")
    assert "Modifié directement" in french.text
    assert page.said("balanced") == "Balanced"


def test_every_account_has_a_title_and_the_books_are_documented() -> None:
    posted = set(re.findall(r'sums\["([\w ]+)"', inspect.getsource(ledger)))
    assert posted == set(ledger.ACCOUNTS)
    schema = bundles.load("control")["components"]["schemas"]["LedgerTotal"]
    assert schema["properties"]["account"]["enum"] == [*ledger.BOOKS]
