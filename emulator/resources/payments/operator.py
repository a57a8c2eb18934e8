"""The payment operator, simulated: it decides how each payment and each refund ends.

An outcome that the tester arranged comes first, then the magic value paid with (B-54, B-55, B-57, B-94).
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
"""Seconds that a mobile money buyer has to confirm on the phone (Limits)."""


class OperatorDecision(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a payment: success, or failure with a ``code``, given at ``due``.

    ``step``: the buyer has to pass a card check first, and until then there is no answer.
    """

    code: str | None
    due: Timestamp
    step: bool = False


def on_payment(
    world: World, details: PaymentDetails, *, customer: str | None, amount: int, off_session: bool
) -> OperatorDecision:
    """Decide a payment of ``amount`` minor units sent now. ``off_session``: the buyer is not present."""
    magic = payment_details.magic_of(world, details)
    own = settings(world)
    arranged = outcomes.consume(world, "payment", customer=customer, amount=amount, payment_method_type=details.type)
    delay = magic.after or timedelta(seconds=own.operator_delay)
    if arranged is not None:
        return OperatorDecision(code=arranged.code, due=_later(world, delay))
    if details.type == "mobile_money" and own.mobile_money == "handset":
        return OperatorDecision(code="MOBILE_MONEY_TIMEOUT", due=_later(world, timedelta(seconds=PROMPT_SECONDS)))
    code = (off_session and magic.off_session) or magic.code
    return OperatorDecision(code=code, due=_later(world, delay), step=magic.step)


def on_save(world: World, details: PaymentDetails, *, customer: str | None) -> OperatorDecision:
    """Decide whether a method can be saved that nothing is paid with now: as a payment would end (B-58)."""
    magic = payment_details.magic_of(world, details)
    arranged = outcomes.consume(world, "payment", customer=customer, amount=0, payment_method_type=details.type)
    due = _later(world, magic.after)
    if arranged is not None:
        return OperatorDecision(code=arranged.code, due=due)
    return OperatorDecision(code=magic.code, due=due, step=magic.step)


def settles(world: World, details: PaymentDetails) -> Timestamp | None:
    """When the money of a payment that succeeds now arrives; None: at once."""
    delay = payment_details.magic_of(world, details).settles
    return _later(world, delay) if delay else None


def disputed(world: World, details: PaymentDetails) -> Timestamp | None:
    """When the buyer disputes a transaction that completes now; None: never."""
    delay = payment_details.magic_of(world, details).disputed
    return _later(world, delay) if delay else None


class RefundDecision(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a refund: success, or failure with a ``code``, given at ``due``; None: it is never answered."""

    code: str | None
    due: Timestamp | None


def on_refund(world: World, details: PaymentDetails, *, customer: str | None, amount: int) -> RefundDecision:
    """Decide a refund of ``amount`` minor units sent now."""
    magic = payment_details.magic_of(world, details)
    arranged = outcomes.consume(world, "refund", customer=customer, amount=amount, payment_method_type=details.type)
    due = _refund_due(world, details.type)
    if arranged is not None:
        return RefundDecision(code=arranged.code, due=due)
    if magic.refund == "unanswered":
        return RefundDecision(code=None, due=None)
    return RefundDecision(code=outcomes.DEFAULT_FAILURE_CODE["refund"] if magic.refund == "failed" else None, due=due)


def _refund_due(world: World, type: str) -> Timestamp:
    """The lower bound of the documented delay of each channel (B-57)."""
    if settings(world).refund_timing == "instant" or type == "paypal":
        return world.now
    if type == "bank_card":
        return calendar.business_days_after(world.now, 3)
    return calendar.plus(world.now, hours=24)


def _later(world: World, delay: timedelta) -> Timestamp:
    return calendar.plus(world.now, seconds=delay.total_seconds()) if delay else world.now
