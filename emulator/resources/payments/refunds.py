"""Effects of a completed deposit: its receipt (B-53), and refunds through its channel (B-57)."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from emulator.core import calendar
from emulator.core.errors import ApiError
from emulator.core.handlers import get_handler, get_or_404, list_handler, new_record
from emulator.core.jobs import Job
from emulator.core.records import N_, Metadata, Record, no_metadata, pick
from emulator.core.state_machine import StateMachine
from emulator.core.violations import Body, Violations, with_rules
from emulator.core.world import World
from emulator.resources.app.settings import settings
from emulator.resources.payments import operator, transactions
from emulator.resources.payments.payment_intents import PaymentIntent
from emulator.resources.payments.transactions import Transaction

# -- receipts


class Receipt(Record, frozen=True, kw_only=True):
    """``amount`` is minor units; ``number`` is unique in the App."""

    prefix: ClassVar[str] = "rcpt"
    names: ClassVar[tuple[str, str] | None] = (N_("Receipt"), N_("Receipts"))
    unique: ClassVar[tuple[str, ...]] = ("transaction",)

    object: str = "receipt"
    app: str
    number: str
    transaction: str
    customer: str | None
    customer_email: str | None
    amount: int
    currency: str
    url: str
    livemode: bool
    created_at: str


def issue_receipt(world: World, transaction: Transaction) -> None:
    """Reaction to ``transaction.succeeded``: issue the receipt, unless there is one already."""
    if world.table(Receipt).find("transaction", transaction.id) is not None:
        return
    intent = world.get(PaymentIntent, transaction.payment_intent)
    id = world.new_id(Receipt)
    world.add(
        new_record(
            world,
            Receipt,
            id=id,
            number=f"RCPT-{world.now[:4]}-{world.count('receipt'):06d}",
            transaction=transaction.id,
            customer=transaction.customer,
            customer_email=None if intent is None else intent.customer_email,
            amount=transaction.amount,
            currency=transaction.currency,
            url=world.link(f"/receipt/{id}"),
        )
    )


# -- refunds


REVIEW_HOURS = 1
"""Hours that a refund is ``pending`` under the setting ``refund_review``."""


class Refund(Record, frozen=True, kw_only=True):
    """``amount``: minor units; ``description``: an internal note; ``failure_reason``: a code."""

    prefix: ClassVar[str] = "refd"
    names: ClassVar[tuple[str, str] | None] = (N_("Refund"), N_("Refunds"))
    indexes: ClassVar[tuple[str, ...]] = ("transaction", "status")
    checked: ClassVar[frozenset[str]] = frozenset({"status", "amount"})

    object: str = "refund"
    transaction: str
    amount: int
    currency: str
    status: str
    reason: str | None
    description: str | None
    failure_reason: str | None = None
    payment_method_type: str
    refunded_at: str | None = None
    metadata: Metadata = msgspec.field(default_factory=no_metadata)
    livemode: bool
    created_at: str
    updated_at: str


STATE_MACHINE = StateMachine(
    Refund,
    (None, "review", "pending"),
    (None, "send", "processing"),
    ("pending", "send", "processing"),
    ("pending", "cancel", "cancelled"),
    ("processing", "succeed", "succeeded", "refund.succeeded"),
    ("processing", "fail", "failed", "refund.failed"),
    ("pending processing", "lose dispute", "failed", "refund.failed"),
    ("processing", "expire", "expired"),
)

COUNTING = ("pending", "processing", "succeeded")
"""States of refunds that reduce the refundable balance."""


@with_rules
def create(world: World, body: Body) -> Refund:
    """POST /refunds/: of a completed deposit, by default the whole balance (minor units)."""
    violations = Violations(body)
    with violations:
        deposit = get_or_404(world, Transaction, body["transaction"], "transaction")
        amount = _amount(world, deposit, body.get("amount"))
    violations.done()
    trigger = "review" if settings(world).refund_review else "send"
    refund = STATE_MACHINE.create(
        world, trigger, body, amount=amount, **pick(deposit, "currency", "payment_method_type")
    )
    plan(world, refund)
    return refund


def plan(world: World, refund: Refund) -> None:
    if refund.status == "pending":
        world.schedule(calendar.plus(world.now, hours=REVIEW_HOURS), "refund.send", refund)
    elif refund.status == "processing":
        _send(world, refund)


def _amount(world: World, deposit: Transaction, amount: int | None) -> int:
    """Return the amount to refund: the given one, or the whole refundable balance (minor units).

    409 where the transaction is not ``completed``, or nothing is left and no amount given; 400
    above the rest (B-57).
    """
    rest = refundable(world, deposit)
    completed = deposit.type == "deposit" and deposit.status == "completed"
    if not completed or (amount is None and rest <= 0):
        errors = {"transaction": ["is not completed, or nothing of it is left"]}
        raise ApiError("transaction_not_refundable", param="transaction", errors=errors)
    if amount is None:
        return rest
    if amount > rest:
        errors = {"amount": [f"must be at most {rest}"]}
        raise ApiError(
            "refund_amount_exceeds_available", param="amount", errors=errors, available=rest
        )
    return amount


def refundable(world: World, deposit: Transaction) -> int:
    """Return the amount less refunds that are pending, processing or succeeded."""
    refunds = world.table(Refund).where("transaction", deposit.id)
    return deposit.amount - sum(refund.amount for refund in refunds if refund.status in COUNTING)


def _send(world: World, refund: Refund) -> None:
    """Send it to the operator, who answers in a job, which may be due now, or never (B-57)."""
    deposit = world.require(Transaction, refund.transaction)
    decision = operator.on_refund(
        world, deposit.instrument, customer=deposit.customer, amount=refund.amount
    )
    if decision is not None:
        world.schedule(decision.due, "refund.answer", refund, **decision.data)
    world.schedule(
        calendar.plus(world.now, days=settings(world).refund_expiry_days), "refund.expire", refund
    )


def answer_now(world: World, id: str, code: str | None) -> Refund:
    """Have the operator answer a refund in progress early; with a ``code`` the refund fails."""
    refund = get_or_404(world, Refund, id)
    STATE_MACHINE.require(refund, "succeed", "be answered")
    return answer(world, refund, code)


def answer(world: World, refund: Refund, code: str | None) -> Refund:
    """Apply the operator's answer: money returned or, with a ``code``, nothing debited."""
    world.cancel_jobs(refund)
    if code is not None:
        return STATE_MACHINE.transition(world, refund, "fail", failure_reason=code)
    deposit = world.require(Transaction, refund.transaction)
    description = f"Refund {refund.id}"
    transactions.record_refund(
        world, deposit, refund.amount, description=description, metadata=refund.metadata
    )
    return STATE_MACHINE.transition(world, refund, "succeed", refunded_at=world.now)


