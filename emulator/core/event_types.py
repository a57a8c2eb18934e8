"""The table of events: everything a merchant's server can be notified of, one row a type.

The documents' enumerations of events, the schema of each event and its entry under ``x-webhooks``
are made from it (``emulator/document/event_schemas.py``); the catalog, the command line and the
guide list it.
"""

from __future__ import annotations

from typing import NamedTuple


class EventSpec(NamedTuple):
    """One event type: the kind of object it shows, and its cause in short and in full."""

    object: str
    summary: str
    meaning: str
    metadata: str | None = None
    """What ``data.metadata`` may hold (B-80)."""
    assumption: str | None = None
    """The assumption by which it exists; None for an event of the specification."""


_METADATA_OF_PLAN = "Metadata of the plan, if the subscription has one."

EVENTS: dict[str, EventSpec] = {
    "payment_intent.succeeded": EventSpec(
        "payment_intent",
        "A payment intent succeeded",
        "A payment intent succeeded.",
        metadata=(
            "Metadata of the product that was sold and of the payment link that was used, where"
            " there are such."
        ),
    ),
    "payment_intent.failed": EventSpec(
        "payment_intent",
        "A payment intent failed",
        "A payment intent was canceled after a failure.",
    ),
    "transaction.succeeded": EventSpec(
        "transaction",
        "A transaction was completed",
        "A transaction was completed, either at its creation or after it was pending.",
    ),
    "refund.succeeded": EventSpec(
        "refund",
        "A refund was paid out",
        "The operator confirmed a refund; the buyer has the money back.",
    ),
    "refund.failed": EventSpec(
        "refund",
        "A refund failed",
        "The operator could not carry out a refund; nothing was debited.",
    ),
    "invoice.paid": EventSpec("invoice", "An invoice was paid", "An invoice was paid."),
    "invoice.payment_overdue": EventSpec(
        "invoice",
        "An invoice is overdue",
        "The due date of an open invoice passed without payment.",
    ),
    "checkout.session.completed": EventSpec(
        "checkout_session",
        "A checkout session is complete",
        "A checkout session is complete.",
        metadata="Metadata of the product, if one was sold; of several, the first line's.",
    ),
    "subscription.created": EventSpec(
        "subscription",
        "A subscription was created",
        "A subscription was created.",
        metadata=_METADATA_OF_PLAN,
    ),
    "subscription.canceled": EventSpec(
        "subscription",
        "A subscription was canceled",
        "A subscription was canceled.",
        metadata=_METADATA_OF_PLAN,
    ),
    "subscription.payment_failed": EventSpec(
        "subscription",
        "A renewal could not be charged",
        "An attempt to charge a subscription failed. Every failed attempt sends one.",
    ),
    "subscription.trial_will_end": EventSpec(
        "subscription",
        "A trial is about to end",
        "A trial ends in three days, or sooner where it is shorter than that.",
    ),
    "customer.created": EventSpec("customer", "A customer was created", "A customer was created."),
    "customer.deleted": EventSpec(
        "customer",
        "A customer was deleted",
        "A customer was deleted. The object is the customer as it last was.",
    ),
}
"""The thirteen listed types and ``subscription.trial_will_end`` (Events section)."""
