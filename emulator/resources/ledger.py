"""The ledger: double entry for payments, refunds, invoices, derived from units of work.

Each kind of record that holds money posts the difference between its sums before and after a
change. For every unit of work

- the books (``BOOKS``) sum to zero for each record: where money comes from and where it goes;
- accounts that compare two kinds of record come out even: what a customer's ``total_spent`` says
  and what its transactions say, ``amount_refunded`` and the refunds;
- an invoice or a session that was touched has received just what it says it was paid, so that none
  is paid twice, and none is paid without money or receives money without being paid (B-61, B-62).

Nothing is stored. A unit of work is checked by its own changes, so worlds from fixtures and
snapshots need no opening balance, and what a tester sets directly is no imbalance: the account
``set_directly`` takes what then does not add up, so that the totals of a currency sum to zero
wherever the records come from. Amounts are in minor units.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from emulator.core.records import N_, Record
from emulator.core.unit_of_work import CheckFailed, UnitOfWork
from emulator.core.world import World
from emulator.resources.billing.invoices import Invoice
from emulator.resources.checkout.checkout_sessions import CheckoutSession
from emulator.resources.customers.customer_records import Customer
from emulator.resources.payments.payment_intents import PaymentIntent
from emulator.resources.payments.refunds import Refund
from emulator.resources.payments.transactions import ARRIVED, Transaction

# -- accounts: the postings of each record and each change


BOOKS: Mapping[str, str] = {
    "buyers": N_("Buyers"),
    "merchant": N_("Merchant"),
    "fees": N_("Fees"),
    "commissions": N_("Commissions"),
    "paid manually": N_("Paid manually"),
    "set_directly": N_("Set directly"),
}
"""The accounts of money, with titles. ``paid manually`` is the sum of invoices paid outside the
service; ``set_directly`` is the difference that a tester set between a payment's parts and its
amount.
"""

ACCOUNTS: Mapping[str, str] = {
    **BOOKS,
    "spending": N_("Spending"),
    "deposits": N_("Deposits"),
    "payments": N_("Payments"),
    "refunds": N_("Refunds"),
    "returned": N_("Returned to buyers"),
    "books": N_("Parts of a payment"),
}
"""Every account: the books, and those that compare two kinds of record."""


class Posting(NamedTuple):
    """An amount on an account, positive if the account gets it. ``owner`` is the object, if any."""

    account: str
    owner: str | None
    amount: int
    currency: str

    @property
    def name(self) -> str:
        return self.account if self.owner is None else f"{self.account} of {self.owner}"


Sums = defaultdict[tuple[str, str | None, str], int]
"""Amounts posted by account, owner, currency: payments' checks make no :class:`Posting`."""


# -- the postings of one record on the books; ``sign`` is 1 for the new record, -1 for the old one


def _transaction_books(record: Transaction, sign: int, sums: Sums) -> None:
    amount, currency = sign * record.amount, record.currency
    if record.type == "refund":
        if record.status in ARRIVED:
            sums["buyers", None, currency] += amount
            sums["merchant", None, currency] -= amount
        return
    if record.status not in ARRIVED:
        # Of a lost dispute the merchant keeps the part that its refunds have returned (B-56).
        if returned := sign * record.amount_refunded:
            sums["buyers", None, currency] -= returned
            sums["merchant", None, currency] += returned
        return
    sums["buyers", None, currency] -= amount - sign * record.set_directly
    sums["merchant", None, currency] += sign * record.net_amount
    sums["fees", None, currency] += sign * record.fee
    sums["commissions", None, currency] += sign * record.commission
    if rest := _rest(record) + record.set_directly:
        sums["set_directly", None, currency] -= sign * rest


def _rest(deposit: Transaction) -> int:
    """Return the excess of a deposit's parts over its amount; not 0: set directly, or a mistake."""
    return deposit.net_amount + deposit.fee + deposit.commission - deposit.amount


def _invoice_books(record: Invoice, sign: int, sums: Sums) -> None:
    if record.paid_manually:
        sums["buyers", None, record.currency] -= sign * record.amount_paid
        sums["paid manually", None, record.currency] += sign * record.amount_paid


# -- a change's postings on the others: each function takes the old record, if any, and the new one


