"""The end of a subscription plan. It stands above plans and subscriptions: nobody may be subscribed any more."""

from __future__ import annotations

from typing import Any

from emulator.core.records import only
from emulator.core.verbs import find
from emulator.core.world import World
from emulator.errors import Refusal
from emulator.resources.plans import SubscriptionPlan
from emulator.resources.subscriptions import Subscription

RUNNING = ("active", "trialing")
"""States of subscriptions that keep their plan from being deactivated (SubscriptionPlans, DELETE)."""


def deactivate(world: World, id: str) -> dict[str, Any]:
    """DELETE /subscription-plans/{id}/: soft; 409 while subscriptions on it are active or trialing."""
    plan = find(world, SubscriptionPlan, id)
    if any(subscription.status in RUNNING for subscription in world.table(Subscription).having("plan", id)):
        raise Refusal("PLAN_IN_USE")
    return only(world.replace(plan, active=False), "id", "active", "updated_at")


OPERATIONS = {"deleteSubscriptionPlan": deactivate}
