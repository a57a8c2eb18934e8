"""A payment link: a page that can be shared, on which many buyers can pay (B-59)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import msgspec

from emulator.core import calendar
from emulator.core.errors import invalid_field, missing_field
from emulator.core.handlers import (
    apply_patch,
    check_metadata,
    get_handler,
    get_or_404,
    list_handler,
)
from emulator.core.records import HIDDEN, N_, Metadata, Record, pick
from emulator.core.state_machine import StateMachine
from emulator.core.violations import Body, Violations, with_rules
from emulator.core.world import World
from emulator.resources.app import amounts
from emulator.resources.catalog import products
from emulator.resources.catalog.products import Product
from emulator.resources.customers import payment_details


class RedirectUrl(msgspec.Struct, frozen=True, kw_only=True):
    """Where the buyer is sent afterwards; null: the general confirmation page."""

    success: str | None = None
    cancel: str | None = None


class PaymentLink(Record, frozen=True, kw_only=True):
    """``amount``: minor units, for ``custom`` links only; ``usage_count``: payments initiated."""

    prefix: ClassVar[str] = "link"
    names: ClassVar[tuple[str, str] | None] = (N_("Payment link"), N_("Payment links"))
    indexes: ClassVar[tuple[str, ...]] = ("status", "payment_link_type", "currency")

    object: str = "payment_link"
    name: str | None
    url: str
    payment_link_type: str
    currency: str
    amount: int | None
    products: tuple[str, ...]
    status: str
    validity_type: str
    max_usage: int | None
    usage_count: int = 0
    expires_at: str | None
    redirect_url: RedirectUrl
    payment_method_types: tuple[str, ...]
    collect_customer_info: bool
    allow_quantity: bool
    livemode: bool
    metadata: Metadata
    created_at: str
    updated_at: str
    # Each product's price when the link was created (Products, PATCH: a new price is for new
    # links); null: the buyer enters the amount.
    prices: Annotated[Mapping[str, int | None], HIDDEN] = msgspec.field(default_factory=dict)


LIMITS = ("max_usage", "expires_at")
"""The fields that limit the use of a ``limited`` link."""

STATE_MACHINE = StateMachine(
    PaymentLink,
    (None, "create", "active"),
    ("active", "archive", "archived"),
    ("archived", "restore", "active"),
)


# -- operations


@with_rules
def create(world: World, body: Body) -> PaymentLink:
    """POST /payment-links/: usable at once (B-59)."""
    violations = Violations(body)
    kind: str | None = None
    with violations:
        kind = body["payment_link_type"] if "payment_link_type" in body else _default_type(body)
    currency = amounts.currency_of(violations, world, body)
    with violations:
        sold = _products(violations, world, kind, body, currency)
    with violations:
        # The amount of a custom link, in minor units; ignored for other types.
        amount = (
            amounts.chargeable(world, body["amount"], currency, "amount")
            if kind == "custom"
            else None
        )
    with violations:
        types = payment_details.offered(world, body)
    _check_limits(violations, world, body)
    with violations:
        if (
            body["validity_type"] == "limited"
            and "max_usage" not in body
            and "expires_at" not in body
        ):
            raise missing_field(
                "max_usage", "is required: a limited link has max_usage, expires_at or both"
            )
    violations.done()
    id = world.new_id(PaymentLink)
    once = {"max_usage": 1} if body["validity_type"] == "one_time" else {}
    return STATE_MACHINE.create(
        world,
        "create",
        body,
        id=id,
        name=body.get("name") or next((product.name for product in sold), None),
        url=world.link(f"/pay/{id}"),
        payment_link_type=kind,
        amount=amount,
        products=tuple(product.id for product in sold),
        prices={
            product.id: product.unit_amount if product.price_type == "fixed" else None
            for product in sold
        },
        redirect_url=RedirectUrl(**body.get("redirect_url", {})),
        payment_method_types=types,
        **{**once, **_limits(body)},
    )


def _default_type(body: Mapping[str, Any]) -> str:
    """Return the type of a link whose body names none (B-59)."""
    if "products" in body:
        return "product"
    return "custom" if "amount" in body else "donation"


def _products(
    violations: Violations, world: World, kind: str | None, body: Body, currency: str | None
) -> list[Product]:
    """Return the products of a ``product`` link; other types have none."""
    if kind != "product":
        return []
    if not body["products"]:
        raise invalid_field("products", "must name at least one product")
    sold: dict[str, Product] = {}
    for number, id in enumerate(body["products"]):
        with violations:
            product = sold[id] = products.on_sale(world, id, currency, f"products.{number}")
            if product.price_type == "fixed":
                amounts.chargeable(
                    world, product.unit_amount, product.currency, f"products.{number}"
                )
    return [*sold.values()]


def _limits(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``max_usage`` and ``expires_at`` of the body, as they are stored."""
    limits = {field: body[field] for field in LIMITS if field in body}
    if "expires_at" in limits:
        limits["expires_at"] = _end(body)
    return limits