def _transaction_claims(old: Transaction | None, new: Transaction, sums: Sums) -> None:
    amount, currency = new.amount, new.currency
    if new.type != "refund" and (rest := _rest(new) - (_rest(old) if old else 0)):
        sums["books", new.id, currency] += rest
    if new.type == "refund":
        sums["returned", None, currency] -= 0 if old else amount
        return
    before = old.amount_refunded if old else 0
    counts = new.status in ARRIVED
    if counts and (old is None or old.status not in ARRIVED):
        sums["spending", new.customer, currency] += amount - before
        sums["deposits", new.payment_intent, currency] += amount
    if (excess := _excess(new)) > (_excess(old) if old else 0):
        sums["returned", new.id, currency] += excess
    if refunded := new.amount_refunded - before:
        sums["spending", new.customer, currency] -= refunded if counts else 0
        sums["refunds", new.id, currency] -= refunded


def _excess(deposit: Transaction) -> int:
    """Return by how much a buyer has more back than was paid (minor units, B-56).

    Of a deposit that failed all money that had arrived is back already, so no refund may follow.
    """
    if deposit.status == "failed":
        return deposit.amount_refunded
    return max(deposit.amount_refunded - deposit.amount, 0)


def _intent_claims(old: PaymentIntent | None, new: PaymentIntent, sums: Sums) -> None:
    received = new.amount_received - (old.amount_received if old else 0)
    sums["deposits", new.id, new.currency] -= received
    if new.invoice is not None:
        sums["payments", new.invoice, new.currency] += received
    if new.checkout_session is not None:
        sums["payments", new.checkout_session, new.currency] += received


def _refund_claims(old: Refund | None, new: Refund, sums: Sums) -> None:
    if new.status == "succeeded" and not (old is not None and old.status == "succeeded"):
        sums["refunds", new.transaction, new.currency] += new.amount
        sums["returned", None, new.currency] += new.amount


def _customer_claims(old: Customer | None, new: Customer, sums: Sums) -> None:
    sums["spending", new.id, new.currency] -= new.total_spent - (old.total_spent if old else 0)


def _invoice_claims(old: Invoice | None, new: Invoice, sums: Sums) -> None:
    if not new.paid_manually:
        sums["payments", new.id, new.currency] -= new.amount_paid - (old.amount_paid if old else 0)


def _session_claims(old: CheckoutSession | None, new: CheckoutSession, sums: Sums) -> None:
    if new.status == "complete" and not (old is not None and old.status == "complete"):
        sums["payments", new.id, new.currency] -= new.amount_total


BOOKS_OF: Mapping[type[Record], Callable[[Any, int, Sums], None]] = {
    Transaction: _transaction_books,
    Invoice: _invoice_books,
}
"""The postings of a record on the books."""

CLAIMS_OF: Mapping[type[Record], Callable[[Any, Any, Sums], None]] = {
    Transaction: _transaction_claims,
    PaymentIntent: _intent_claims,
    Refund: _refund_claims,
    Customer: _customer_claims,
    Invoice: _invoice_claims,
    CheckoutSession: _session_claims,
}
"""Postings of records on accounts that compare two kinds of record; other kinds hold no money."""


def entries(unit: UnitOfWork) -> Iterator[tuple[str, Posting]]:
    """Yield a unit of work's nonzero postings, each with the id of its record.

    A reset posts nothing, nor does a record that is removed; what a tester sets directly is posted
    on the books alone.
    """
    posted: dict[str, Sums] = {}
    for change in () if unit.cleared else unit.changes:
        new = change.new
        if new is None or (kind := type(new)) not in CLAIMS_OF:
            continue
        sums = posted.setdefault(new.id, defaultdict(int))
        if kind in BOOKS_OF:
            if change.old is not None:
                BOOKS_OF[kind](change.old, -1, sums)
            BOOKS_OF[kind](new, 1, sums)
        if not unit.is_arranged:
            CLAIMS_OF[kind](change.old, new, sums)
    for id, sums in posted.items():
        for (account, owner, currency), amount in sums.items():
            if amount:
                yield id, Posting(account, owner, amount, currency)


def totals(world: World) -> dict[tuple[str, str], int]:
    """Return the balance of each account now, by account and currency (minor units)."""
    sums: Sums = defaultdict(int)
    for kind, post in BOOKS_OF.items():
        for record in world.table(kind).unordered():
            post(record, 1, sums)
    order = sorted(sums, key=lambda key: (key[2], [*BOOKS].index(key[0])))
    return {
        (account, currency): sums[account, owner, currency] for account, owner, currency in order
    }


# -- whether a unit of work that is about to be committed adds up


