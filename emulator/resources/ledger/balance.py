"""Whether a unit of work that is about to be committed adds up."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from emulator.core.unit_of_work import CheckFailed, UnitOfWork
from emulator.core.world import World
from emulator.resources.billing.invoices import Invoice
from emulator.resources.checkout.checkout_sessions import CheckoutSession
from emulator.resources.customers.customer_records import Customer
from emulator.resources.ledger.accounts import CLAIMS_OF, SETTLED, Posting, Sums, entries
from emulator.resources.payments.payment_intents import PaymentIntent
from emulator.resources.payments.transactions import Transaction


class Imbalance(CheckFailed):
    """A unit of work that does not add up: ``posting`` is the account that is not even, and by how much."""

    def __init__(self, posting: Posting) -> None:
        super().__init__(
            f"The ledger is out of balance: {posting.name} by {posting.amount} {posting.currency} (minor units)."
        )
        self.posting = posting

    def concerns(self, unit: UnitOfWork) -> bool:
        """Whether a unit of work posted anything on the account, or on another one of the same object."""
        owner = self.posting.owner
        return owner is not None and any(owner in (id, posting.owner) for id, posting in entries(unit))


def check(world: World, unit: UnitOfWork) -> Imbalance | None:
    """What is out of balance by a unit of work that is about to be committed, or None.

    It adds up what the checked changes posted; other records are read where that is not even, and of each payee.
    """
    if _is_plain_payment(world, unit.checked):
        return None
    sums: Sums = defaultdict(int)
    for change in unit.checked:
        if (new := change.new) is not None:
            CLAIMS_OF[type(new)](change.old, new, sums)
    for (account, owner, currency), amount in sums.items():
        posting = Posting(account, owner, amount, currency)
        if (amount or account == "payments") and (found := _imbalance(world, posting)) is not None:
            return found
    return None


def _is_plain_payment(world: World, checked: list[Any]) -> bool:
    """Whether it is a payment that arrives at once, of an invoice or of nothing, and each record says the same amount.

    Most payments are, and renewals among them; adding up what they post would take three times as long.
    """
    if not 4 <= len(checked) <= 5:
        return False
    opened, intent, customer, deposit = checked[0].new, checked[1].new, checked[2].new, checked[3].new
    kinds = type(intent) is PaymentIntent and type(customer) is Customer and type(deposit) is Transaction
    if not kinds or checked[0].old is not None or opened.id != deposit.id or deposit.status != "completed":
        return False
    invoice = checked[4].new if len(checked) == 5 else None
    amount = deposit.amount
    if invoice is None:
        pays = intent.invoice is None
    else:
        pays = type(invoice) is Invoice and invoice.amount_paid == amount and intent.invoice == invoice.id
        pays = pays and not invoice.paid_manually and len(world.table(PaymentIntent).where("invoice", invoice.id)) == 1
    return (
        pays
        and intent.checkout_session is None
        and intent.transaction == deposit.id
        and customer.id == deposit.customer
        and customer.currency == deposit.currency
        and intent.amount_received == amount == customer.total_spent - checked[2].old.total_spent
        and deposit.net_amount + deposit.fee + deposit.commission == amount
    )


def _imbalance(world: World, posting: Posting) -> Imbalance | None:
    """Whether an account must be even, where what one unit of work posted on it is not.

    A customer's must in the customer's own currency, and while there is one (B-30). What is paid, and the money of it,
    may come in two units of work.
    """
    if posting.account == "spending":
        customer = world.get(Customer, posting.owner)
        return Imbalance(posting) if customer is not None and customer.currency == posting.currency else None
    if posting.account == "payments":
        return _unequal(world, posting.owner)
    if posting.account == "deposits":
        intent = world.get(PaymentIntent, posting.owner)
        return (_unequal(world, intent.invoice) or _unequal(world, intent.checkout_session)) if intent else None
    return Imbalance(posting)


def _unequal(world: World, id: str | None) -> Imbalance | None:
    """What an invoice or a session has received beyond what it was paid by its own account, or short of it."""
    if (invoice := world.get(Invoice, id)) is not None:
        is_paid, paid = invoice.status == "paid", 0 if invoice.paid_manually else invoice.amount_paid
        return _difference(world, invoice, "invoice", paid, is_paid=is_paid)
    if (session := world.get(CheckoutSession, id)) is not None:
        is_paid = session.status == "complete"
        return _difference(world, session, "checkout_session", session.amount_total if is_paid else 0, is_paid=is_paid)
    return None


def _difference(
    world: World, payee: Invoice | CheckoutSession, field: str, paid: int, *, is_paid: bool
) -> Imbalance | None:
    """What the intents of an invoice or a session received beyond ``paid`` (minor units), or short of it.

    An intent counts once its money has arrived, or once what it pays for has counted it (B-61).
    """
    rest = -paid
    for intent in world.table(PaymentIntent).where(field, payee.id):
        if intent.status == "succeeded" and (is_paid or _has_arrived(world, intent)):
            rest += intent.amount_received
    return Imbalance(Posting("payments", payee.id, rest, payee.currency)) if rest else None


def _has_arrived(world: World, intent: PaymentIntent) -> bool:
    transaction = world.get(Transaction, intent.transaction)
    return transaction is None or transaction.status in SETTLED
