"""The ledger: each unit of work adds up, and one that does not is undone, or noted where the server is not strict."""

from __future__ import annotations

from typing import Any

import pytest

from contract_tests.support.rules_harness import RulesHarness
from emulator.core.records import Record
from emulator.core.unit_of_work import Change, UnitOfWork
from emulator.core.world import World
from emulator.resources import ledger
from emulator.resources.billing.invoices import Invoice
from emulator.resources.checkout import hosted_payments
from emulator.resources.customers.customer_records import Customer
from emulator.resources.ledger import Imbalance
from emulator.resources.payments.payment_intents import PaymentIntent
from emulator.resources.payments.transactions import Transaction
from emulator.resources.registry import OPERATIONS

PARTIES = (Transaction, PaymentIntent, Customer, Invoice)
"""The records of a payment that have an amount."""

CARD = {"method": {"type": "bank_card", "number": "4242424242424242", "exp_month": 12, "exp_year": 2030, "cvc": "123"}}


@pytest.fixture
def harness() -> RulesHarness:
    """A world whose operator confirms refunds at once, with a commission beside the fee."""
    return RulesHarness(refund_timing="instant", commission_rate=1)


def invoice(harness: RulesHarness) -> Invoice:
    """Return an open invoice of 5000 XAF."""
    customer = harness.do("createCustomer", email="awa@example.com", name="Awa Diop")
    line = {"description": "Basket", "quantity": 1, "unit_amount": 5000}
    draft = harness.do("createInvoice", customer=customer.id, line_items=[line])
    harness.do("finalizeInvoice", draft.id)
    return harness.world.require(Invoice, draft.id)


def change(harness: RulesHarness, record: Any, **fields: Any) -> None:
    """Set fields of a record as a mistaken rule would."""
    harness.run(lambda world: world.replace(record, **fields))


def books(harness: RulesHarness) -> dict[str, int]:
    """What stands on the books in XAF."""
    return {
        account: amount for (account, currency), amount in ledger.totals(harness.world).items() if currency == "XAF"
    }


def test_a_payment_moves_money_from_the_buyers_to_merchant_fees_and_commissions(harness: RulesHarness) -> None:
    harness.run(hosted_payments.pay_invoice, id=invoice(harness).id, payment=CARD)
    assert books(harness) == {"buyers": -5000, "merchant": 4805, "fees": 145, "commissions": 50}


def test_a_refund_returns_it_and_the_fees_stay(harness: RulesHarness) -> None:
    harness.run(hosted_payments.pay_invoice, id=invoice(harness).id, payment=CARD)
    (deposit,) = harness.world.table(Transaction)
    harness.do("createRefund", transaction=deposit.id, amount=2000)
    assert books(harness) == {"buyers": -3000, "merchant": 2805, "fees": 145, "commissions": 50}


def test_an_invoice_paid_manually_has_an_account_of_its_own(harness: RulesHarness) -> None:
    harness.do("payInvoice", invoice(harness).id)
    assert books(harness) == {"buyers": -5000, "paid manually": 5000}


def changed(change: Change) -> dict[str, Any]:
    """Return the fields that a change set, and their values."""
    values = {name: getattr(change.new, name) for name in change.new.__struct_fields__}
    return {name: value for name, value in values.items() if getattr(change.old, name, None) != value}


