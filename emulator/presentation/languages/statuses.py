"""Statuses and transitions: what pages call them. French words agree with *statut*, whatever the object."""

from __future__ import annotations

from collections.abc import Mapping

from emulator.core.translatable import N_
from emulator.presentation.languages.language import Language

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


TRANSITIONS: Mapping[str, str] = {
    "add": N_("added"),
    "approve": N_("approved by the operator"),
    "archive": N_("archived"),
    "ask_buyer": N_("the buyer is asked"),
    "authorise": N_("authorised"),
    "cancel": N_("canceled"),
    "capture": N_("captured"),
    "choose": N_("a payment method is chosen"),
    "complete": N_("completed"),
    "create": N_("created"),
    "create_with_method": N_("created with a payment method"),
    "dispute": N_("disputed by the buyer"),
    "end": N_("ended"),
    "expire": N_("expired"),
    "fail": N_("failed"),
    "fall behind": N_("an invoice is overdue"),
    "fall overdue": N_("due date passed"),
    "finalize": N_("finalized"),
    "give up": N_("no retry is left"),
    "miss": N_("endpoint disabled"),
    "open": N_("opened"),
    "pause": N_("paused"),
    "pay": N_("paid"),
    "reactivate": N_("reactivated"),
    "recover": N_("a payment succeeded"),
    "refund": N_("refunded"),
    "renew": N_("renewed"),
    "restore": N_("restored"),
    "resume": N_("resumed"),
    "resume trial": N_("resumed in its trial"),
    "retry": N_("tried again"),
    "retry later": N_("to be tried again"),
    "return": N_("money returned"),
    "review": N_("under review"),
    "schedule cancel": N_("cancellation planned"),
    "send": N_("sent"),
    "start": N_("started"),
    "start trial": N_("trial started"),
    "submit": N_("submitted"),
    "succeed": N_("succeeded"),
    "take back cancel": N_("cancellation withdrawn"),
    "void": N_("voided"),
    "write off": N_("written off"),
}
"""What made an object change its status, by the trigger of its life cycle."""


def status_name(language: Language, status: str) -> str:
    """A status, or a change of status such as ``active → past_due``, in the reader's language."""
    words = [_word(language, each.strip()) for each in status.split("→")]
    return " → ".join(dict.fromkeys(words)).strip()


def transition_name(language: Language, trigger: str) -> str:
    """What made an object change its status, in the reader's language."""
    return language.gettext(TRANSITIONS[trigger])


def _word(language: Language, status: str) -> str:
    known = STATUSES.get(status) or TRANSITIONS.get(status)
    return language.gettext(known) if known else status.replace("_", " ")
