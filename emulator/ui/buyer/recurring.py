"""What the subscription that begins on a checkout page charges later, and when."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from emulator.core import calendar
from emulator.core.world import World
from emulator.resources.billing import invoice_lines
from emulator.resources.billing.subscriptions import Subscription
from emulator.resources.checkout.checkout_sessions import CheckoutSession


def amount_and_period(world: World, session: CheckoutSession) -> dict[str, Any] | None:
    """What a subscription will charge each period (minor units, tax included), and how often."""
    if session.terms is None:
        return None
    line = invoice_lines.line(product=None, description="", quantity=1, unit_amount=session.terms["unit_amount"])
    each = invoice_lines.totals(world, (line,))["total"]
    return {**only_terms(session.terms), "amount": each}


def next_charge_at(world: World, session: CheckoutSession) -> str | None:
    """When the subscription that began here charges again; before that, when it would if it began now."""
    if session.terms is None:
        return None
    begun = world.get(Subscription, session.subscription)
    if begun is not None:
        charges = begun.status in ("active", "trialing", "past_due") and not begun.cancel_at_period_end
        return begun.current_period_end if charges else None
    if days := session.terms["trial_period_days"]:
        return calendar.plus(world.now, days=days)
    return calendar.step(world.now, session.terms["interval"], session.terms["interval_count"])


def only_terms(terms: Mapping[str, Any]) -> dict[str, Any]:
    """The period of a subscription's terms."""
    return {name: terms[name] for name in ("interval", "interval_count", "trial_period_days")}
