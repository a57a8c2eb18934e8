"""A refund: money of a completed deposit on its way back to the buyer, through the channel it came by (B-57)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import msgspec

from emulator.core import calendar
from emulator.core.jobs import Job
from emulator.core.lifecycle import LifeCycle
from emulator.core.records import Metadata, Record
from emulator.core.verbs import find, lister, retriever
from emulator.core.world import World
from emulator.errors import Refusal
from emulator.resources import operator, transactions
from emulator.resources.settings import settings
from emulator.resources.transactions import Transaction

REVIEW_HOURS = 1
"""How long a refund is ``pending`` with the setting ``refund_review``."""


class Refund(Record, frozen=True, kw_only=True):
    """``amount`` is minor units. ``description`` is the merchant's own note, ``failure_reason`` a code."""

    kind: ClassVar[str] = "refund"
    prefix: ClassVar[str] = "refd"
    missing: ClassVar[str] = "REFUND_NOT_FOUND"
    indexes: ClassVar[tuple[str, ...]] = ("transaction", "status")

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
    metadata: Metadata = msgspec.field(default_factory=dict)
    livemode: bool
    created_at: str
    updated_at: str


LIFE = LifeCycle(
    Refund,
    (None, "review", "pending"),
    (None, "send", "processing"),
    ("pending", "send", "processing"),
    ("pending", "cancel", "cancelled"),
    ("processing", "succeed", "succeeded", "refund.succeeded"),
    ("processing", "fail", "failed", "refund.failed"),
    ("processing", "expire", "expired"),
)

COUNTING = ("pending", "processing", "succeeded")
"""The states in which a refund takes from what is left to refund."""


def create(world: World, body: Mapping[str, Any]) -> Refund:
    """POST /refunds/: at most what is left of a completed deposit, and just that where no amount is given."""
    deposit = find(world, Transaction, body["transaction"], "transaction")
    amount = body.get("amount", _refundable(world, deposit))
    _permit(world, deposit, amount)
    review = settings(world).refund_review
    refund = LIFE.start(
        world,
        "review" if review else "send",
        Refund(
            id=world.new_id(Refund),
            transaction=deposit.id,
            amount=amount,
            currency=deposit.currency,
            status="pending" if review else "processing",
            reason=body.get("reason"),
            description=body.get("description"),
            payment_method_type=deposit.payment_method_type,
            metadata=body.get("metadata", {}),
            livemode=world.livemode,
            created_at=world.now,
            updated_at=world.now,
        ),
    )
    if review:
        world.at(calendar.plus(world.now, hours=REVIEW_HOURS), "refund.send", refund)
    else:
        _send(world, refund)
    return refund


def _refundable(world: World, deposit: Transaction) -> int:
    """The amount less the refunds that are pending, processing or succeeded."""
    refunds = world.table(Refund).having("transaction", deposit.id)
    return deposit.amount - sum(refund.amount for refund in refunds if refund.status in COUNTING)


def _permit(world: World, deposit: Transaction, amount: int) -> None:
    rest = _refundable(world, deposit)
    if deposit.type != "deposit" or deposit.status != "completed" or rest <= 0:
        raise Refusal("transaction_not_refundable", param="transaction")
    if amount > rest:
        raise Refusal(
            "refund_amount_exceeds_available",
            param="amount",
            errors={"amount": [f"must be at most {rest}"]},
            available=rest,
        )


def _send(world: World, refund: Refund) -> None:
    """To the operator, who answers later, if only in the next moment, or never (B-57)."""
    deposit = world.one(Transaction, refund.transaction)
    verdict = operator.on_refund(world, deposit.instrument, customer=deposit.customer, amount=refund.amount)
    if verdict.due is not None:
        world.at(verdict.due, "refund.answer", refund, **({"code": verdict.code} if verdict.code else {}))
    world.at(calendar.plus(world.now, days=settings(world).refund_expiry_days), "refund.expire", refund)


def send_later(world: World, job: Job) -> None:
    """Job ``refund.send``: the review is over."""
    refund = world.get(Refund, job.about)
    if refund is not None and LIFE.allows(refund, "send"):
        _send(world, LIFE.move(world, refund, "send"))


def answer_later(world: World, job: Job) -> None:
    """Job ``refund.answer``: silenced where the refund came to its end before."""
    refund = world.get(Refund, job.about)
    if refund is not None and LIFE.allows(refund, "succeed"):
        answer(world, refund, job.data.get("code"))


def answer_now(world: World, id: str, code: str | None) -> Refund:
    """The operator answers a refund it was sent, without waiting for its time."""
    refund = find(world, Refund, id)
    if not LIFE.allows(refund, "succeed"):
        raise Refusal("INVALID_STATUS_TRANSITION", object="refund", status=refund.status, trigger="be answered")
    return answer(world, refund, code)


def answer(world: World, refund: Refund, code: str | None) -> Refund:
    """The operator's answer: the buyer has the money back, or nothing was debited."""
    world.forget(refund)
    if code is not None:
        return LIFE.move(world, refund, "fail", failure_reason=code)
    deposit = world.one(Transaction, refund.transaction)
    transactions.give_back(world, deposit, refund.amount, description=f"Refund {refund.id}", metadata=refund.metadata)
    return LIFE.move(world, refund, "succeed", refunded_at=world.now)


def expire(world: World, job: Job) -> None:
    """Job ``refund.expire``: the operator never answered; the funds are the merchant's again."""
    refund = world.get(Refund, job.about)
    if refund is not None and LIFE.allows(refund, "expire"):
        world.forget(refund)
        LIFE.move(world, refund, "expire")


def cancel(world: World, id: str) -> Refund:
    """POST /refunds/{id}/cancel/: before it is sent to the operator."""
    refund = find(world, Refund, id)
    refund = LIFE.move(world, refund, "cancel")
    world.forget(refund)
    return refund


retrieve = retriever(Refund)
index = lister(Refund)

OPERATIONS = {"createRefund": create, "listRefunds": index, "getRefund": retrieve, "cancelRefund": cancel}
JOBS = {
    "refund.send": send_later,
    "refund.answer": answer_later,
    "refund.expire": expire,
}
