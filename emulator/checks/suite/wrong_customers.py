"""Wrong services: checkout sessions and customers."""

from __future__ import annotations

from typing import Any

from emulator.checks.suite.seams import Doubt, Seam, changed, never_emitted, never_run, shown, shown_as
from emulator.resources.checkout.checkout_sessions import CheckoutSession
from emulator.resources.customers.customer_records import Customer


def _not_stored(old: Customer, new: Customer) -> dict[str, Any]:
    return {field: getattr(old, field) for field in ("email", "firstname", "lastname", "phone")}


def _without_metadata(thing: Any) -> Any:
    return {**thing, "metadata": {}} if thing.get("metadata") else thing


CHECKOUT = (
    Doubt(
        "session-completed-never-sent",
        "the service never sends `checkout.session.completed`",
        "Assert the event, or what your application does because of it.",
        never_emitted("checkout.session.completed"),
    ),
    Doubt(
        "session-total-too-high",
        "the total of a checkout session is one minor unit too high",
        "Assert `amount_total`, or what the buyer pays.",
        shown(CheckoutSession, lambda session: {"amount_total": session["amount_total"] + 1}),
    ),
    Doubt(
        "session-stays-open",
        "a checkout session that was paid stays open",
        "Assert the status of the session after its payment.",
        shown_as(CheckoutSession, "complete", "open"),
    ),
    Doubt(
        "session-never-expires",
        "a checkout session never expires",
        "Move the clock beyond the session's end, and assert that it cannot be paid any more.",
        never_run("checkout_session.expire"),
    ),
)

CUSTOMERS = (
    Doubt(
        "metadata-lost",
        "metadata is lost",
        "Assert the metadata by which your application finds its own objects.",
        (Seam.SHOWN, _without_metadata),
    ),
    Doubt(
        "customer-change-lost",
        "a change of a customer is not stored",
        "Assert the customer after the change.",
        changed(Customer, _not_stored),
    ),
    Doubt(
        "customer-spent-too-much",
        "`total_spent` of a customer is one minor unit too high",
        "Assert what the customer has spent.",
        shown(Customer, lambda it: {"total_spent": it["total_spent"] + 1} if it["total_spent"] else {}),
    ),
    Doubt(
        "customer-deleted-never-sent",
        "the service never sends `customer.deleted`",
        "Assert the event, or what your application does because of it.",
        never_emitted("customer.deleted"),
    ),
)
