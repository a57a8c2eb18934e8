"""Words that pages, console, emails and PDFs share: statuses, transitions, terms, invoice texts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from emulator.core.records import N_
from emulator.document.paths import fixture
from emulator.presentation.languages.language import Language
from emulator.resources.app import amounts
from emulator.resources.billing import renewals
from emulator.resources.billing.invoices import Invoice, InvoiceLine
from emulator.resources.billing.subscriptions import Subscription
from emulator.resources.simulation.emails import InvoiceDocument

# -- terms, statuses and transitions


TABLES: Mapping[str, Any] = fixture("wording")
"""Every table of ``fixtures/wording.yaml``, which says of each what it is for."""

PAYMENT_METHOD_TYPES: Mapping[str, str] = TABLES["payment_method_types"]
STATUSES: Mapping[str, list[str]] = TABLES["statuses"]
TRANSITIONS: Mapping[str, str] = TABLES["transitions"]
INVOICE_STATUSES: Mapping[str, str] = TABLES["invoice_statuses"]
HEADLINES: Mapping[str, str] = TABLES["headlines"]
FAILURE_CAUSES: Mapping[str, str] = TABLES["failure_causes"]
PAYMENT_ERRORS: Mapping[str, str] = fixture("buyer")["errors"]
MONEY_FIELDS = frozenset(TABLES["money_fields"])
NEXT_STEPS: Mapping[str, Any] = fixture("next-steps")


def status_name(language: Language, kind: str, status: str) -> str:
    """Return a status, or a change such as ``active → past_due``, in the reader's language."""
    words = [_word(language, kind, part.strip()) for part in status.split("→")]
    return " → ".join(dict.fromkeys(words)).strip()


def transition_name(language: Language, trigger: str, change: str) -> str:
    """Return a transition's name in the reader's language; empty if ``change`` says as much."""
    return "" if TRANSITIONS[trigger] in change else language.gettext(TRANSITIONS[trigger])


def _word(language: Language, kind: str, status: str) -> str:
    words = status.replace("_", " ")
    if status in STATUSES.get(kind, ()):
        return language.pgettext(kind, words)
    return language.gettext(TRANSITIONS.get(status, words)) if words else ""


def failure_cause(language: Language, subscription: Subscription) -> str:
    """Return the cause of the last failed charge, for testers; empty if unknown (B-45)."""
    cause = subscription.failure
    if cause is None:
        return ""
    if cause.name not in FAILURE_CAUSES:
        return cause.name
    amount = (
        "" if cause.max_amount is None else language.money(cause.max_amount, subscription.currency)
    )
    return language.gettext(
        FAILURE_CAUSES[cause.name],
        profile=cause.profile or "",
        amount=amount,
        type=cause.type or "",
    )


def failure_for_buyers(language: Language, subscription: Subscription, merchant: str) -> str:
    """Return the cause in words for the buyer, without code or profile; empty if unknown."""
    text = PAYMENT_ERRORS.get(subscription.failure.name) if subscription.failure else None
    return language.gettext(text, merchant=merchant) if text else ""


# -- texts of an invoice


BEING_PROCESSED = N_("A payment of {amount} is being processed.")


def buyers_step(record: Any) -> str | None:
    """Return a button's text for a buyer's action on an invoice or session, or None (B-45)."""
    rows = NEXT_STEPS[record.kind].values()
    return next(
        (row["buyer"] for row in rows if "buyer" in row and record.status in row["when"]["status"]),
        None,
    )


def line_name(language: Language, invoice: Invoice, line: InvoiceLine) -> str:
    """Return a line's text: the merchant's, or of an unnamed subscription the emulator's own."""
    is_unnamed = renewals.is_unnamed(invoice, line)
    return language.gettext(line.description) if is_unnamed else line.description


def tax_name(invoice: Invoice, language: Language) -> str:
    """Return ``Tax (18%)``; without a rate where the amount is not that of the rate."""
    rate = amounts.rate_of(
        invoice.tax_amount, invoice.subtotal - invoice.discount_amount, invoice.tax_rate
    )
    return language.tax(rate)


def adjustments(invoice: Invoice, language: Language) -> list[tuple[str, int]]:
    """Return the rows above the total: discount and tax in minor units, without zero amounts."""
    rows = [
        (language.gettext("Discount"), -invoice.discount_amount),
        (tax_name(invoice, language), invoice.tax_amount),
    ]
    return [(name, amount) for name, amount in rows if amount]


def sums(invoice: Invoice, language: Language) -> list[tuple[str, int, bool]]:
    """Return the rows of totals without zeros: name, minor units, and whether it is emphasized."""
    rows = [
        (language.gettext("Subtotal"), invoice.subtotal, False, True),
        *((name, amount, False, True) for name, amount in adjustments(invoice, language)),
        (language.gettext("Total"), invoice.total, True, True),
        (language.gettext("Amount paid"), -invoice.amount_paid, False, invoice.amount_paid > 0),
        (language.gettext("Amount due"), invoice.amount_remaining, True, invoice.status != "void"),
    ]
    return [(name, amount, strong) for name, amount, strong, is_listed in rows if is_listed]


def recipient(document: InvoiceDocument, language: Language) -> list[str]:
    """Return the billed person's known name, address, email; of a deleted customer the email alone.

    Where no email is known, the phone or the id: a name in a script that no font covers is empty
    boxes.
    """
    customer, invoice = document.customer, document.invoice
    if customer is None:
        return [invoice.customer_email or invoice.customer]
    lines = [f"{customer.firstname} {customer.lastname}".strip()]
    if (address := customer.address) is not None:
        town = " ".join(part for part in (address.postal_code, address.city) if part)
        parts = (
            address.line1,
            address.line2,
            town,
            address.state,
            language.country(address.country),
        )
        lines += [part for part in parts if part]
    return [*lines, invoice.customer_email or customer.phone or customer.id]
