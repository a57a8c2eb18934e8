"""The table of wrong services, by area."""

from __future__ import annotations

from collections.abc import Mapping

from emulator.doubt.seams import Doubt
from emulator.doubt.wrong_billing import INVOICES, SUBSCRIPTIONS
from emulator.doubt.wrong_customers import CHECKOUT, CUSTOMERS
from emulator.doubt.wrong_payments import PAYMENTS, REFUNDS
from emulator.doubt.wrong_requests import REQUESTS, WEBHOOKS

AREAS: Mapping[str, tuple[Doubt, ...]] = {
    "Payments": PAYMENTS,
    "Refunds": REFUNDS,
    "Checkout": CHECKOUT,
    "Invoices": INVOICES,
    "Subscriptions": SUBSCRIPTIONS,
    "Customers": CUSTOMERS,
    "Webhooks": WEBHOOKS,
    "Requests": REQUESTS,
}

DOUBTS: Mapping[str, Doubt] = {doubt.name: doubt for area in AREAS.values() for doubt in area}
"""Every wrong service by its name."""
