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
from emulator.resources.customers.customer_records import Customer
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


PostingRows = tuple[tuple[str, str | None, int, str], ...]
"""Postings as plain tuples, which are made in a fraction of the time: every unit of work is checked."""


class Imbalance(Exception):
    """A unit of work that does not add up: ``posting`` is the account that is not even, and by how much."""

    def __init__(self, posting: Posting) -> None:
        super().__init__(
            f"The ledger is out of balance: {posting.name} by {posting.amount} {posting.currency} (minor units)."
        )
        self.posting = posting


# -- positions


def _transaction_books(transaction: Transaction) -> PostingRows:
    amount, currency = transaction.amount, transaction.currency
    if transaction.type == "refund":
        return (("buyers", None, amount, currency), ("merchant", None, -amount, currency))
    if transaction.status not in SETTLED:
        return ()
    return (
        ("buyers", None, -amount, currency),
        ("merchant", None, transaction.net_amount, currency),
        ("fees", None, transaction.fee, currency),
        ("commissions", None, transaction.commission, currency),
    )


def _invoice_books(invoice: Invoice) -> PostingRows:
    if not invoice.paid_manually:
        return ()
    amount, currency = invoice.amount_paid, invoice.currency
    return (("buyers", None, -amount, currency), ("paid manually", None, amount, currency))


def _transaction_claims(transaction: Transaction) -> PostingRows:
    amount, currency, refunded = transaction.amount, transaction.currency, transaction.amount_refunded
    if transaction.type == "refund":
        return (("returned", None, -amount, currency),)
    if transaction.status not in SETTLED:
        return ()
    spent = ("spending", transaction.customer, amount - refunded, currency)
    return (spent, ("refunds", transaction.id, -refunded, currency)) if refunded else (spent,)


def _intent_claims(intent: PaymentIntent) -> PostingRows:
    if intent.status != "succeeded":
        return ()
    amount, currency = intent.amount_received, intent.currency
    invoice = (("payments", intent.invoice, amount, currency),) if intent.invoice else ()
    return (*invoice, ("payments", intent.checkout_session, amount, currency)) if intent.checkout_session else invoice


def _refund_claims(refund: Refund) -> PostingRows:
    if refund.status != "succeeded":
        return ()
    amount, currency = refund.amount, refund.currency
    return (("refunds", refund.transaction, amount, currency), ("returned", None, amount, currency))


def _customer_claims(customer: Customer) -> PostingRows:
    spent = customer.total_spent
    return (("spending", customer.id, -spent, customer.currency),) if spent else ()


def _invoice_claims(invoice: Invoice) -> PostingRows:
    if invoice.paid_manually or not invoice.amount_paid:
        return ()
    return (("payments", invoice.id, -invoice.amount_paid, invoice.currency),)


def _session_claims(session: CheckoutSession) -> PostingRows:
    return (("payments", session.id, -session.amount_total, session.currency),) if session.status == "complete" else ()


BOOKINGS: Mapping[type[Record], Callable[[Any], PostingRows]] = {
    Transaction: _transaction_books,
    Invoice: _invoice_books,
}
"""The part of a position that is on the books."""

CLAIMS: Mapping[type[Record], Callable[[Any], PostingRows]] = {
    Transaction: _transaction_claims,
    PaymentIntent: _intent_claims,
    Refund: _refund_claims,
    Customer: _customer_claims,
    Invoice: _invoice_claims,
    CheckoutSession: _session_claims,
}
"""The part of a position that is on accounts which compare two kinds of record. Other kinds of record hold no money."""


def _position(record: Record | None) -> PostingRows:
    """All that a record stands for; nothing where it is absent."""
    if record is None:
        return ()
    kind = type(record)
    return (*(BOOKINGS[kind](record) if kind in BOOKINGS else ()), *CLAIMS[kind](record))