class Imbalance(CheckFailed):
    """A unit of work that does not add up: ``posting`` is the uneven account and its difference."""

    def __init__(self, posting: Posting) -> None:
        super().__init__(
            f"The ledger is out of balance: {posting.name} by {posting.amount} {posting.currency}"
            " (minor units)."
        )
        self.posting = posting

    def concerns(self, unit: UnitOfWork) -> bool:
        """Return whether a unit posted on the account, or another of the same object."""
        owner = self.posting.owner
        return owner is not None and any(
            owner in (id, posting.owner) for id, posting in entries(unit)
        )


def check(world: World, unit: UnitOfWork) -> Imbalance | None:
    """Return the imbalance that a unit of work would cause if it were committed, or None.

    It adds up what the checked changes posted; other records are read where that is not even, and
    of each payee.
    """
    if _is_plain_payment(world, unit.checked):
        return None
    sums: Sums = defaultdict(int)
    for change in unit.checked:
        if (new := change.new) is not None:
            CLAIMS_OF[type(new)](change.old, new, sums)
    for (account, owner, currency), amount in sums.items():
        posting = Posting(account, owner, amount, currency)
        if (amount or account == "payments") and (
            imbalance := _imbalance(world, posting)
        ) is not None:
            return imbalance
    return None


def _is_plain_payment(world: World, checked: list[Any]) -> bool:
    """Return whether a payment arrives at once, for an invoice or nothing, all amounts being equal.

    Most payments are, and renewals among them; adding up what they post would take three times as
    long.
    """
    if not 4 <= len(checked) <= 5:
        return False
    opened, intent, customer, deposit = (
        checked[0].new,
        checked[1].new,
        checked[2].new,
        checked[3].new,
    )
    kinds = (
        type(intent) is PaymentIntent
        and type(customer) is Customer
        and type(deposit) is Transaction
    )
    if (
        not kinds
        or checked[0].old is not None
        or opened.id != deposit.id
        or deposit.status != "completed"
    ):
        return False
    invoice = checked[4].new if len(checked) == 5 else None
    amount = deposit.amount
    if invoice is None:
        pays = intent.invoice is None
    else:
        pays = (
            type(invoice) is Invoice
            and invoice.amount_paid == amount
            and intent.invoice == invoice.id
        )
        pays = (
            pays
            and not invoice.paid_manually
            and len(world.table(PaymentIntent).where("invoice", invoice.id)) == 1
        )
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
    """Return the imbalance of an account that must be even after one unit of work, or None.

    A customer's must in the customer's own currency, and while there is one (B-30). What is paid,
    and the money of it, may come in two units of work.
    """
    if posting.account == "spending":
        customer = world.get(Customer, posting.owner)
        return (
            Imbalance(posting)
            if customer is not None and customer.currency == posting.currency
            else None
        )
    if posting.account == "payments":
        return _unequal(world, posting.owner)
    if posting.account == "deposits":
        intent = world.get(PaymentIntent, posting.owner)
        return (
            (_unequal(world, intent.invoice) or _unequal(world, intent.checkout_session))
            if intent
            else None
        )
    return Imbalance(posting)


def _unequal(world: World, id: str | None) -> Imbalance | None:
    """Return the imbalance of an invoice's or a session's payments and account, or None."""
    if (invoice := world.get(Invoice, id)) is not None:
        is_paid, paid = (
            invoice.status == "paid",
            0 if invoice.paid_manually else invoice.amount_paid,
        )
        return _difference(world, invoice, "invoice", paid, is_paid=is_paid)
    if (session := world.get(CheckoutSession, id)) is not None:
        is_paid = session.status == "complete"
        return _difference(
            world,
            session,
            "checkout_session",
            session.amount_total if is_paid else 0,
            is_paid=is_paid,
        )
    return None


def _difference(
    world: World, payee: Invoice | CheckoutSession, field: str, paid: int, *, is_paid: bool
) -> Imbalance | None:
    """Return the imbalance of an invoice's or session's intents and ``paid`` (minor units).

    An intent counts once its money has arrived, or once what it pays for has counted it (B-61).
    """
    rest = -paid
    for intent in world.table(PaymentIntent).where(field, payee.id):
        if intent.status == "succeeded" and (is_paid or _has_arrived(world, intent)):
            rest += intent.amount_received
    return Imbalance(Posting("payments", payee.id, rest, payee.currency)) if rest else None


def _has_arrived(world: World, intent: PaymentIntent) -> bool:
    transaction = world.get(Transaction, intent.transaction)
    return transaction is None or transaction.status in ARRIVED
