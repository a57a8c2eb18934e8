"""The ledger: double entry over payments, refunds and invoices, derived from what each unit of work changed.

Each kind of record that holds money has a *position*: the postings it stands for as it is now. What a unit of work
posts is the position of each record that it changed, less its position before. For every unit of work

- the books (:data:`BOOKS`) sum to zero for each record: where money comes from and where it goes;
- accounts that compare two kinds of record come out even: what a customer's ``total_spent`` says and what its
  transactions say, ``amount_refunded`` and the refunds;
- an invoice or a session that was touched has received just what it says it was paid, so that none is paid twice, and
  none is paid without money or receives money without being paid (B-61, B-62).

Nothing is stored. A unit of work is checked by its own changes, so worlds from fixtures and snapshots need no opening
balance, and what a tester sets directly is no imbalance. Amounts are in minor units.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from emulator.core.records import Record
from emulator.core.unit_of_work import UnitOfWork
from emulator.core.world import World
from emulator.resources.billing.invoices import Invoice
from emulator.resources.checkout.checkout_sessions import CheckoutSession
from emulator.resources.customers.records import Customer
from emulator.resources.payments.payment_intents import PaymentIntent
from emulator.resources.payments.refunds import Refund
from emulator.resources.payments.transactions import Transaction

BOOKS = ("buyers", "merchant", "fees", "commissions", "paid manually")
"""The accounts that say where money is; the others compare two kinds of record. ``paid manually`` is what invoices
received outside the service."""

SETTLED = frozenset({"completed", "refunded", "disputed"})
"""The statuses of a deposit whose money has arrived (B-56)."""


class Posting(NamedTuple):
    """An amount on an account, positive where the account gets it. ``owner``: whose account it is, if an object's."""

    account: str
    owner: str | None
    amount: int
    currency: str

    @property
    def name(self) -> str:
        """The account with its owner, as in ``payments of inv_…``."""
        return self.account if self.owner is None else f"{self.account} of {self.owner}"


Rows = tuple[tuple[str, str | None, int, str], ...]
"""Postings as plain tuples, which are made in a fraction of the time: every unit of work is checked."""


class Imbalance(Exception):
    """A unit of work that does not add up: ``posting`` is the account that is not even, and by how much."""

    def __init__(self, posting: Posting) -> None:
        super().__init__(
            f"The ledger is out of balance: {posting.name} by {posting.amount} {posting.currency} (minor units)."
        )
        self.posting = posting


# -- positions


def _transaction(transaction: Transaction) -> Rows:
    amount, currency = transaction.amount, transaction.currency
    if transaction.type == "refund":
        return (
            ("buyers", None, amount, currency),
            ("merchant", None, -amount, currency),
            ("returned", None, -amount, currency),
        )
    if transaction.status not in SETTLED:
        return ()
    return (
        ("buyers", None, -amount, currency),
        ("merchant", None, transaction.net_amount, currency),
        ("fees", None, transaction.fee, currency),
        ("commissions", None, transaction.commission, currency),
        ("refunds", transaction.id, -transaction.amount_refunded, currency),
        ("spending", transaction.customer, amount - transaction.amount_refunded, currency),
    )


def _intent(intent: PaymentIntent) -> Rows:
    if intent.status != "succeeded":
        return ()
    owners = (intent.invoice, intent.checkout_session)
    return tuple(("payments", owner, intent.amount_received, intent.currency) for owner in owners if owner)


def _refund(refund: Refund) -> Rows:
    if refund.status != "succeeded":
        return ()
    return (
        ("refunds", refund.transaction, refund.amount, refund.currency),
        ("returned", None, refund.amount, refund.currency),
    )


def _customer(customer: Customer) -> Rows:
    if not customer.total_spent:
        return ()
    return (("spending", customer.id, -customer.total_spent, customer.currency),)


def _invoice(invoice: Invoice) -> Rows:
    if not invoice.amount_paid:
        return ()
    if not invoice.paid_manually:
        return (("payments", invoice.id, -invoice.amount_paid, invoice.currency),)
    return (
        ("buyers", None, -invoice.amount_paid, invoice.currency),
        ("paid manually", None, invoice.amount_paid, invoice.currency),
    )


def _session(session: CheckoutSession) -> Rows:
    if session.status != "complete":
        return ()
    return (("payments", session.id, -session.amount_total, session.currency),)


POSITIONS: Mapping[type[Record], Callable[[Any], Rows]] = {
    Transaction: _transaction,
    PaymentIntent: _intent,
    Refund: _refund,
    Customer: _customer,
    Invoice: _invoice,
    CheckoutSession: _session,
}
"""What a record of each kind stands for; other kinds hold no money."""


def position(record: Record | None) -> Rows:
    """The postings that a record stands for; none where it is absent or holds no money."""
    of_kind = None if record is None else POSITIONS.get(type(record))
    return () if of_kind is None else of_kind(record)


