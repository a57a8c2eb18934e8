"""A transaction: the service's own accounting record of a processed payment (B-56)."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import msgspec

from emulator.core.handlers import get_handler, list_handler, patch_handler, sublist_handler
from emulator.core.jobs import Job
from emulator.core.lists import Query, Selection
from emulator.core.records import HIDDEN, N_, Metadata, Record, no_metadata, pick
from emulator.core.state_machine import StateMachine
from emulator.core.world import World
from emulator.resources.app import amounts
from emulator.resources.app.settings import FEE_RATES, settings
from emulator.resources.customers import payment_details
from emulator.resources.customers.customer_records import Customer
from emulator.resources.customers.payment_details import PaymentDetails
from emulator.resources.payments import operator


class Transaction(Record, frozen=True, kw_only=True):
    """Minor units; ``net_amount`` is ``amount - fee - commission``. Rates in per cent (B-56)."""

    prefix: ClassVar[str] = "trans"
    names: ClassVar[tuple[str, str] | None] = (N_("Transaction"), N_("Transactions"))
    indexes: ClassVar[tuple[str, ...]] = ("customer", "status", "type")
    checked: ClassVar[frozenset[str]] = frozenset(
        {"id", "status", "amount", "amount_refunded", "fee", "commission", "net_amount"}
    )

    object: str = "transaction"
    app: str
    amount: int
    amount_refunded: int = 0
    fee: int
    fee_rate: int | float
    commission: int
    commission_rate: int | float
    net_amount: int
    currency: str
    status: str
    type: str = "deposit"
    description: str | None = None
    payment_intent: str | None = None
    customer: str | None = None
    payment_method_type: str
    operator: str | None = None
    processed_at: str | None = None
    metadata: Metadata = msgspec.field(default_factory=no_metadata)
    livemode: bool
    created_at: str
    updated_at: str
    # The means of payment: a refund goes back to it, and its magic value decides its outcome.
    instrument: Annotated[PaymentDetails, HIDDEN]
    # The excess of an amount that a tester set over the buyer's payment, in minor units (B-89).
    set_directly: Annotated[int, HIDDEN] = 0


STATE_MACHINE = StateMachine(
    Transaction,
    (None, "open", "pending"),
    (None, "return", "completed"),
    ("pending", "approve", "approved"),
    ("pending approved", "complete", "completed", "transaction.succeeded"),
    ("pending", "fail", "failed"),
    ("pending", "cancel", "canceled"),
    ("completed", "dispute", "disputed"),
    ("completed disputed", "refund", "refunded"),
)


COPIED_FIELDS = (
    "currency",
    "payment_intent",
    "customer",
    "payment_method_type",
    "operator",
    "instrument",
)
"""The fields of a deposit that the transaction of its refund takes over."""

ARRIVED = frozenset({"completed", "disputed", "refunded"})
"""The states of a deposit whose money has arrived; the customer's totals count it (B-30, B-56)."""


def open_deposit(world: World, amount: int, details: PaymentDetails, **fields: Any) -> Transaction:
    """Create a pending deposit (minor units) with the fees of the App's pricing plan (B-56)."""
    own = settings(world)
    fee_rate = FEE_RATES[own.pricing_plan]
    fee, commission = (
        amounts.percent(amount, fee_rate),
        amounts.percent(amount, own.commission_rate),
    )
    return STATE_MACHINE.create(
        world,
        "open",
        fields,
        amount=amount,
        fee=fee,
        fee_rate=fee_rate,
        commission=commission,
        commission_rate=own.commission_rate,
        net_amount=amount - fee - commission,
        payment_method_type=details.type,
        operator=payment_details.operator_name(details),
        instrument=details,
    )


def approve_until_settled(world: World, transaction: Transaction) -> Transaction:
    """Approve a transaction whose payment succeeded and whose money is to come; return others."""
    settles_at = operator.settles(world, transaction.instrument)
    if settles_at is None:
        return transaction
    world.schedule(settles_at, "transaction.settle", transaction)
    return STATE_MACHINE.transition(world, transaction, "approve")


def settle_later(world: World, job: Job) -> None:
    """Job ``transaction.settle``: the money of an approved transaction has arrived."""
    transaction = world.get(Transaction, job.about)
    if transaction is not None and transaction.status == "approved":
        complete(world, transaction)


def complete(world: World, transaction: Transaction) -> Transaction:
    """Complete a transaction on arrival of its money: count it (B-30) and send an event."""
    count(world, transaction, transaction.amount - transaction.amount_refunded, transactions=1)
    if (due := operator.disputed(world, transaction.instrument)) is not None:
        world.schedule(due, "transaction.dispute", transaction)
    return STATE_MACHINE.transition(world, transaction, "complete", processed_at=world.now)


def count(world: World, deposit: Transaction, amount: int, transactions: int = 0) -> None:
    """Add a deposit to its customer's totals, ``total_spent`` in the own currency only (B-30)."""
    customer = world.get(Customer, deposit.customer)
    if customer is not None:
        total = customer.total_spent + (amount if deposit.currency == customer.currency else 0)
        number = customer.transactions_count + transactions
        world.replace(customer, transactions_count=number, total_spent=total)


def spent(deposit: Transaction) -> int:
    """Return what the customer's ``total_spent`` counts of a deposit, in minor units of its
    currency (B-30, B-56).
    """
    return deposit.amount - deposit.amount_refunded if deposit.status in ARRIVED else 0


def record_refund(world: World, deposit: Transaction, amount: int, **fields: Any) -> Transaction:
    """Record a refund of ``amount`` minor units as a transaction of type ``refund`` (B-57).

    The deposit is ``refunded`` once all of it was returned; the customer's ``total_spent`` goes
    down, unless a tester set the deposit to a status in which it does not count.
    """
    STATE_MACHINE.create(
        world,
        "return",
        pick(deposit, *COPIED_FIELDS),
        amount=amount,
        fee=0,
        fee_rate=0,
        commission=0,
        commission_rate=0,
        net_amount=amount,
        type="refund",
        processed_at=world.now,
        **fields,
    )
    if deposit.status in ARRIVED:
        count(world, deposit, -amount)
    deposit = world.replace(deposit, amount_refunded=deposit.amount_refunded + amount)
    fully = deposit.amount_refunded >= deposit.amount and STATE_MACHINE.allows(deposit, "refund")
    return STATE_MACHINE.transition(world, deposit, "refund") if fully else deposit


def index(world: World, query: Query) -> Selection[Transaction]:
    """GET /transactions/: ``customer`` is an id or an email in any case (B-30)."""
    customer = query.get("customer", "")
    match = world.table(Customer).find("email", customer) if "@" in customer else None
    return _list(world, {**query, "customer": match.id} if match is not None else query)


_list = list_handler(
    Transaction,
    {
        "min_amount": lambda transaction, amount: transaction.amount >= amount,
        "max_amount": lambda transaction, amount: transaction.amount <= amount,
    },
)
of_customer = sublist_handler(Customer, Transaction)

OPERATIONS = {
    "listTransactions": index,
    "getTransaction": get_handler(Transaction),
    "updateTransaction": patch_handler(Transaction),
    "listCustomerTransactions": of_customer,
}
JOBS = {"transaction.settle": settle_later, "transaction.dispute": STATE_MACHINE.job("dispute")}
