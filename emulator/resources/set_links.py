"""What a payment link sells and how long, as a tester sets either (B-59, B-89).

A type of link and a type of validity bring the fields that go with them. Amounts are in minor
units.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from emulator.core.errors import invalid_field, missing_field
from emulator.core.world import World
from emulator.resources.app import amounts
from emulator.resources.catalog import products
from emulator.resources.catalog.products import Product
from emulator.resources.payments.payment_links import LIMITS, PaymentLink

Changed = Mapping[str, Any]

SOLD = ("payment_link_type", "products", "amount", "currency")
"""The fields that say what a link is paid for."""


def follow(world: World, old: PaymentLink, new: PaymentLink, changed: Changed) -> dict[str, Any]:
    """Return the fields that go with those that are set; 422 for those that do not go together."""
    changes: dict[str, Any] = {}
    if any(field in changed for field in ("validity_type", *LIMITS)):
        changes |= _limits(new, changed)
    _check_uses(new.replace(**changes), changed)
    if any(field in changed for field in SOLD):
        changes |= _sold(world, old, new, changed)
    return changes


def _limits(new: PaymentLink, changed: Changed) -> dict[str, Any]:
    """Return a link's ``max_usage`` and ``expires_at``: a ``limited`` one has one of them."""
    if new.validity_type == "limited":
        if new.max_usage is None and new.expires_at is None:
            raise missing_field(
                "max_usage", "is required: a limited link has max_usage, expires_at or both"
            )
        return {}
    own = {"max_usage": 1 if new.validity_type == "one_time" else None, "expires_at": None}
    for field, value in own.items():
        if field in changed and changed[field] != value:
            raise invalid_field(field, "goes with the validity type limited only")
    return own


def _check_uses(new: PaymentLink, changed: Changed) -> None:
    if new.max_usage is None or new.usage_count <= new.max_usage:
        return
    if "usage_count" in changed:
        raise invalid_field(
            "usage_count",
            f"is more than max_usage, which is {new.max_usage}: set max_usage",
        )
    field = "max_usage" if "max_usage" in changed else "validity_type"
    if field in changed:
        raise invalid_field(
            field, f"allows fewer than the {new.usage_count} uses so far: set usage_count"
        )


def _sold(world: World, old: PaymentLink, new: PaymentLink, changed: Changed) -> dict[str, Any]:
    """Return the fields that a link of another type does not have; 422 where they are set."""
    kind = new.payment_link_type
    absent: dict[str, Any] = {}
    if kind != "custom":
        absent["amount"] = None
    if kind != "product":
        absent |= {"products": (), "prices": {}}
    for field, value in absent.items():
        if field in changed and changed[field] != value:
            raise invalid_field(field, f"does not go with the type {kind}: set payment_link_type")
    if kind == "custom":
        if new.amount is None:
            raise missing_field("amount")
        param = "amount" if "amount" in changed else "currency"
        amounts.chargeable(world, new.amount, new.currency, param)
    if kind == "product":
        absent["prices"] = _prices(world, old, new)
    return absent


def _prices(world: World, old: PaymentLink, new: PaymentLink) -> dict[str, int | None]:
    """Return the prices of a link's products: those that it has, and today's for others."""
    if not new.products:
        raise invalid_field("products", "must name at least one product")
    prices: dict[str, int | None] = {}
    for number, id in enumerate(new.products):
        product = world.require(Product, id)
        products.require_currency(product, new.currency, f"products.{number}")
        today = product.unit_amount if product.price_type == "fixed" else None
        prices[id] = old.prices.get(id, today)
    return prices