def expire(world: World, refund: Refund, job: Job) -> None:
    """Job ``refund.expire``: no answer came; the funds return to the merchant balance."""
    world.cancel_jobs(refund)
    STATE_MACHINE.transition(world, refund, "expire")


DISPUTE_LOST = "dispute_lost"
"""The ``failure_reason`` of a refund whose money the buyer has got back by a dispute (B-56)."""


def end_lost(world: World, deposit: Transaction) -> None:
    """Have the refunds under way of a deposit whose dispute was lost fail, as the next job (B-56).

    The buyer has all of the money back, so that nothing is left to return.
    """
    for refund in world.table(Refund).where("transaction", deposit.id):
        if STATE_MACHINE.allows(refund, "lose dispute"):
            world.cancel_jobs(refund)
            world.schedule(world.now, "refund.lose_dispute", refund)


def lose_dispute(world: World, refund: Refund, job: Job) -> None:
    """Job ``refund.lose_dispute``."""
    STATE_MACHINE.transition(world, refund, "lose dispute", failure_reason=DISPUTE_LOST)


def cancel(world: World, id: str) -> Refund:
    """POST /refunds/{id}/cancel/, while it is ``pending``."""
    refund = get_or_404(world, Refund, id)
    refund = STATE_MACHINE.transition(world, refund, "cancel")
    world.cancel_jobs(refund)
    return refund


JOBS = {
    "refund.send": STATE_MACHINE.job(  # the review is over
        "send",
        lambda world, refund, _: _send(world, STATE_MACHINE.transition(world, refund, "send")),
    ),
    "refund.answer": STATE_MACHINE.job(
        "succeed", lambda world, refund, job: answer(world, refund, job.data.get("code"))
    ),
    "refund.expire": STATE_MACHINE.job("expire", expire),
    "refund.lose_dispute": STATE_MACHINE.job("lose dispute", lose_dispute),
}


OPERATIONS = {
    "listReceipts": list_handler(Receipt),
    "getReceipt": get_handler(Receipt),
    "createRefund": create,
    "listRefunds": list_handler(Refund),
    "getRefund": get_handler(Refund),
    "cancelRefund": cancel,
}
