"""A subscription plan: a price per period, which many subscriptions can have."""

from __future__ import annotations

from typing import ClassVar

from emulator.core.handlers import get_handler, list_handler, new_record, patch_handler
from emulator.core.records import N_, Metadata, Record
from emulator.core.violations import Body, Violations, with_rules
from emulator.core.world import World
from emulator.resources.app import amounts


class SubscriptionPlan(Record, frozen=True, kw_only=True):
    """``amount`` is minor units per period; amount, currency and period never change."""

    prefix: ClassVar[str] = "plan"
    names: ClassVar[tuple[str, str] | None] = (N_("Plan"), N_("Plans"))
    indexes: ClassVar[tuple[str, ...]] = ("active", "currency", "interval")

    object: str = "subscription_plan"
    name: str
    description: str | None
    amount: int
    currency: str
    interval: str
    interval_count: int
    trial_period_days: int
    active: bool = True
    metadata: Metadata
    livemode: bool
    created_at: str
    updated_at: str


@with_rules
def create(world: World, body: Body) -> SubscriptionPlan:
    violations = Violations(body)
    currency = amounts.currency_of(violations, world, body)
    with violations:
        amounts.chargeable(world, body["amount"], currency, "amount")
    violations.done()
    return world.add(
        new_record(
            world, SubscriptionPlan, body, trial_period_days=body.get("trial_period_days", 0)
        )
    )


OPERATIONS = {
    "createSubscriptionPlan": create,
    "getSubscriptionPlan": get_handler(SubscriptionPlan),
    "listSubscriptionPlans": list_handler(SubscriptionPlan),
    "updateSubscriptionPlan": patch_handler(SubscriptionPlan),
}