@pytest.mark.parametrize(
    ("kind", "field", "added", "account"),
    [
        (Transaction, "net_amount", 100, "books"),
        (Transaction, "fee", 1, "books"),
        (Transaction, "commission", 1, "books"),
        (PaymentIntent, "amount_received", 1, "payments"),
        (Customer, "total_spent", 1, "spending"),
        (Invoice, "amount_paid", -1, "payments"),
        (Invoice, "amount_paid", 1, "payments"),
    ],
)
def test_a_payment_with_a_wrong_amount_in_one_record_is_undone(
    harness: RulesHarness, kind: type[Record], field: str, added: int, account: str
) -> None:
    """The changes of a payment, made again in another world; 100 is twice the commission of one per cent."""
    units: list[UnitOfWork] = []
    harness.observers.append(lambda _, unit: units.append(unit))
    harness.run(hosted_payments.pay_invoice, id=invoice(harness).id, payment=CARD)
    changes = [each for each in units[-1].changes if isinstance(each.new, PARTIES)]
    last = max(index for index, each in enumerate(changes) if type(each.new) is kind)

    def pay(world: World, *, wrongly: bool) -> None:
        for index, each in enumerate(changes):
            fields = changed(each)
            if wrongly and index == last:
                fields[field] = getattr(each.new, field) + added
            if each.old is None:
                world.add(each.new)
            else:
                world.replace(world.require(type(each.new), each.new.id), **fields)

    again = RulesHarness(commission_rate=1)
    unpaid = invoice(again)
    with pytest.raises(Imbalance, match=rf"{account} of \w+ by -?{abs(added)} XAF"):
        again.run(pay, wrongly=True)
    assert again.world.require(Invoice, unpaid.id) == unpaid
    again.run(pay, wrongly=False)
    assert again.world.require(Invoice, unpaid.id).amount_paid == 5000


def test_a_refunded_amount_needs_a_refund(harness: RulesHarness) -> None:
    harness.run(hosted_payments.pay_invoice, id=invoice(harness).id, payment=CARD)
    (deposit,) = harness.world.table(Transaction)
    customer = harness.world.require(Customer, deposit.customer)

    def forget_the_refund(world: World) -> None:
        world.replace(deposit, amount_refunded=10)
        world.replace(customer, total_spent=customer.total_spent - 10)

    with pytest.raises(Imbalance, match=rf"refunds of {deposit.id} by -10 XAF"):
        harness.run(forget_the_refund)


def test_an_invoice_is_not_paid_without_money(harness: RulesHarness) -> None:
    unpaid = invoice(harness)
    with pytest.raises(Imbalance, match=rf"payments of {unpaid.id} by -5000 XAF"):
        change(harness, unpaid, status="paid", amount_paid=5000)


def test_an_invoice_gives_no_money_back(harness: RulesHarness) -> None:
    harness.run(hosted_payments.pay_invoice, id=invoice(harness).id, payment=CARD)
    (paid,) = harness.world.table(Invoice)
    with pytest.raises(Imbalance, match=rf"payments of {paid.id} by 1000 XAF"):
        change(harness, paid, amount_paid=4000)


def test_a_session_is_not_complete_without_money(harness: RulesHarness) -> None:
    line = {"description": "Basket", "quantity": 1, "unit_amount": 5000}
    body = {"mode": "payment", "currency": "XAF", "expires_in": 3600, "metadata": {}, "line_items": [line]}
    session = harness.do("createCheckoutSession", **body)
    with pytest.raises(Imbalance, match=rf"payments of {session.id} by -5000 XAF"):
        change(harness, session, status="complete")


def test_a_customer_that_is_deleted_takes_its_account_along(harness: RulesHarness) -> None:
    paid = invoice(harness)
    harness.run(hosted_payments.pay_invoice, id=paid.id, payment=CARD)
    harness.do("deleteCustomer", paid.customer)
    (deposit,) = harness.world.table(Transaction)
    harness.do("createRefund", transaction=deposit.id)
    assert books(harness)["buyers"] == 0


def test_a_world_that_is_not_strict_notes_the_failure_and_goes_on(harness: RulesHarness) -> None:
    harness.world.strict = False
    customer = harness.world.require(Customer, invoice(harness).customer)
    with harness.world.unit_of_work() as unit:
        harness.world.replace(customer, total_spent=700)
    (failure,) = unit.failed_checks
    assert isinstance(failure, Imbalance)
    assert failure.posting == ("spending", customer.id, -700, "XAF")
    assert harness.world.require(Customer, customer.id).total_spent == 700


def test_entries_of_a_unit_say_which_record_each_posting_comes_from(harness: RulesHarness) -> None:
    open_invoice = invoice(harness)
    with harness.world.unit_of_work() as unit:
        OPERATIONS["payInvoice"](harness.world, open_invoice.id)
    (entry, *others) = ledger.entries(unit)
    assert (entry[0], entry[1].name, entry[1].amount) == (open_invoice.id, "buyers", -5000)
    assert [posting.name for _, posting in others] == ["paid manually"]
