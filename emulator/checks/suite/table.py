"""The table of wrong services, by area."""

from __future__ import annotations

from collections.abc import Mapping

from emulator.checks.suite.seams import Doubt
from emulator.checks.suite.wrong_billing import INVOICES, SUBSCRIPTIONS
from emulator.checks.suite.wrong_customers import CHECKOUT, CUSTOMERS
from emulator.checks.suite.wrong_payments import PAYMENTS, REFUNDS
from emulator.checks.suite.wrong_requests import REQUESTS, WEBHOOKS

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