def entries(unit: UnitOfWork) -> Iterator[tuple[str, Posting]]:
    """What a unit of work posted, with the id of the record that each posting comes from. Amounts of zero are left out.

    Neither a reset nor what a tester set directly posts anything.
    """
    for id, (old, new) in {} if unit.cleared or unit.is_arranged else _changes(unit):
        sums: dict[tuple[str, str | None, str], int] = defaultdict(int)
        for sign, rows in ((1, _position(new)), (-1, _position(old))):
            for account, owner, amount, currency in rows:
                sums[account, owner, currency] += sign * amount
        for (account, owner, currency), amount in sums.items():
            if amount:
                yield id, Posting(account, owner, amount, currency)


def totals(world: World) -> dict[tuple[str, str], int]:
    """What stands on each of the books now, by account and currency (minor units)."""
    sums: dict[tuple[str, str], int] = defaultdict(int)
    for kind, books in BOOKINGS.items():
        for record in world.table(kind):
            for account, _, amount, currency in books(record):
                sums[account, currency] += amount
    return {key: sums[key] for key in sorted(sums, key=lambda key: (key[1], BOOKS.index(key[0])))}


Pair = tuple[Record | None, Record | None]


def _changes(unit: UnitOfWork) -> Iterable[tuple[str, Pair]]:
    """Each record that holds money, by its id: as it was before the unit of work and as it is after it."""
    pairs: dict[str, Pair] = {}
    for change in unit.changes:
        new = change.new
        record = change.old if new is None else new
        if type(record) in CLAIMS:
            id = record.id  # type: ignore[union-attr]  # a change has one of the two records
            pairs[id] = (pairs[id][0] if id in pairs else change.old, new)
    return pairs.items()


# -- checking


def check(world: World, unit: UnitOfWork) -> Imbalance | None:
    """What is out of balance by a unit of work that is about to be committed, or None.

    It runs for every unit of work, so it adds up no more than it must: a record's books only where they may differ.
    """
    if unit.cleared or unit.is_arranged:
        return None
    even: dict[tuple[str, str | None, str], int] = {}
    payees: set[str | None] = set()
    for _, (old, new) in _changes(unit):
        if new is not None:
            _add(world, new, 1, even, payees)
        if old is not None:
            _add(world, old, -1, even, payees)
    for (account, owner, currency), amount in even.items():
        if amount and _is_open(world, account, owner, currency):
            return Imbalance(Posting(account, owner, amount, currency))
    return _unpaid(world, payees) if payees else None


def _add(
    world: World,
    record: Record,
    sign: int,
    even: dict[tuple[str, str | None, str], int],
    payees: set[str | None],
) -> None:
    """Add what a record stands for to the accounts that must come out even, and what it pays for to ``payees``."""
    kind = type(record)
    for account, owner, amount, currency in CLAIMS[kind](record):
        if account == "payments":
            payees.add(owner)
        else:
            key = (account, owner, currency)
            even[key] = even.get(key, 0) + sign * amount
    if kind is Transaction and record.status in SETTLED and record.type == "deposit":  # type: ignore[attr-defined]  # a transaction
        _add_deposit(world, record, sign, even, payees)  # type: ignore[arg-type]  # as above


def _add_deposit(
    world: World,
    deposit: Transaction,
    sign: int,
    even: dict[tuple[str, str | None, str], int],
    payees: set[str | None],
) -> None:
    """The books of a deposit, where they do not sum to zero, and what it pays for. Other books balance as written."""
    rest = deposit.net_amount + deposit.fee + deposit.commission - deposit.amount
    if rest:
        key = ("books", deposit.id, deposit.currency)
        even[key] = even.get(key, 0) + sign * rest
    intent = world.get(PaymentIntent, deposit.payment_intent)
    if intent is not None:
        payees.add(intent.invoice)
        payees.add(intent.checkout_session)


def _unpaid(world: World, payees: Iterable[str | None]) -> Imbalance | None:
    """An invoice or session that has received something else than it was paid."""
    for payee in payees:
        if payee is not None and (found := _unequal(world, payee)) is not None:
            return found
    return None


def _is_open(world: World, account: str, owner: str | None, currency: str) -> bool:
    """Whether an account must come out even: a customer's only in its own currency, and while there is one (B-30)."""
    if account != "spending":
        return True
    customer = world.get(Customer, owner)
    return customer is not None and customer.currency == currency


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
