"""A product: sold at a fixed price or one the buyer chooses; and line items, which charge for it.

A line item of an invoice or a checkout session is a product, or a description with a price.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import msgspec

from emulator.core.errors import ApiError, invalid_field, missing_field
from emulator.core.handlers import (
    apply_patch,
    check_metadata,
    get_handler,
    get_or_404,
    list_handler,
    new_record,
)
from emulator.core.records import HIDDEN, N_, Metadata, Record, merge_metadata, pick
from emulator.core.violations import Body, Violations, with_rules
from emulator.core.world import World
from emulator.resources.app import amounts


class Product(Record, frozen=True, kw_only=True):
    """``unit_amount`` is minor units of ``currency``; for a free price, only a suggestion."""

    prefix: ClassVar[str] = "prod"
    names: ClassVar[tuple[str, str] | None] = (N_("Product"), N_("Products"))
    indexes: ClassVar[tuple[str, ...]] = ("active", "currency")
    unique: ClassVar[tuple[str, ...]] = ("sku",)

    object: str = "product"
    app: str
    name: str
    description: str | None
    images: tuple[str, ...]
    unit_amount: int
    currency: str
    price_type: str
    active: bool
    metadata: Metadata
    livemode: bool
    created_at: str
    updated_at: str
    sku: Annotated[str | None, HIDDEN]


@with_rules
def create(world: World, body: Body) -> Product:
    """POST /products/: 409 ``DUPLICATE_SKU`` if another product has the same ``sku`` (B-34)."""
    violations = Violations(body)
    currency = amounts.currency_of(violations, world, body)
    with violations:
        price(world, body["unit_amount"], currency, body["price_type"])
    violations.done()
    return world.add(
        new_record(world, Product, body, sku=require_free_sku(world, body.get("metadata", {})))
    )


def price(world: World, unit_amount: int, currency: str | None, price_type: str) -> None:
    """Raise 422 for a fixed price not chargeable (B-23), or a suggested one out of range (B-33)."""
    if price_type == "fixed":
        amounts.chargeable(world, unit_amount, currency, "unit_amount")
    if unit_amount < 0:
        raise invalid_field("unit_amount", "must be at least 0")
    amounts.bounded(world, unit_amount, "unit_amount")


def require_free_sku(world: World, metadata: Metadata, by: Product | None = None) -> str | None:
    """Return the metadata's ``sku`` as text; 409 if another product than ``by`` has it (B-34)."""
    if "sku" not in metadata:
        return None
    sku = str(metadata["sku"])
    holder = world.table(Product).find("sku", sku)
    if holder is not None and holder is not by:
        raise ApiError(
            "DUPLICATE_SKU",
            param="metadata.sku",
            errors={"metadata.sku": [f"is the sku of {holder.id} already"]},
        )
    return sku


@with_rules
def update(world: World, id: str, body: Body) -> Product:
    """PATCH /products/{id}/: earlier sales are not affected, since they copied the price."""
    product = get_or_404(world, Product, id)
    violations = Violations(body)
    with violations:
        if "unit_amount" in body:
            price(world, body["unit_amount"], product.currency, product.price_type)
    check_metadata(violations, product, body)
    violations.done()
    changes = dict(body)
    if "metadata" in body:
        changes["sku"] = require_free_sku(
            world, merge_metadata(product.metadata, body["metadata"]), by=product
        )
    return apply_patch(world, product, changes)


def archive(world: World, id: str) -> dict[str, Any]:
    """DELETE /products/{id}/: archives the product; a PATCH of ``active`` restores it."""
    product = get_or_404(world, Product, id)
    return pick(world.replace(product, active=False), "id", "active", "updated_at")


OPERATIONS = {
    "createProduct": create,
    "listProducts": list_handler(Product),
    "getProduct": get_handler(Product),
    "updateProduct": update,
    "deleteProduct": archive,
}


# -- line items


class Priced(msgspec.Struct, frozen=True, kw_only=True):
    """A line item with its product's name and price, if any; ``unit_amount`` is minor units."""

    product: str | None
    description: str
    quantity: int
    unit_amount: int


def line_item(
    violations: Violations, world: World, item: Body, currency: str | None, param: str
) -> Priced | None:
    """Return one line item of ``param``, None if it breaks a rule; ``currency`` None: invalid."""
    with violations:
        if "product" in item and "description" in item:
            raise invalid_field(
                f"{param}.description", "cannot be given beside a product, whose name is billed"
            )
    with violations:
        name, price = (
            _product(world, item, currency, param) if "product" in item else _free(item, param)
        )
        sent = "unit_amount" if "unit_amount" in item else "product"
        unit_amount = amounts.bounded(world, price, f"{param}.{sent}")
        return Priced(
            product=item.get("product"),
            description=name,
            quantity=item["quantity"],
            unit_amount=unit_amount,
        )
    return None


def _free(item: Mapping[str, Any], param: str) -> tuple[str, int]:
    if "description" not in item and "unit_amount" not in item:
        raise missing_field(
            f"{param}.product", "give a product, or a description with a unit_amount"
        )
    for field in ("description", "unit_amount"):
        if field not in item:
            raise missing_field(f"{param}.{field}", "is required on a line without a product")
    return item["description"], item["unit_amount"]


def _product(
    world: World, item: Mapping[str, Any], currency: str | None, param: str
) -> tuple[str, int]:
    product = on_sale(world, item["product"], currency, f"{param}.product")
    if product.price_type != "free":
        if "unit_amount" in item:
            raise invalid_field(
                f"{param}.unit_amount", "cannot be given beside a product whose price is fixed"
            )
        return product.name, product.unit_amount
    if "unit_amount" not in item:
        raise invalid_field(
            f"{param}.unit_amount", "is required beside a product whose price is free"
        )
    return product.name, item["unit_amount"]


def on_sale(world: World, id: str, currency: str | None, param: str) -> Product:
    """Return the product; 404 if none, 422 if archived or in another currency (B-15)."""
    product = get_or_404(world, Product, id, param)
    if not product.active:
        raise invalid_field(param, "this product is archived")
    if currency is not None:
        require_currency(product, currency, param)
    return product


def require_currency(product: Product, currency: str, param: str) -> None:
    if product.currency != currency:
        raise invalid_field(param, f"{product.id} is sold in {product.currency}, not in {currency}")
