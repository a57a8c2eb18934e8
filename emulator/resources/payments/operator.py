"""The operator: the party behind the payments, simulated; it alone decides what becomes of a payment and its refund.

What the tester arranged comes first, then the magic of the value that is paid with (B-54, B-55, B-57, B-94).
"""

from __future__ import annotations

from datetime import timedelta

import msgspec

from emulator.core import calendar
from emulator.core.calendar import Timestamp
from emulator.core.world import World
from emulator.resources.app.settings import settings
from emulator.resources.customers import payment_details
from emulator.resources.customers.payment_details import PaymentDetails
from emulator.resources.payments import outcomes

PROMPT_SECONDS = 180
"""Seconds a mobile money buyer has to confirm on the phone (Limits)."""


class OperatorDecision(msgspec.Struct, frozen=True, kw_only=True):
    """What will be answered to a payment: success, or failure with a ``code``, at ``due``.

    ``step`` asks the buyer to pass a check of the card first, and then no answer comes by itself.
    """

    code: str | None
    due: Timestamp
    step: bool = False


def on_payment(
    world: World, instrument: PaymentDetails, *, customer: str | None, amount: int, off_session: bool
) -> OperatorDecision:
    """What the operator makes of a payment sent to it now. ``off_session``: charged while the buyer is not there."""
    line = payment_details.magic_of(world, instrument)
    own = settings(world)
    arranged = outcomes.consume(world, "payment", customer=customer, amount=amount, payment_method_type=instrument.type)
    delay = line.after or timedelta(seconds=own.operator_delay)
    if arranged is not None:
        return OperatorDecision(code=arranged.code, due=_later(world, delay))
    if instrument.type == "mobile_money" and own.mobile_money == "handset":
        return OperatorDecision(code="MOBILE_MONEY_TIMEOUT", due=_later(world, timedelta(seconds=PROMPT_SECONDS)))
    code = (off_session and line.off_session) or line.code
    return OperatorDecision(code=code, due=_later(world, delay), step=line.step)


def settles(world: World, instrument: PaymentDetails) -> Timestamp | None:
    """When the money of a payment that succeeds now is there; None: at once."""
    delay = payment_details.magic_of(world, instrument).settles
    return _later(world, delay) if delay else None


def disputed(world: World, instrument: PaymentDetails) -> Timestamp | None:
    """When the buyer contests a transaction that completes now; None: never."""
    delay = payment_details.magic_of(world, instrument).disputed
    return _later(world, delay) if delay else None


class RefundDecision(msgspec.Struct, frozen=True, kw_only=True):
    """What will be answered to a refund: success, or failure with a ``code``, at ``due``; never where that is None."""

    code: str | None
    due: Timestamp | None


def on_refund(world: World, instrument: PaymentDetails, *, customer: str | None, amount: int) -> RefundDecision:
    """What the operator makes of a refund sent to it now."""
    line = payment_details.magic_of(world, instrument)
    arranged = outcomes.consume(world, "refund", customer=customer, amount=amount, payment_method_type=instrument.type)
    due = _refund_due(world, instrument.type)
    if arranged is not None:
        return RefundDecision(code=arranged.code, due=due)
    if line.refund == "unanswered":
        return RefundDecision(code=None, due=None)
    return RefundDecision(code=outcomes.DEFAULT_FAILURE_CODE["refund"] if line.refund == "failed" else None, due=due)


def _refund_due(world: World, type: str) -> Timestamp:
    """The lower bound of the documented delay of each channel (B-57)."""
    if settings(world).refund_timing == "instant" or type == "paypal":
        return world.now
    if type == "bank_card":
        return calendar.business_days_after(world.now, 3)
    return calendar.plus(world.now, hours=24)


def _later(world: World, delay: timedelta) -> Timestamp:
    return calendar.plus(world.now, seconds=delay.total_seconds()) if delay else world.now
