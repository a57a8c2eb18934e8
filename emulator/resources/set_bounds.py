"""Values that a field may have by the document, but not beside the other fields of its object.

Set directly, they are refused (B-89): no request to the service leads to them. Amounts are in minor
units. Each kind of object that has such values has one function in ``BOUNDS``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from emulator.core.errors import invalid_field
from emulator.core.handlers import get_or_404
from emulator.core.records import Record
from emulator.core.unit_of_work import Event
from emulator.core.world import World
from emulator.resources.app import amounts
from emulator.resources.catalog import products
from emulator.resources.catalog.plans import SubscriptionPlan
from emulator.resources.catalog.products import Product
from emulator.resources.customers import customer_records, payment_details
from emulator.resources.customers.customer_records import Address, Customer
from emulator.resources.customers.payment_methods import PaymentMethod
from emulator.resources.webhooks.endpoints import WebhookEndpoint

Changed = Mapping[str, Any]
"""The fields that get another value, with that value."""


def check(world: World, old: Record, changed: Changed) -> None:
    """Raise 422 for a value that no object of this kind has beside its other fields, and 404 for
    the id of no object.
    """
    for param, kind, id in _references(changed):
        get_or_404(world, kind, id, param)
    new = old.replace(**changed)
    _check_owner(world, new, changed)
    if changed and (rule := BOUNDS.get(type(old))) is not None:
        rule(world, new, changed)


# -- ids of other objects (B-15)


NAMED: Mapping[str, type[Record]] = {
    "customer": Customer,
    "event": Event,
    "payment_method": PaymentMethod,
    "plan": SubscriptionPlan,
    "product": Product,
    "webhook": WebhookEndpoint,
}
"""The fields in which an object names another one. Further such fields are set by operations."""


def _references(changed: Changed) -> Iterator[tuple[str, type[Record], str]]:
    """Yield the ids among the values: each with its field and the kind of object."""
    for field, value in changed.items():
        if field in NAMED and value is not None:
            yield field, NAMED[field], value
        elif field == "products":
            yield from ((f"products.{number}", Product, id) for number, id in enumerate(value))
        elif field == "line_items":
            for number, line in enumerate(value):
                if line.product is not None:
                    yield f"line_items.{number}.product", Product, line.product


def _check_owner(world: World, new: Any, changed: Changed) -> None:
    """Raise 422 for an object of one customer with the payment method of another."""
    if not changed.keys() & {"customer", "payment_method"} or new.kind == "payment_method":
        return
    method = world.get(PaymentMethod, getattr(new, "payment_method", None))
    if method is not None and new.customer not in (None, method.customer):
        field = "payment_method" if "payment_method" in changed else "customer"
        raise invalid_field(field, "this method belongs to another customer")


# -- fields that depend on others


def _method(world: World, new: PaymentMethod, changed: Changed) -> None:
    if "details" in changed:
        payment_details.check_details(new.details, new.type)
    if changed.get("status") == "active":
        ends = payment_details.expiry(new.instrument)
        if ends is not None and ends <= world.now:
            raise invalid_field(
                "status", "active needs a card that has not expired: set details as well"
            )


def _product(world: World, new: Product, changed: Changed) -> None:
    if changed.keys() & {"unit_amount", "currency", "price_type"}:
        products.price(world, new.unit_amount, new.currency, new.price_type)


def _plan(world: World, new: SubscriptionPlan, changed: Changed) -> None:
    if changed.keys() & {"amount", "currency"}:
        amounts.chargeable(world, new.amount, new.currency, "amount")


def _address(world: World, new: Address, changed: Changed) -> None:
    customer_records.check_country(world, changed)


BOUNDS: Mapping[type[Record], Callable[[World, Any, Changed], None]] = {
    Address: _address,
    PaymentMethod: _method,
    Product: _product,
    SubscriptionPlan: _plan,
}
