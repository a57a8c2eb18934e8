"""The terms of a subscription: price and period, plan and product, payment method and end date, from a request body."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from emulator.core import calendar
from emulator.core.errors import invalid_field
from emulator.core.handlers import get_or_404
from emulator.core.validation import Body, Violations
from emulator.core.world import World
from emulator.resources.app import amounts
from emulator.resources.app.settings import settings
from emulator.resources.billing.subscriptions import Subscription
from emulator.resources.catalog.plans import SubscriptionPlan
from emulator.resources.catalog.products import Product
from emulator.resources.customers import payment_methods
from emulator.resources.customers.payment_methods import PaymentMethod

Terms = dict[str, Any]
"""``plan``, ``product``, ``currency``, ``unit_amount``, ``interval`` and ``interval_count`` as a subscription has them,
and ``trial_period_days``."""


def check(found: Violations, world: World, body: Body) -> None:
    """The rules for the terms of a new subscription (B-40)."""
    product: Product | None = None
    with found:
        product = _product(world, body)
    with found:
        if "plan" in body:
            _check_against_plan(found, world, body)
    currency: str | None = None
    with found:
        if "plan" not in body:
            currency = _currency(world, body, product)
    with found:
        if "plan" not in body:
            amounts.chargeable(world, body["unit_amount"], currency, "unit_amount")


def _check_against_plan(found: Violations, world: World, body: Body) -> None:
    plan = get_or_404(world, SubscriptionPlan, body["plan"], "plan")
    with found:
        _chargeable_plan(world, plan.id)
    with found:
        if "unit_amount" in body:
            raise invalid_field("unit_amount", "cannot be given beside a plan")
    for field in ("interval", "interval_count", "currency"):
        with found:
            if body.get(field, getattr(plan, field)) != getattr(plan, field):
                raise invalid_field(field, f"must equal the plan's, {getattr(plan, field)}")


def agreed(world: World, body: Mapping[str, Any]) -> Terms:
    """The plan's terms where one is named, else the body's (B-40)."""
    product = _product(world, body)
    terms = _from_plan(world, body) if "plan" in body else _from_body(world, body, product)
    return {**terms, "product": product and product.id}


def _from_plan(world: World, body: Mapping[str, Any]) -> Terms:
    plan = _chargeable_plan(world, body["plan"])
    return {
        "plan": plan.id,
        "currency": plan.currency,
        "unit_amount": plan.amount,
        "interval": plan.interval,
        "interval_count": plan.interval_count,
        "trial_period_days": plan.trial_period_days,
    }


def _from_body(world: World, body: Mapping[str, Any], product: Product | None) -> Terms:
    currency = _currency(world, body, product)
    return {
        "plan": None,
        "currency": currency,
        "unit_amount": amounts.chargeable(world, body["unit_amount"], currency, "unit_amount"),
        "interval": body["interval"],
        "interval_count": body.get("interval_count", 1),
        "trial_period_days": 0,
    }


def _currency(world: World, body: Mapping[str, Any], product: Product | None) -> str:
    """The product's currency, else the body's, else the App's main one (B-40)."""
    if product is None:
        return amounts.enabled(world, body.get("currency") or settings(world).main_currency)
    if body.get("currency", product.currency) != product.currency:
        raise invalid_field("currency", f"must equal the product's, {product.currency}")
    return amounts.enabled(world, product.currency)


def _product(world: World, body: Mapping[str, Any]) -> Product | None:
    if "product" not in body:
        return None
    product = get_or_404(world, Product, body["product"], "product")
    if not product.active:
        raise invalid_field("product", "this product is archived")
    return product


def _chargeable_plan(world: World, id: str) -> SubscriptionPlan:
    """The plan with this id; 422 where it is deactivated, or its amount none that the App charges (B-15, B-23)."""
    plan = get_or_404(world, SubscriptionPlan, id, "plan")
    if not plan.active:
        raise invalid_field("plan", "this plan is deactivated")
    amounts.chargeable(world, plan.amount, plan.currency, "plan")
    return plan


def check_new_plan(found: Violations, world: World, id: str, subscription: Subscription) -> None:
    """The rules for the plan a subscription moves to: it is active and has the same period and currency (B-40)."""
    plan = get_or_404(world, SubscriptionPlan, id, "plan")
    with found:
        _chargeable_plan(world, plan.id)
    for field in ("interval", "interval_count", "currency"):
        with found:
            if getattr(plan, field) != getattr(subscription, field):
                message = f"its {field} must equal the subscription's, {getattr(subscription, field)}"
                raise invalid_field("plan", message)


def payment_method(world: World, customer: str, body: Mapping[str, Any]) -> str | None:
    """The id of the method to charge: the one in the body, an active one of this customer, else the default's."""
    if "payment_method" not in body:
        default = payment_methods.default(world, customer)
        return None if default is None else default.id
    method = get_or_404(world, PaymentMethod, body["payment_method"], "payment_method")
    if method.customer != customer or method.status != "active":
        raise invalid_field("payment_method", "must be an active method of this customer")
    return method.id


def end_date(world: World, body: Mapping[str, Any]) -> str | None:
    """The instant it expires, which must be in the future (B-40)."""
    if "ends_at" not in body:
        return None
    ends_at = calendar.normalise(body["ends_at"])
    if ends_at <= world.now:
        raise invalid_field("ends_at", "must be in the future")
    return ends_at
