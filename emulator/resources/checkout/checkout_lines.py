"""The lines of a checkout session: products and free lines like those of an invoice, and at most one plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from emulator.core.errors import invalid_field
from emulator.core.handlers import get_or_404
from emulator.core.validation import Body, Violations
from emulator.core.world import World
from emulator.resources.billing import invoice_lines, subscription_terms
from emulator.resources.billing.invoice_lines import InvoiceLine
from emulator.resources.billing.subscription_terms import Terms
from emulator.resources.catalog import line_items
from emulator.resources.catalog.line_items import Priced
from emulator.resources.catalog.plans import SubscriptionPlan

Item = Mapping[str, Any]


class CheckoutLine(msgspec.Struct, frozen=True, kw_only=True):
    """One line; amounts are minor units, ``amount_total`` is ``quantity * unit_amount``."""

    product: str | None
    description: str
    quantity: int
    unit_amount: int
    amount_total: int


CheckoutLines = tuple[CheckoutLine, ...]


def check(found: Violations, world: World, items: Sequence[Body], currency: str | None) -> CheckoutLines | None:
    """The rules for each line; the lines, or None where one breaks a rule."""
    sold = [_check(found, world, item, currency, f"line_items.{number}") for number, item in enumerate(items)]
    return None if None in sold else tuple(_with_total(each) for each in sold if each)


def _check(found: Violations, world: World, item: Body, currency: str | None, param: str) -> Priced | None:
    with found:
        if "plan" not in item:
            return line_items.check(found, world, item, currency, param)
        return _plan_line(world, item, currency, param)
    return None


def check_plans(found: Violations, items: Sequence[Body], mode: str | None) -> None:
    """A plan stands in ``subscription`` mode, on one line, alone and with quantity 1 (B-58)."""
    first: int | None = None
    for number, item in enumerate(items):
        with found:
            if "plan" in item:
                _check_plan_line(found, item, mode, f"line_items.{number}")
                if first is not None:
                    raise invalid_field(f"line_items.{number}.plan", "only one line may hold a plan")
                first = number


def _check_plan_line(found: Violations, item: Body, mode: str | None, param: str) -> None:
    with found:
        if mode not in ("subscription", None):
            raise invalid_field(f"{param}.plan", "goes with the mode subscription only")
    for field in ("product", "description", "unit_amount"):
        with found:
            if field in item:
                raise invalid_field(f"{param}.{field}", "cannot be given beside a plan")
    with found:
        if item["quantity"] != 1:
            raise invalid_field(f"{param}.quantity", "must be 1 on a line with a plan")


def priced(world: World, items: Sequence[Item], currency: str) -> CheckoutLines:
    """The lines a merchant asks for, names and prices copied as they are now."""
    sold = (_priced(world, item, currency, f"line_items.{number}") for number, item in enumerate(items))
    return tuple(map(_with_total, sold))


def _with_total(line: Priced) -> CheckoutLine:
    return CheckoutLine(**msgspec.structs.asdict(line), amount_total=line.quantity * line.unit_amount)


def _priced(world: World, item: Item, currency: str, param: str) -> Priced:
    return (_plan_line if "plan" in item else line_items.one)(world, item, currency, param)


def _plan_line(world: World, item: Item, currency: str | None, param: str) -> Priced:
    plan = get_or_404(world, SubscriptionPlan, item["plan"], f"{param}.plan")
    if not plan.active:
        raise invalid_field(f"{param}.plan", "this plan is deactivated")
    if currency not in (plan.currency, None):
        raise invalid_field(f"{param}.plan", f"{plan.id} charges {plan.currency}, not {currency}")
    return Priced(product=None, description=plan.name, quantity=1, unit_amount=plan.amount)


def terms(world: World, body: Item, lines: CheckoutLines, currency: str) -> Terms:
    """The terms of a session in ``subscription`` mode (B-58): its plan's, or the lines' total each period, which is a
    month where ``subscription_data`` does not say otherwise.
    """
    plan = next((item["plan"] for item in body["line_items"] if "plan" in item), None)
    if plan is not None:
        return subscription_terms.agreed(world, {"plan": plan})
    data = body.get("subscription_data") or {"interval": "month"}
    price = {"unit_amount": sum(line.amount_total for line in lines), "currency": currency}
    product = next(({"product": line.product} for line in lines if line.product), {})
    return {**subscription_terms.agreed(world, {**price, **product, **data}), **data}


def one_off(items: Sequence[Item], lines: CheckoutLines) -> CheckoutLines:
    """The lines that are billed once, beside the plan; without a plan there are none."""
    if not any("plan" in item for item in items):
        return ()
    return tuple(line for item, line in zip(items, lines, strict=True) if "plan" not in item)


def billed(lines: CheckoutLines) -> tuple[InvoiceLine, ...]:
    """The same lines on an invoice."""
    return tuple(
        invoice_lines.line(
            product=line.product, description=line.description, quantity=line.quantity, unit_amount=line.unit_amount
        )
        for line in lines
    )