def entries(unit: UnitOfWork) -> Iterator[tuple[str, Posting]]:
    """What a unit of work posted, with the id of the record that each posting comes from. Amounts of zero are left out.

    Neither a reset nor what a tester set directly posts anything.
    """
    for old, new in () if unit.cleared or unit.is_arranged else _changes(unit):
        record = new or old
        for row in _difference(old, new):
            if record is not None and row[2]:
                yield record.id, Posting._make(row)


def totals(world: World) -> dict[tuple[str, str], int]:
    """What stands on each of the books now, by account and currency (minor units)."""
    sums: dict[tuple[str, str], int] = defaultdict(int)
    for kind in POSITIONS:
        for record in world.table(kind):
            for account, _, amount, currency in position(record):
                if account in BOOKS:
                    sums[account, currency] += amount
    return {key: sums[key] for key in sorted(sums, key=lambda key: (key[1], BOOKS.index(key[0])))}


Pair = tuple[Record | None, Record | None]


def _changes(unit: UnitOfWork) -> Iterable[Pair]:
    """Each record that holds money as it was before the unit of work and as it is after it."""
    pairs: dict[str, Pair] = {}
    for change in unit.changes:
        record = change.new or change.old
        if type(record) in POSITIONS:
            assert record is not None
            pairs[record.id] = (pairs[record.id][0] if record.id in pairs else change.old, change.new)
    return pairs.values()


def _difference(old: Record | None, new: Record | None) -> Rows:
    """The position after a change less the position before it; some amounts may be zero."""
    before, after = position(old), position(new)
    if not before:
        return after
    sums: dict[tuple[str, str | None, str], int] = defaultdict(int)
    for account, owner, amount, currency in after:
        sums[account, owner, currency] += amount
    for account, owner, amount, currency in before:
        sums[account, owner, currency] -= amount
    return tuple((account, owner, amount, currency) for (account, owner, currency), amount in sums.items())


# -- checking


def check(world: World, unit: UnitOfWork) -> Imbalance | None:
    """What is out of balance by a unit of work that is about to be committed, or None."""
    if unit.cleared or unit.is_arranged:
        return None
    even: dict[tuple[str, str | None, str], int] = {}
    payees: set[str] = set()
    for old, new in _changes(unit):
        for account, owner, amount, currency in _difference(old, new):
            if account == "payments":
                payees.add(owner or "")
                continue
            # The books balance for each record, all others for the unit of work as a whole.
            key = ("books", (new or old).id, currency) if account in BOOKS else (account, owner, currency)  # type: ignore[union-attr]  # one of the two is a record
            even[key] = even.get(key, 0) + amount
        if type(new) is Transaction and new.status in SETTLED:
            payees.update(_payees(world, new))
    return (_uneven(world, even) if even else None) or (_unpaid(world, payees) if payees else None)


def _uneven(world: World, even: Mapping[tuple[str, str | None, str], int]) -> Imbalance | None:
    """The first account that should come out even and does not."""
    for (account, owner, currency), amount in even.items():
        if amount and _is_open(world, account, owner, currency):
            return Imbalance(Posting(account, owner, amount, currency))
    return None


def _unpaid(world: World, payees: Iterable[str]) -> Imbalance | None:
    """The first invoice or session that has received something else than it was paid."""
    return next(filter(None, (_unequal(world, payee) for payee in sorted(payees))), None)


def _is_open(world: World, account: str, owner: str | None, currency: str) -> bool:
    """Whether an account must come out even: a customer's only in its own currency, and while there is one (B-30)."""
    if account != "spending":
        return True
    customer = world.get(Customer, owner)
    return customer is not None and customer.currency == currency


def _payees(world: World, transaction: Transaction) -> Iterator[str]:
    """The invoice and the session that a transaction pays for."""
    intent = world.get(PaymentIntent, transaction.payment_intent)
    if intent is not None:
        yield from filter(None, (intent.invoice, intent.checkout_session))


def _unequal(world: World, id: str) -> Imbalance | None:
    """What an invoice or a session has received beyond what it was paid by its own account, or short of it."""
    invoice, session = world.get(Invoice, id), world.get(CheckoutSession, id)
    if invoice is not None:
        is_paid, paid = invoice.status == "paid", 0 if invoice.paid_manually else invoice.amount_paid
        intents, currency = world.table(PaymentIntent).where("invoice", id), invoice.currency
    elif session is not None:
        is_paid, paid = session.status == "complete", session.amount_total if session.status == "complete" else 0
        intents, currency = world.table(PaymentIntent).where("checkout_session", id), session.currency
    else:
        return None
    received = sum(intent.amount_received for intent in intents if _is_received(world, intent, is_paid=is_paid))
    return None if received == paid else Imbalance(Posting("payments", id, received - paid, currency))


def _is_received(world: World, intent: PaymentIntent, *, is_paid: bool) -> bool:
    """Whether a payment counts: its money has arrived, or what it pays for has counted it already (B-61)."""
    if intent.status != "succeeded":
        return False
    transaction = world.get(Transaction, intent.transaction)
    return is_paid or transaction is None or transaction.status in SETTLED
