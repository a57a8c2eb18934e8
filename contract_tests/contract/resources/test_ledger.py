"""The ledger: units of work add up; others are undone, or noted where the server is not strict."""

from __future__ import annotations

from typing import Any

import pytest

from contract_tests.support.rules_harness import RulesHarness
from emulator.core.records import Record
from emulator.core.world import World
from emulator.resources import ledger
from emulator.resources.billing.invoices import Invoice
from emulator.resources.checkout import hosted_payments
from emulator.resources.checkout.checkout_sessions import CheckoutSession
from emulator.resources.customers.customer_records import Customer
from emulator.resources.ledger import Imbalance
from emulator.resources.payments import refunds
from emulator.resources.payments.payment_intents import PaymentIntent
from emulator.resources.payments.transactions import Transaction
from emulator.resources.registry import OPERATIONS

CARD = {
    "method": {
        "type": "bank_card",
        "number": "4242424242424242",
        "exp_month": 12,
        "exp_year": 2030,
        "cvc": "123",
    }
}
DISPUTED = {"method": {**CARD["method"], "number": "4000000000000259"}}
LINE = {"description": "Basket", "quantity": 1, "unit_amount": 5000}


@pytest.fixture
def harness() -> RulesHarness:
    """A world whose operator confirms refunds at once, with a commission beside the fee."""
    return RulesHarness(refund_timing="instant", commission_rate=1)


def invoice(harness: RulesHarness) -> Invoice:
    """Return an open invoice of 5000 XAF."""
    customer = harness.do("createCustomer", email="awa@example.com", name="Awa Diop")
    draft = harness.do("createInvoice", customer=customer.id, line_items=[LINE])
    harness.do("finalizeInvoice", draft.id)
    return harness.world.require(Invoice, draft.id)


def session(harness: RulesHarness) -> CheckoutSession:
    """Return an open session of 5000 XAF."""
    body = {
        "mode": "payment",
        "currency": "XAF",
        "expires_in": 3600,
        "metadata": {},
        "line_items": [LINE],
    }
    made: CheckoutSession = harness.do("createCheckoutSession", **body)
    return made


def paid(harness: RulesHarness) -> Transaction:
    """Return the deposit of such a session."""
    harness.run(hosted_payments.pay_session, id=session(harness).id, payment=CARD)
    (deposit,) = harness.world.table(Transaction)
    return deposit


def books(harness: RulesHarness) -> dict[str, int]:
    """What stands on the books in XAF."""
    totals = ledger.totals(harness.world).items()
    return {account: amount for (account, currency), amount in totals if currency == "XAF"}


def test_a_payment_moves_money_between_accounts(harness: RulesHarness) -> None:
    paid(harness)
    assert books(harness) == {"buyers": -5000, "merchant": 4805, "fees": 145, "commissions": 50}


def test_a_refund_moves_money_back_but_the_fees(harness: RulesHarness) -> None:
    """A deleted customer takes the account along."""
    deposit = paid(harness)
    harness.do("createRefund", transaction=deposit.id, amount=2000)
    assert books(harness) == {"buyers": -3000, "merchant": 2805, "fees": 145, "commissions": 50}
    harness.do("deleteCustomer", deposit.customer)
    harness.do("createRefund", transaction=deposit.id)
    assert books(harness)["buyers"] == 0


def test_a_full_refund_leaves_the_merchant_with_the_fees(harness: RulesHarness) -> None:
    """B-56, B-57."""
    deposit = paid(harness)
    harness.do("createRefund", transaction=deposit.id)
    assert books(harness) == {"buyers": 0, "merchant": -195, "fees": 145, "commissions": 50}


def test_a_dispute_moves_no_money(harness: RulesHarness) -> None:
    """B-56: the buyer has it back once the dispute is lost. This card is disputed after a day."""
    harness.run(hosted_payments.pay_session, id=session(harness).id, payment=DISPUTED)
    before = books(harness)
    harness.advance(days=1)
    (deposit,) = harness.world.table(Transaction)
    assert deposit.status == "disputed"
    assert books(harness) == before


