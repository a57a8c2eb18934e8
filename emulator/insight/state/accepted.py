"""Whether a payment that a next step promises to succeed is let through."""

from __future__ import annotations

from typing import Any, Protocol

from emulator.core.errors import ApiError
from emulator.insight.state import arranged
from emulator.resources.app import clients, security_profiles
from emulator.resources.billing.invoices import Invoice
from emulator.resources.billing.subscriptions import Subscription
from emulator.resources.checkout.checkout_sessions import CheckoutSession
from emulator.resources.customers.customer_records import Customer
from emulator.resources.customers.payment_details import EVERY_TYPE


class Source(arranged.Source, Protocol):
    """Where this is looked up: the world, and the other facts about the object."""

    def get(self, name: str) -> Any: ...


def is_accepted(source: Source, record: Subscription | Invoice | CheckoutSession) -> bool:
    """Return whether its next payment can succeed: not that of a blocked customer, nor one that a
    tester has arranged to fail or that the App may not take.
    """
    world = source.world
    customer = world.get(Customer, record.customer)
    if (customer and customer.is_blocked) or arranged.fails_next(source, record):
        return False
    if isinstance(record, Subscription):
        owed = world.get(Invoice, source.get("owed"))
        return owed is None or _is_allowed(source, owed)
    return _is_allowed(source, record)


def _is_allowed(source: Source, record: Invoice | CheckoutSession) -> bool:
    """Return whether the key and the security profiles allow its buyer's payment (B-04, B-70)."""
    world = source.world
    if isinstance(record, Invoice):
        operation, types, amount = "payInvoicePage", EVERY_TYPE, record.subtotal
    else:
        operation, types = "payCheckoutSession", record.payment_method_types
        amount = sum(line.amount_total for line in record.lines_due)
    try:
        clients.admit_buyer(world, operation)
        security_profiles.check_amount(world, amount)
    except ApiError:
        return False
    return bool(security_profiles.permitted(world, types))
