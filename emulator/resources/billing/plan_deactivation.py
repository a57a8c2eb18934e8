"""The end of a subscription plan. It stands above plans and subscriptions: nobody may be subscribed any more."""

from __future__ import annotations

from typing import Any

from emulator.core.handlers import get_or_404
from emulator.core.records import pick
from emulator.core.world import World
from emulator.errors import ApiError
from emulator.resources.billing.subscriptions import Subscription
from emulator.resources.catalog.plans import SubscriptionPlan

RUNNING = ("active", "trialing")
"""States of subscriptions that keep their plan from being deactivated (SubscriptionPlans, DELETE)."""


def deactivate(world: World, id: str) -> dict[str, Any]:
    """DELETE /subscription-plans/{id}/: soft; 409 while subscriptions on it are active or trialing."""
    plan = get_or_404(world, SubscriptionPlan, id)
    if any(subscription.status in RUNNING for subscription in world.table(Subscription).where("plan", id)):
        raise ApiError("PLAN_IN_USE")
    return pick(world.replace(plan, active=False), "id", "active", "updated_at")


OPERATIONS = {"deleteSubscriptionPlan": deactivate}
