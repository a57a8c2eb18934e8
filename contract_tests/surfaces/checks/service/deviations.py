"""What a second emulator does otherwise: settings that probes find, and deviations that no setting follows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from emulator.checks.suite.search import Mutant, MutationPoint, ServiceAnswer, shown
from emulator.checks.suite.table import MUTANTS
from emulator.resources.customers.customer_records import Customer
from emulator.resources.payments.payment_links import PaymentLink

SWITCHES: Mapping[str, tuple[Any, ...]] = {
    "assumptions.search_nothing_found": ("error",),
    "assumptions.metadata_values": ("any",),
    "assumptions.renewal_without_method": ("fail",),
    "assumptions.success_url": ("required",),
    "assumptions.payment_received": ("transaction",),
    "assumptions.webhook_success": ("2xx",),
    "assumptions.webhook_retry": ("all",),
    "assumptions.cors_without_domains": ("any",),
    "assumptions.unknown_fields": ("ignore",),
    "assumptions.error_shape": ("flat", "nested"),
    "assumptions.refund_timing": ("instant",),
    "main_currency": ("XOF", "EUR"),
    "currencies": (["XAF", "XOF", "EUR", "USD", "GBP"], ["XAF", "XOF", "EUR"]),
    "pricing_plan": ("starter", "business", "enterprise"),
    "commission_rate": (1.5, 2),
    "tax_rate": (18, 19.25),
    "minimum_amount": (1, 50, 500, 1000),
    "refund_review": (True,),
}
"""Assumptions and settings with other values than the default, each of which a probe finds."""


class Deviation(NamedTuple):
    """A wrong service, and the probes that notice it."""

    mutant: Mutant
    probes: tuple[str, ...]


def _deviation(mutant: Mutant, *probes: str) -> Deviation:
    return Deviation(mutant, probes)


def _error(mutant: str, code: str, status: int, other: str, other_status: int | None = None) -> Mutant:
    """Errors with this code and status have another code, and perhaps another status, in whichever shape."""

    def change(answer: ServiceAnswer) -> ServiceAnswer:
        if answer.status != status or not isinstance(answer.body, dict):
            return answer
        given = answer.body.get("error", answer.body)
        if str(given.get("code", "")).upper() != code:
            return answer
        nested = "error" in answer.body
        changed = {**given, "code": other.lower() if nested else other}
        return answer._replace(status=other_status or status, body={"error": changed} if nested else changed)

    return Mutant(mutant, mutant, mutant, (MutationPoint.ANSWERED, change))


def _shown(name: str, kind: Any, fields: Callable[[Mapping[str, Any]], Mapping[str, Any]]) -> Mutant:
    return Mutant(name, name, name, shown(kind, fields))


def _lists_without_previous(answer: ServiceAnswer) -> ServiceAnswer:
    if not isinstance(answer.body, dict) or answer.body.get("object") != "list":
        return answer
    return answer._replace(body={**answer.body, "pagination": {**answer.body["pagination"], "previous": None}})


DEVIATIONS = (
    _deviation(_error("other code without a key", "MISSING_API_KEY", 401, "AUTHENTICATION_FAILED"), "no-key"),
    _deviation(_error("other code of a public key", "PUBLIC_KEY_NOT_ALLOWED", 403, "PERMISSION_DENIED"), "public-key"),
    _deviation(_error("405 is 404", "METHOD_NOT_ALLOWED", 405, "NOT_FOUND", 404), "wrong-method"),
    _deviation(_error("other code of filters", "INVALID_FILTER_PARAM", 422, "INVALID_FIELD"), "unknown-filter"),
    _deviation(_error("other code of currencies", "INVALID_CURRENCY", 422, "INVALID_FIELD"), "invalid-currency"),
    _deviation(_error("other code of a SKU", "DUPLICATE_SKU", 409, "VALIDATION_ERROR", 422), "duplicate-sku"),
    _deviation(
        _error("other code when canceled", "SUBSCRIPTION_ALREADY_CANCELED", 422, "INVALID_STATUS_TRANSITION"),
        "canceled-twice",
    ),
    _deviation(
        _error("other code of invoices", "INVOICE_NOT_DRAFTABLE", 422, "INVALID_STATUS_TRANSITION"),
        "change-of-a-finalized-invoice",
    ),
    _deviation(
        _error("other code of sessions", "CHECKOUT_SESSION_EXPIRED", 422, "INVALID_STATUS_TRANSITION"), "expired-twice"
    ),
    _deviation(
        _error("other code of a capture", "PAYMENT_INTENT_NOT_CAPTURABLE", 422, "INVALID_STATUS_TRANSITION"),
        "capture-of-nothing-held",
    ),
    _deviation(
        _error("other code of methods", "PAYMENT_METHOD_NOT_SUPPORTED", 422, "INVALID_FIELD"), "method-not-allowed"
    ),
    _deviation(
        _error("conflict is accepted late", "IDEMPOTENCY_CONFLICT", 409, "VALIDATION_ERROR", 422), "idempotency"
    ),
    _deviation(Mutant("no previous page", "", "", (MutationPoint.ANSWERED, _lists_without_previous)), "previous-page"),
    _deviation(
        _shown("one word twice", Customer, lambda each: {} if each["lastname"] else {"lastname": each["firstname"]}),
        "one-word-name",
    ),
    _deviation(_shown("no address", Customer, lambda each: {"address": None}), "default-address"),
    _deviation(
        _shown("seconds only", Customer, lambda each: {"created_at": each["created_at"].partition(".")[0] + "Z"}),
        "timestamps",
    ),
    _deviation(
        _shown("links are donations", PaymentLink, lambda each: {"payment_link_type": "donation"}), "link-without-type"
    ),
    _deviation(MUTANTS["paused-hidden"], "pause-and-resume"),
    _deviation(MUTANTS["capture-whole"], "partial-capture"),
    _deviation(MUTANTS["invoice-due-early"], "due-date"),
    _deviation(MUTANTS["period-ends-late"], "weekly-period", "trial-is-the-first-period"),
)
"""Deviations that no setting follows."""
