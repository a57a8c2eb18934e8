"""The lines of an invoice, each with its amount."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from emulator.core import money
from emulator.core.validation import Body, Violations
from emulator.core.world import World
from emulator.resources.app.settings import settings
from emulator.resources.catalog import line_items
from emulator.resources.catalog.products import Product


class InvoiceLine(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One line; amounts are minor units, ``amount`` is ``quantity * unit_amount``."""

    product: str | None
    description: str
    quantity: int
    unit_amount: int
    amount: int


InvoiceLines = tuple[InvoiceLine, ...]


def line(*, product: str | None, description: str, quantity: int, unit_amount: int) -> InvoiceLine:
    """A line with its amount."""
    return InvoiceLine(
        product=product,
        description=description,
        quantity=quantity,
        unit_amount=unit_amount,
        amount=unit_amount if quantity == 1 else quantity * unit_amount,  # one object for both numbers
    )


def check(found: Violations, world: World, items: Sequence[Body], currency: str | None) -> InvoiceLines | None:
    """The rules for the lines a merchant asks for; the lines, or None where one breaks a rule."""
    sold = [line_items.check(found, world, item, currency, f"line_items.{number}") for number, item in enumerate(items)]
    return None if None in sold else tuple(line(**msgspec.structs.asdict(each)) for each in sold if each)


def priced(world: World, items: Sequence[Mapping[str, Any]], currency: str) -> InvoiceLines:
    """The lines a merchant asks for (Invoices)."""
    sold = line_items.priced(world, items, currency)
    return tuple(line(**msgspec.structs.asdict(each)) for each in sold)


def totals(world: World, lines: InvoiceLines) -> Mapping[str, Any]:
    """The amounts of an invoice with these lines (minor units), and the rate of its tax in per cent.

    Tax is that rate of the subtotal, half up (B-23, B-65).
    """
    return _totals(sum(line.amount for line in lines), settings(world).tax_rate)


@lru_cache(maxsize=4096)  # plans have few prices and many subscribers, whose invoices share these numbers
def _totals(subtotal: int, rate: float) -> Mapping[str, Any]:
    tax = money.percent(subtotal, rate)
    sums = {"subtotal": subtotal, "tax_amount": tax, "total": subtotal + tax, "amount_remaining": subtotal + tax}
    # A float whatever number was set: a stored invoice is read back with one.
    return {**sums, "tax_rate": float(rate)}


def check_currency(world: World, lines: InvoiceLines, currency: str) -> None:
    """422 when the lines bill a product that is sold in another currency."""
    for billed in lines:
        product = world.get(Product, billed.product)
        if product is not None:
            line_items.require_currency(product, currency, "currency")
