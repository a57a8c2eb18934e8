"""The event types of the service, one row each."""

from __future__ import annotations

from typing import NamedTuple


class EventSpec(NamedTuple):
    """One event type: the kind of object it shows, and when it is emitted."""

    object: str
    meaning: str


EVENTS: dict[str, EventSpec] = {
    "payment_intent.succeeded": EventSpec("payment_intent", "A payment intent succeeded."),
    "payment_intent.failed": EventSpec("payment_intent", "A payment intent was canceled after a failure."),
    "transaction.succeeded": EventSpec("transaction", "A transaction was created and completed."),
    "refund.succeeded": EventSpec("refund", "The operator confirmed that the buyer has the money back."),
    "refund.failed": EventSpec("refund", "The operator could not refund."),
    "invoice.paid": EventSpec("invoice", "An invoice was paid."),
    "invoice.payment_overdue": EventSpec("invoice", "The due date passed without payment."),
    "checkout.session.completed": EventSpec("checkout_session", "A checkout session was completed."),
    "subscription.created": EventSpec("subscription", "A subscription was created."),
    "subscription.canceled": EventSpec("subscription", "A subscription was canceled."),
    "subscription.payment_failed": EventSpec("subscription", "An attempt to charge a subscription failed."),
    "subscription.trial_will_end": EventSpec("subscription", "A trial ends in three days."),
    "customer.created": EventSpec("customer", "A customer was created."),
    "customer.deleted": EventSpec("customer", "A customer was deleted."),
}
"""The thirteen listed types and ``subscription.trial_will_end`` (Events section)."""
