"""A product: something that is sold at a fixed price, or at a price the buyer chooses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from emulator.core.errors import ApiError, invalid_field
from emulator.core.handlers import apply_patch, get_handler, get_or_404, list_handler, new_record
from emulator.core.records import HIDDEN, Metadata, Record, merge_metadata, pick
from emulator.core.translatable import N_
from emulator.core.validation import Body, Violations
from emulator.core.world import World
from emulator.resources.app import amounts


class Product(Record, frozen=True, kw_only=True):
    """``unit_amount`` is in minor units of ``currency``; if the price is free, it is only a suggestion."""

    kind: ClassVar[str] = "product"
    prefix: ClassVar[str] = "prod"
    names: ClassVar[tuple[str, str] | None] = (N_("Product"), N_("Products"))
    not_found_code: ClassVar[str] = "PRODUCT_NOT_FOUND"
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


def check(found: Violations, world: World, body: Body) -> None:
    """The rules for a new product: its currency and its price."""
    currency: str | None = None
    with found:
        currency = amounts.enabled(world, body["currency"])
    with found:
        price(world, body["unit_amount"], currency, body["price_type"])


def check_update(found: Violations, world: World, id: str, body: Body) -> None:
    """The rule for a new price."""
    product = world.get(Product, id)
    with found:
        if product is not None and "unit_amount" in body:
            price(world, body["unit_amount"], product.currency, product.price_type)


def create(world: World, body: Mapping[str, Any]) -> Product:
    """POST /products/: 409 ``DUPLICATE_SKU`` if another product has the ``sku`` of the metadata (B-34)."""
    return world.add(new_record(world, Product, body, sku=require_free_sku(world, body.get("metadata", {}))))


def price(world: World, unit_amount: int, currency: str | None, price_type: str) -> None:
    """Raise 422 for a fixed price that cannot be charged (B-23) and a suggested one below 0 (B-33) or too large."""
    if price_type == "fixed":
        amounts.chargeable(world, unit_amount, currency, "unit_amount")
    if unit_amount < 0:
        raise invalid_field("unit_amount", "must be at least 0")
    amounts.bounded(world, unit_amount, "unit_amount")


def require_free_sku(world: World, metadata: Metadata, by: Product | None = None) -> str | None:
    """The ``sku`` in a product's metadata as text; 409 if a product of the App other than ``by`` has it (B-34)."""
    if "sku" not in metadata:
        return None
    sku = str(metadata["sku"])
    holder = world.table(Product).find("sku", sku)
    if holder is not None and holder is not by:
        raise ApiError(
            "DUPLICATE_SKU", param="metadata.sku", errors={"metadata.sku": [f"is the sku of {holder.id} already"]}
        )
    return sku


def update(world: World, id: str, body: Mapping[str, Any]) -> Product:
    """PATCH /products/{id}/: earlier sales are not affected, since they copied the price."""
    product = get_or_404(world, Product, id)
    changes = dict(body)
    if "metadata" in body:
        changes["sku"] = require_free_sku(world, merge_metadata(product.metadata, body["metadata"]), by=product)
    return apply_patch(world, product, changes)


def archive(world: World, id: str) -> dict[str, Any]:
    """DELETE /products/{id}/: archives the product; a PATCH of ``active`` restores it."""
    product = get_or_404(world, Product, id)
    return pick(world.replace(product, active=False), "id", "active", "updated_at")


retrieve = get_handler(Product)
index = list_handler(Product)

OPERATIONS = {
    "createProduct": create,
    "listProducts": index,
    "getProduct": retrieve,
    "updateProduct": update,
    "deleteProduct": archive,
}