def test_an_invoice_paid_manually_has_an_account_of_its_own(harness: RulesHarness) -> None:
    """The entries of a unit say which record each posting comes from."""
    unpaid = invoice(harness)
    with harness.world.unit_of_work() as unit:
        OPERATIONS["payInvoice"](harness.world, unpaid.id)
    entries = [(record, posting.name, posting.amount) for record, posting in ledger.entries(unit)]
    assert entries == [(unpaid.id, "buyers", -5000), (unpaid.id, "paid manually", 5000)]
    assert books(harness) == {"buyers": -5000, "paid manually": 5000}


def undone(harness: RulesHarness, sums: str, *changes: tuple[Any, dict[str, Any]]) -> None:
    """Raise unless a wrong rule's changes are undone, with this account and amount named."""
    harness.world.strict, everything = True, harness.everything()

    def change(world: World) -> None:
        for record, fields in changes:
            world.replace(record, **fields)

    with pytest.raises(Imbalance, match=rf"{sums} XAF"):
        harness.run(change)
    assert harness.everything() == everything


def test_a_wrong_amount_in_one_record_is_undone(harness: RulesHarness) -> None:
    paid(harness)
    wrong: list[tuple[type[Record], str, int, str]] = [
        (Transaction, "net_amount", 100, "books"),
        (Transaction, "fee", 1, "books"),
        (Transaction, "commission", 1, "books"),
        (PaymentIntent, "amount_received", 1, "payments"),
        (Customer, "total_spent", 1, "spending"),
    ]
    for kind, field, added, account in wrong:
        (record,) = harness.world.table(kind)
        undone(
            harness,
            rf"{account} of \w+ by -?{added}",
            (record, {field: getattr(record, field) + added}),
        )


def test_nothing_is_paid_complete_or_refunded_without_its_money(harness: RulesHarness) -> None:
    unpaid, unfinished = invoice(harness), session(harness)
    undone(
        harness,
        f"payments of {unpaid.id} by -5000",
        (unpaid, {"status": "paid", "amount_paid": 5000}),
    )
    undone(harness, f"payments of {unfinished.id} by -5000", (unfinished, {"status": "complete"}))
    harness.world.strict = False
    deposit = paid(harness)
    customer = harness.world.require(Customer, deposit.customer)
    spent = {"total_spent": customer.total_spent - 10}
    undone(
        harness,
        f"refunds of {deposit.id} by -10",
        (deposit, {"amount_refunded": 10}),
        (customer, spent),
    )


@pytest.mark.parametrize(
    "back", [{"status": "failed"}, {"amount_refunded": 5000}], ids=["dispute", "refunds"]
)
def test_nobody_gets_more_back_than_was_paid(harness: RulesHarness, back: dict[str, Any]) -> None:
    """B-56: the buyer has all of it back already, by a lost dispute or by refunds."""
    deposit = paid(harness)
    with harness.world.unit_of_work():
        deposit = harness.world.replace(deposit, **back)
    harness.world.strict = True

    def refund_once_more(world: World) -> None:
        refund = refunds.STATE_MACHINE.create(
            world,
            "send",
            {"transaction": deposit.id, "reason": None, "description": None},
            amount=100,
            currency=deposit.currency,
            payment_method_type=deposit.payment_method_type,
        )
        refunds.answer(world, refund, None)

    with pytest.raises(Imbalance, match=f"returned of {deposit.id} by "):
        harness.run(refund_once_more)


def test_a_world_that_is_not_strict_only_notes_the_failure(harness: RulesHarness) -> None:
    customer = harness.world.require(Customer, invoice(harness).customer)
    with harness.world.unit_of_work() as unit:
        harness.world.replace(customer, total_spent=700)
    (failure,) = unit.failed_checks
    assert isinstance(failure, Imbalance)
    assert failure.posting == ("spending", customer.id, -700, "XAF")
    assert harness.world.require(Customer, customer.id).total_spent == 700
