"""Columns: what a list shows of each kind of object, and how single fields are shown."""

from __future__ import annotations

from collections.abc import Mapping

from emulator.control import objects
from emulator.core.records import Record
from emulator.resources.registry import REGISTRY

_CHOSEN: Mapping[str, tuple[str, ...]] = {
    "customer": ("firstname", "lastname", "email", "status"),
    "subscription": ("status", "customer", "unit_amount", "interval", "current_period_end"),
    "invoice": ("invoice_number", "status", "customer_email", "total", "due_date"),
    "payment_intent": ("status", "amount", "payment_method_type", "customer"),
    "transaction": ("status", "type", "amount", "payment_method_type"),
    "refund": ("status", "amount", "transaction", "reason"),
    "receipt": ("number", "amount", "customer_email"),
    "checkout_session": ("status", "mode", "amount_total", "customer_email"),
    "payment_link": ("name", "status", "payment_link_type", "amount", "usage_count"),
    "payment_method": ("type", "status", "customer"),
    "product": ("name", "unit_amount", "active"),
    "subscription_plan": ("name", "amount", "interval", "active"),
    "address": ("customer", "line1", "city", "country"),
    "security_profile": ("name", "max_amount"),
    "webhook_endpoint": ("name", "url", "enabled"),
    "webhook_delivery": ("status", "event_type", "webhook", "attempt_count"),
    "event": ("type",),
}
"""The kinds, in the order people look for them, each with its columns between id and creation."""

_FEW = 4
_SHOWN_ANYWAY = frozenset({"id", "object", "app", "metadata", "livemode", "created_at", "updated_at"})


def _first_fields(kind: type[Record]) -> tuple[str, ...]:
    fields = (name for name in kind.__struct_fields__ if name not in _SHOWN_ANYWAY)
    return tuple(fields)[:_FEW]


_OTHERS = {
    kind.kind: _first_fields(kind) for kind in REGISTRY.kinds if kind.kind not in _CHOSEN and objects.documented(kind)
}

COLUMNS: Mapping[str, tuple[str, ...]] = {**_CHOSEN, **_OTHERS}
"""The columns of every kind; a kind for which none are chosen shows its first fields."""

IN_NAMES: Mapping[str, frozenset[str]] = {
    "customer": frozenset({"firstname", "lastname"}),
    "subscription": frozenset({"customer", "unit_amount", "interval"}),
    "invoice": frozenset({"invoice_number", "customer_email", "total"}),
    "payment_intent": frozenset({"amount", "customer"}),
    "transaction": frozenset({"amount"}),
    "refund": frozenset({"amount"}),
    "receipt": frozenset({"number", "amount"}),
    "checkout_session": frozenset({"amount_total"}),
    "payment_link": frozenset({"name"}),
    "payment_method": frozenset({"customer"}),
    "product": frozenset({"name"}),
    "subscription_plan": frozenset({"name", "amount"}),
    "address": frozenset({"line1", "city"}),
    "security_profile": frozenset({"name"}),
    "webhook_endpoint": frozenset({"name"}),
}
"""The columns that a list leaves out, since the name of the object says the same."""

PILLS = frozenset({"status", "active", "enabled"})
"""Fields that are drawn as a pill."""

TONES: Mapping[str, str] = {
    "succeeded": "good",
    "completed": "good",
    "paid": "good",
    "active": "good",
    "settled": "good",
    "true": "good",
    "open": "info",
    "trialing": "info",
    "processing": "info",
    "created": "info",
    "pending": "warn",
    "past_due": "warn",
    "unpaid": "warn",
    "overdue": "warn",
    "requires_action": "warn",
    "requires_capture": "warn",
    "paused": "warn",
    "failed": "bad",
    "disputed": "bad",
    "blocked": "bad",
    "false": "plain",
}
"""The tone a status is coloured in; those not listed are plain."""


def tone(status: object) -> str:
    """The tone of a status, of a flag or of an HTTP status."""
    if isinstance(status, int) and not isinstance(status, bool):
        return "good" if status < 400 else "warn" if status < 500 else "bad"
    return TONES.get(str(status).lower(), "plain")
