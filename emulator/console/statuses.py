"""Statuses: how the console calls the status of an object. French words agree with *statut*, whatever the object."""

from __future__ import annotations

from collections.abc import Mapping

from emulator.core.translatable import N_
from emulator.i18n.language import Language

STATUSES: Mapping[str, str] = {
    "active": N_("active"),
    "approved": N_("approved"),
    "archived": N_("archived"),
    "blocked": N_("blocked"),
    "canceled": N_("canceled"),
    "cancelled": N_("cancelled"),
    "complete": N_("complete"),
    "completed": N_("completed"),
    "disputed": N_("disputed"),
    "draft": N_("draft"),
    "expired": N_("expired"),
    "failed": N_("failed"),
    "inactive": N_("inactive"),
    "open": N_("open"),
    "paid": N_("paid"),
    "past_due": N_("past due"),
    "paused": N_("paused"),
    "payment_failed": N_("payment failed"),
    "pending": N_("pending"),
    "processing": N_("processing"),
    "refunded": N_("refunded"),
    "requires_action": N_("requires action"),
    "requires_capture": N_("requires capture"),
    "requires_confirmation": N_("requires confirmation"),
    "requires_payment_method": N_("requires payment method"),
    "succeeded": N_("succeeded"),
    "trialing": N_("trialing"),
    "uncollectible": N_("uncollectible"),
    "unpaid": N_("unpaid"),
    "void": N_("void"),
}
"""Every status that a life cycle has, and those of customers that only a fixture or a test sets."""


def status_name(language: Language, status: str) -> str:
    """A status, or a change of status such as ``active → past_due``, in the reader's language."""
    words = (language.gettext(STATUSES[each]) if each in STATUSES else each for each in status.split(" → "))
    return " → ".join(words).replace("_", " ")
