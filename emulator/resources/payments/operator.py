"""The simulated operator: it ends payments and refunds by rule, or as a tester arranged (B-94)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, ClassVar

import msgspec

from emulator.core import calendar
from emulator.core.calendar import Timestamp
from emulator.core.errors import invalid_field
from emulator.core.handlers import new_record
from emulator.core.records import Record
from emulator.core.world import World
from emulator.resources import faults
from emulator.resources.app.settings import settings
from emulator.resources.customers import payment_details
from emulator.resources.customers.payment_details import MagicValue, PaymentDetails

# -- arranged outcomes: the tester decides how the next payments, refunds or deliveries end


class OutcomeMatch(msgspec.Struct, frozen=True, kw_only=True):
    """Which operations an outcome applies to; null fits any. ``amount`` is minor units."""

    customer: str | None = None
    amount: int | None = None
    payment_method_type: str | None = None

    def fits(self, facts: Mapping[str, Any]) -> bool:
        """Return whether a payment, refund or delivery with these facts is one of them."""
        wanted = msgspec.structs.asdict(self)
        return all(facts.get(name) == value for name, value in wanted.items() if value is not None)


class Outcome(Record, frozen=True, kw_only=True):
    """``times``: how often it still applies; after the last time it is removed."""

    prefix: ClassVar[str] = "outc"
    indexes: ClassVar[tuple[str, ...]] = ("operation",)

    object: str = "outcome"
    operation: str
    result: str
    code: str | None
    times: int
    match: OutcomeMatch
    created_at: str


DEFAULT_FAILURE_CODE: Mapping[str, str | None] = {
    "payment": "PAYMENT_METHOD_NOT_SUPPORTED",
    "refund": "UPSTREAM_ERROR",
    "delivery": None,
}
"""The code of a failure if the tester gave no code."""


REJECTION_CODES: Mapping[str, str] = {
    "mobile_money": "MOBILE_MONEY_REJECTED",
    "bank_card": "PAYMENT_METHOD_NOT_SUPPORTED",
    "bank_transfer": "INSUFFICIENT_FUNDS",
    "paypal": "PAYMENT_METHOD_NOT_SUPPORTED",
}
"""The code with which a payment fails when the buyer, or a tester in their place, rejects it."""


def rejection_code(world: World, about: str, type: str | None) -> str:
    """Return the code of a payment or saving (id) that is to fail now, by its type of method.

    If the operator was going to decline it, that answer's own code (B-94).
    """
    planned = (job.data.get("code") for job in world.jobs.where("about", about))
    return next(filter(None, planned), None) or REJECTION_CODES[type or "bank_card"]


def arrange(world: World, body: Mapping[str, Any]) -> Outcome:
    code = failure_code(body, body["operation"])
    return world.add(
        new_record(world, Outcome, body, code=code, match=OutcomeMatch(**body["match"]))
    )


def failure_code(body: Mapping[str, Any], operation: str) -> str | None:
    """Return a failed outcome's code, None for success; 422 for a code with ``succeeded``."""
    if body["result"] == "failed":
        return body.get("code") or DEFAULT_FAILURE_CODE[operation]
    if body.get("code") is not None:
        raise invalid_field("code", "goes with the result failed only")
    return None


def consume(world: World, /, operation: str, **facts: Any) -> Outcome | None:
    """Return the outcome arranged first that fits this operation, if any; it is used up by one."""
    for outcome in world.table(Outcome).where("operation", operation):
        if outcome.match.fits(facts):
            faults.use_up(world, outcome)
            return outcome
    return None


# -- the operator


DOWN = "UPSTREAM_ERROR"
"""The code with which a payment fails while its operator is down."""

UNANSWERED = "MOBILE_MONEY_TIMEOUT"
"""The code with which a payment fails whose buyer has not answered on the phone in time."""

PROMPT_SECONDS = 180
"""Seconds that a mobile money buyer has to confirm on the phone (Limits)."""


class OperatorDecision(msgspec.Struct, frozen=True, kw_only=True):
    """The operator's answer to a payment, refund or saving at ``due``; ``code`` if it fails.

    ``step``: the buyer has to pass a card check first. There is no answer until then; at ``due`` it
    is too late (B-54). ``returns``: the buyer opens the success URL without having paid.
    """

    code: str | None
    due: Timestamp
    step: bool = False
    returns: bool = False

    @property
    def is_unanswered(self) -> bool:
        """Whether there is no answer, since the buyer does not confirm on the phone in time."""
        return self.code == UNANSWERED

    @property
    def data(self) -> dict[str, str]:
        """The data of the job in which the operator answers."""
        return {"code": self.code} if self.code else {}


