"""Line items of invoices and checkout sessions: each a product, or a description with a price."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from emulator.core.errors import invalid_field, missing_field
from emulator.core.handlers import get_or_404
from emulator.core.validation import Body, Violations
from emulator.core.world import World
from emulator.resources.app import amounts
from emulator.resources.catalog.products import Product


class Priced(msgspec.Struct, frozen=True, kw_only=True):
    """A line item with name and price copied from its product, if any; ``unit_amount`` is in minor units."""

    product: str | None
    description: str
    quantity: int
    unit_amount: int


def priced(world: World, items: Sequence[Mapping[str, Any]], currency: str) -> tuple[Priced, ...]:
    """Check the line items of a request; each has a product, or a description with a unit amount."""
    return tuple(one(world, item, currency, f"line_items.{number}") for number, item in enumerate(items))


def check(found: Violations, world: World, item: Body, currency: str | None, param: str) -> Priced | None:
    """The rules for one line item; the line, or None where it breaks one. ``currency`` is None where it is invalid."""
    with found:
        if "product" in item:
            require_no_description(item, param)
    with found:
        return one(world, item, currency, param)
    return None


def one(world: World, item: Mapping[str, Any], currency: str | None, param: str) -> Priced:
    """Check one line item; ``param`` is the field that held it."""
    name, price = _product(world, item, currency, param) if "product" in item else _free(item, param)
    sent = "unit_amount" if "unit_amount" in item else "product"
    unit_amount = amounts.bounded(world, price, f"{param}.{sent}")
    return Priced(product=item.get("product"), description=name, quantity=item["quantity"], unit_amount=unit_amount)


def _free(item: Mapping[str, Any], param: str) -> tuple[str, int]:
    if "description" not in item and "unit_amount" not in item:
        raise missing_field(f"{param}.product", "give a product, or a description with a unit_amount")
    for field in ("description", "unit_amount"):
        if field not in item:
            raise missing_field(f"{param}.{field}", "is required on a line without a product")
    return item["description"], item["unit_amount"]


def require_no_description(item: Mapping[str, Any], param: str) -> None:
    """Raise 422 for a line of a product that has a description as well."""
    if "description" in item:
        raise invalid_field(f"{param}.description", "cannot be given beside a product, whose name is billed")


def _product(world: World, item: Mapping[str, Any], currency: str | None, param: str) -> tuple[str, int]:
    product = on_sale(world, item["product"], currency, f"{param}.product")
    if product.price_type == "free":
        if "unit_amount" not in item:
            raise invalid_field(f"{param}.unit_amount", "is required beside a product whose price is free")
        require_no_description(item, param)
        return product.name, item["unit_amount"]
    if "unit_amount" in item:
        raise invalid_field(f"{param}.unit_amount", "cannot be given beside a product whose price is fixed")
    require_no_description(item, param)
    return product.name, product.unit_amount


def on_sale(world: World, id: str, currency: str | None, param: str) -> Product:
    """The product with this id; 404 if there is none, 422 if it is archived or sold in another currency (B-15)."""
    product = get_or_404(world, Product, id, param)
    if not product.active:
        raise invalid_field(param, "this product is archived")
    if currency is not None:
        require_currency(product, currency, param)
    return product


def require_currency(product: Product, currency: str, param: str) -> None:
    """Raise 422 for a product that is sold in another currency."""
    if product.currency != currency:
        raise invalid_field(param, f"{product.id} is sold in {product.currency}, not in {currency}")
