"""The table of events: everything a merchant's server can be notified of, one row a type.

The documents' enumerations of events, the schema of each event and its entry under ``x-webhooks`` are made from it
(``emulator/document/event_schemas.py``); the catalog, the command line and the guide list it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class EventSpec(NamedTuple):
    """One event type: the kind of object it shows, and when it happens, in a few words and in a sentence or two."""

    object: str
    summary: str
    meaning: str
    assumption: str | None = None
    """The assumption by which it exists; None for an event of the specification."""
    metadata: str | None = None
    """What ``data.metadata`` may hold (B-80)."""
    example: Mapping[str, Any] = {}
    """The fields in which the object of the documented example differs from the example that a GET shows."""
    example_at: str = "2026-01-15T09:31:00.000Z"
    """When the example happens."""
    example_request: str | None = "req_7Hq2LmX9vB4tKz1NcR8wPd5s"
    """The request that causes the example; None where a job does."""
    example_metadata: Mapping[str, Any] = {}
    """The ``data.metadata`` of the example."""


_METADATA_OF_PLAN = "Metadata of the plan, if the subscription has one."

_TRIAL: Mapping[str, Any] = {
    "status": "trialing",
    "unit_amount": 10000,
    "current_period_end": "2026-01-29T09:30:00.000Z",
    "trial_start": "2026-01-15T09:30:00.000Z",
    "trial_end": "2026-01-29T09:30:00.000Z",
    "plan": "plan_9Yb3nH6mJ1uK4iL7oP2aS5dF",
}

EVENTS: dict[str, EventSpec] = {
    "payment_intent.succeeded": EventSpec(
        object="payment_intent",
        summary="A payment intent succeeded",
        meaning="A payment intent succeeded.",
        metadata="Metadata of the product that was sold and of the payment link that was used, where there are such.",
        example={
            "amount_received": 15000,
            "status": "succeeded",
            "transaction": "trans_8Zx2cV5bN9mL3kJ6hG1fD4sA",
            "updated_at": "2026-01-15T09:31:00.000Z",
        },
    ),
    "payment_intent.failed": EventSpec(
        object="payment_intent",
        summary="A payment intent failed",
        meaning="A payment intent was canceled after a failure.",
        example={
            "status": "canceled",
            "last_error": {"code": "INSUFFICIENT_FUNDS", "message": "The payer does not have enough money."},
            "canceled_at": "2026-01-15T09:31:00.000Z",
            "updated_at": "2026-01-15T09:31:00.000Z",
        },
    ),
    "transaction.succeeded": EventSpec(
        object="transaction",
        summary="A transaction was completed",
        meaning="A transaction was completed, either at its creation or after it was pending.",
    ),
    "refund.succeeded": EventSpec(
        object="refund",
        summary="A refund was paid out",
        meaning="The operator confirmed a refund; the buyer has the money back.",
        example_at="2026-01-17T08:00:00.000Z",
        example_request=None,
    ),
    "refund.failed": EventSpec(
        object="refund",
        summary="A refund failed",
        meaning="The operator could not carry out a refund; nothing was debited.",
        example={
            "status": "failed",
            "failure_reason": "The operator could not return the money.",
            "refunded_at": None,
        },
        example_at="2026-01-17T08:00:00.000Z",
        example_request=None,
    ),
    "invoice.paid": EventSpec(
        object="invoice",
        summary="An invoice was paid",
        meaning="An invoice was paid.",
        example={
            "status": "paid",
            "amount_paid": 32500,
            "amount_remaining": 0,
            "payment_intent": "pi_3Ty6uI9oP4aS7dF1gH8jK2lZ",
            "transaction": "trans_8Zx2cV5bN9mL3kJ6hG1fD4sA",
            "updated_at": "2026-01-16T08:00:00.000Z",
        },
        example_at="2026-01-16T08:00:00.000Z",
    ),
    "invoice.payment_overdue": EventSpec(
        object="invoice",
        summary="An invoice is overdue",
        meaning="The due date of an open invoice passed without payment.",
        example_at="2026-02-15T00:00:00.000Z",
        example_request=None,
    ),
    "checkout.session.completed": EventSpec(
        object="checkout_session",
        summary="A checkout session is complete",
        meaning="A checkout session is complete.",
        metadata="Metadata of the product, if one was sold; of several, the first line's.",
        example_at="2026-01-15T09:35:00.000Z",
        example_request=None,
    ),
    "subscription.created": EventSpec(
        object="subscription",
        summary="A subscription was created",
        meaning="A subscription was created.",
        metadata=_METADATA_OF_PLAN,
        example=_TRIAL,
        example_at="2026-01-15T09:30:00.000Z",
        example_metadata={"plan": {"tier": "premium"}},
    ),
    "subscription.canceled": EventSpec(
        object="subscription",
        summary="A subscription was canceled",
        meaning="A subscription was canceled.",
        metadata=_METADATA_OF_PLAN,
        example={
            **_TRIAL,
            "status": "canceled",
            "canceled_at": "2026-01-20T08:00:00.000Z",
            "updated_at": "2026-01-20T08:00:00.000Z",
        },
        example_at="2026-01-20T08:00:00.000Z",
        example_metadata={"plan": {"tier": "premium"}},
    ),
    "subscription.payment_failed": EventSpec(
        object="subscription",
        summary="A renewal could not be charged",
        meaning="An attempt to charge a subscription failed. Every failed attempt sends one.",
        example={
            "status": "past_due",
            "current_period_start": "2026-02-15T09:30:00.000Z",
            "current_period_end": "2026-03-15T09:30:00.000Z",
            "updated_at": "2026-02-15T09:30:00.000Z",
        },
        example_at="2026-02-15T09:30:00.000Z",
        example_request=None,
    ),
    "subscription.trial_will_end": EventSpec(
        object="subscription",
        summary="A trial is about to end",
        meaning="A trial ends in three days, or sooner where it is shorter than that.",
        example=_TRIAL,
        example_at="2026-01-26T09:30:00.000Z",
        example_request=None,
    ),
    "customer.created": EventSpec(
        object="customer",
        summary="A customer was created",
        meaning="A customer was created.",
        example_at="2026-01-15T09:30:00.000Z",
    ),
    "customer.deleted": EventSpec(
        object="customer",
        summary="A customer was deleted",
        meaning="A customer was deleted. The object is the customer as it last was.",
        example_at="2026-01-20T08:00:00.000Z",
    ),
}
"""The thirteen listed types and ``subscription.trial_will_end`` (Events section)."""
