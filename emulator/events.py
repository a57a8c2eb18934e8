"""The vocabulary of news: every event a merchant's server can be told about is one row here."""

from __future__ import annotations

from typing import NamedTuple


class Row(NamedTuple):
    """One event type: the kind of object it shows and what brings it about."""

    object: str
    meaning: str


EVENTS: dict[str, Row] = {
    "payment_intent.succeeded": Row("payment_intent", "A payment intent succeeded."),
    "payment_intent.failed": Row("payment_intent", "A payment intent was canceled after a failure."),
    "transaction.succeeded": Row("transaction", "A transaction was created and completed."),
    "refund.succeeded": Row("refund", "The operator confirmed that the buyer has the money back."),
    "refund.failed": Row("refund", "The operator could not refund."),
    "invoice.paid": Row("invoice", "An invoice was paid."),
    "invoice.payment_overdue": Row("invoice", "The due date passed without payment."),
    "checkout.session.completed": Row("checkout_session", "A checkout session was completed."),
    "subscription.created": Row("subscription", "A subscription was created."),
    "subscription.canceled": Row("subscription", "A subscription was canceled."),
    "subscription.payment_failed": Row("subscription", "An attempt to charge a subscription failed."),
    "subscription.trial_will_end": Row("subscription", "A trial ends in three days."),
    "customer.created": Row("customer", "A customer was created."),
    "customer.deleted": Row("customer", "A customer was deleted."),
}
"""The thirteen listed types and ``subscription.trial_will_end`` (Events section)."""