def on_payment(
    world: World,
    details: PaymentDetails,
    *,
    customer: str | None,
    amount: int,
    off_session: bool,
    latest: Timestamp = calendar.LAST,
) -> OperatorDecision:
    """Decide on ``amount`` (minor units), sent now. ``off_session``: without the buyer.

    ``latest``: when a card check of the buyer's has to be passed at the latest.
    """
    magic = payment_details.magic_of(world, details)
    own = settings(world)
    facts = {
        "operator": payment_details.operator_name(details),
        "payment_method_type": details.type,
    }
    has_faults = world.holds(faults.Fault)
    fault = None
    if has_faults and not off_session:
        fault = faults.pick_fault(world, faults.ANSWER, lambda match: match.fits(**facts))
    arranged = consume(
        world, "payment", customer=customer, amount=amount, payment_method_type=details.type
    )
    delay = answers_after(world, magic)
    if fault is not None:
        code = (arranged and arranged.code) or magic.code
        after = timedelta(seconds=fault.seconds)
        return OperatorDecision(
            code=code or (DEFAULT_FAILURE_CODE["payment"] if fault.then.refused else None),
            # Nobody who has the time to answer is said not to have answered.
            due=_later(world, max(delay, after) if code == UNANSWERED else after),
            returns=fault.then.returns,
        )
    if arranged is not None:
        return OperatorDecision(code=arranged.code, due=_later(world, delay))
    outage = faults.outage(world, **facts) if has_faults else None
    if outage is not None and outage.then.outage == "declined":
        return OperatorDecision(code=DOWN, due=world.now)
    if outage is not None:
        # Without an end, a silent operator says nothing for as long as a buyer has to confirm.
        ends_at = outage.ends_at or calendar.plus(world.now, seconds=PROMPT_SECONDS)
        delay = max(delay, calendar.parse(ends_at) - calendar.parse(world.now))
    if details.type == "mobile_money" and own.mobile_money == "handset":
        return OperatorDecision(
            code=UNANSWERED, due=_later(world, timedelta(seconds=PROMPT_SECONDS))
        )
    if magic.step:
        return _card_check(world, latest)
    code = (off_session and magic.off_session) or magic.code
    return OperatorDecision(code=code, due=_later(world, delay))


def answers_after(world: World, magic: MagicValue) -> timedelta:
    """Return how long the operator takes for a payment with a value of this meaning."""
    return magic.after or timedelta(seconds=settings(world).operator_delay)


def _card_check(world: World, latest: Timestamp) -> OperatorDecision:
    due = calendar.plus(world.now, seconds=settings(world).confirmation_timeout)
    return OperatorDecision(code=None, due=min(due, latest), step=True)


def on_save(
    world: World, details: PaymentDetails, *, customer: str | None, latest: Timestamp
) -> OperatorDecision:
    """Decide whether a method can be saved without a payment, as a payment would end (B-58).

    A bank account is saved at once, since no funds have to arrive (B-54). No phone is asked.
    """
    magic = payment_details.magic_of(world, details)
    arranged = consume(
        world, "payment", customer=customer, amount=0, payment_method_type=details.type
    )
    delay = answers_after(world, magic)
    due = world.now if details.type == "bank_transfer" else _later(world, delay)
    if arranged is not None:
        return OperatorDecision(code=arranged.code, due=due)
    return _card_check(world, latest) if magic.step else OperatorDecision(code=magic.code, due=due)


def settles(world: World, details: PaymentDetails) -> Timestamp | None:
    """Return when the money of a payment that succeeds now arrives; None: at once."""
    delay = payment_details.magic_of(world, details).settles
    return _later(world, delay) if delay else None


def disputed(world: World, details: PaymentDetails) -> Timestamp | None:
    """Return when the buyer disputes a transaction that completes now; None: never."""
    delay = payment_details.magic_of(world, details).disputed
    return _later(world, delay) if delay else None


def on_refund(
    world: World, details: PaymentDetails, *, customer: str | None, amount: int
) -> OperatorDecision | None:
    """Decide a refund of ``amount`` minor units sent now; None: it is never answered."""
    magic = payment_details.magic_of(world, details)
    arranged = consume(
        world, "refund", customer=customer, amount=amount, payment_method_type=details.type
    )
    due = _refund_due(world, details.type)
    fault = _refund_fault(world, details) if world.holds(faults.Fault) else None
    if fault is not None:
        due = _later(world, timedelta(seconds=fault.seconds))
        refused = DEFAULT_FAILURE_CODE["refund"] if fault.then.refused else None
        return OperatorDecision(code=(arranged and arranged.code) or refused, due=due)
    if arranged is not None:
        return OperatorDecision(code=arranged.code, due=due)
    if magic.refund == "unanswered":
        return None
    return OperatorDecision(
        code=DEFAULT_FAILURE_CODE["refund"] if magic.refund == "failed" else None, due=due
    )


def _refund_fault(world: World, details: PaymentDetails) -> faults.Fault | None:
    facts = {
        "operator": payment_details.operator_name(details),
        "payment_method_type": details.type,
    }
    return faults.pick_fault(world, faults.REFUND, lambda match: match.fits(**facts))


def _refund_due(world: World, type: str) -> Timestamp:
    """Return the lower bound of the documented delay of each channel (B-57)."""
    if settings(world).refund_timing == "instant" or type == "paypal":
        return world.now
    if type == "bank_card":
        return calendar.business_days_after(world.now, 3)
    return calendar.plus(world.now, hours=24)


def _later(world: World, delay: timedelta) -> Timestamp:
    return calendar.plus(world.now, seconds=delay.total_seconds()) if delay else world.now