def _end(body: Mapping[str, Any]) -> str | None:
    ends = body.get("expires_at")
    return None if ends is None else calendar.normalise(ends)


def _check_limits(
    violations: Violations, world: World, body: Body, link: PaymentLink | None = None
) -> None:
    for field in LIMITS:
        with violations:
            validity_type = body["validity_type"] if link is None else link.validity_type
            if (
                field in body
                and validity_type != "limited"
                and body[field] != getattr(link, field, None)
            ):
                raise invalid_field(field, "goes with the validity type limited only")
    with violations:
        ends = _end(body)
        # A client may send back what it has read of a link whose time is over.
        is_kept = link is not None and ends == link.expires_at
        if ends is not None and ends <= world.now and not is_kept:
            raise invalid_field("expires_at", "must be in the future")


@with_rules
def update(world: World, id: str, body: Body) -> PaymentLink:
    """PATCH /payment-links/{id}/: past uses count; a limited link keeps one of its limits (B-59).

    A ``redirect_url`` replaces the whole old one.
    """
    link = get_or_404(world, PaymentLink, id)
    violations = Violations(body)
    changes: dict[str, Any] = {}
    _check_limits(violations, world, body, link)
    with violations:
        if "payment_method_types" in body:
            changes["payment_method_types"] = payment_details.offered(world, body)
    with violations:
        if (body.get("max_usage") or link.usage_count) < link.usage_count:
            raise invalid_field(
                "max_usage", f"must be at least {link.usage_count}, the uses so far"
            )
    with violations:
        limits = {field: getattr(link, field) for field in LIMITS}
        if link.validity_type == "limited" and all(
            {**limits, **body}[field] is None for field in LIMITS
        ):
            for field in LIMITS:
                with violations:
                    if limits[field] is not None:
                        raise invalid_field(
                            field, "is the last limit of this link and cannot be taken away"
                        )
    check_metadata(violations, link, body)
    violations.done()
    if "redirect_url" in body:
        changes["redirect_url"] = RedirectUrl(**body["redirect_url"])
    return apply_patch(world, link, {**body, **_limits(body), **changes})


def delete(world: World, id: str) -> None:
    """DELETE /payment-links/{id}/: permanent; its payments stay."""
    world.remove(get_or_404(world, PaymentLink, id))


def archive(world: World, id: str) -> dict[str, Any]:
    """POST /payment-links/{id}/archive/: its page is no longer reachable."""
    link = STATE_MACHINE.transition(world, get_or_404(world, PaymentLink, id), "archive")
    return pick(link, "id", "status", "updated_at")


def restore(world: World, id: str) -> PaymentLink:
    return STATE_MACHINE.transition(world, get_or_404(world, PaymentLink, id), "restore")


# -- use by buyers


def closed(world: World, link: PaymentLink) -> str | None:
    """Return ``archived``, ``exhausted`` or ``expired`` for a link closed to payments (B-59)."""
    if link.status == "archived":
        return "archived"
    if link.max_usage is not None and link.usage_count >= link.max_usage:
        return "exhausted"
    if link.expires_at is not None and link.expires_at <= world.now:
        return "expired"
    return None


OPERATIONS = {
    "createPaymentLink": create,
    "listPaymentLinks": list_handler(PaymentLink),
    "getPaymentLink": get_handler(PaymentLink),
    "updatePaymentLink": update,
    "deletePaymentLink": delete,
    "archivePaymentLink": archive,
    "restorePaymentLink": restore,
}
