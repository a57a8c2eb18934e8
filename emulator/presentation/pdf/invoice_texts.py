"""The texts of an invoice that its PDF, its page and its emails share."""

from __future__ import annotations

from collections.abc import Mapping

from emulator.core import money
from emulator.core.translatable import N_
from emulator.presentation.languages.language import Language
from emulator.resources.billing.invoices import Invoice
from emulator.resources.simulation.invoice_documents import InvoiceDocument

STATUSES: Mapping[str, str] = {
    "open": N_("Open"),
    "paid": N_("Paid"),
    "void": N_("Void"),
    "uncollectible": N_("Uncollectible"),
}
"""The statuses of an invoice, as its stamp shows them."""

HEADLINES: Mapping[str, str] = {
    "open": N_("{amount} due {day}"),
    "paid": N_("{amount} paid"),
    "void": N_("Void: nothing to pay"),
    "uncollectible": N_("{amount} was due {day}"),
}
"""What is to be paid, by the status of the invoice."""


def payable(invoice: Invoice) -> bool:
    """Whether its page still takes a payment (B-45)."""
    return invoice.status in ("open", "uncollectible") and invoice.payment_url is not None


def tax_name(invoice: Invoice, language: Language) -> str:
    """``Tax (18%)``; without a rate where the amount is not that of the rate."""
    rate = money.rate_of(invoice.tax_amount, invoice.subtotal - invoice.discount_amount, invoice.tax_rate)
    return language.tax(rate)


def sums(invoice: Invoice, language: Language) -> list[tuple[str, int, bool]]:
    """The rows of the totals, without zero amounts: name, minor units, and whether it is emphasized."""
    rows = [
        (language.gettext("Subtotal"), invoice.subtotal, False, True),
        (language.gettext("Discount"), -invoice.discount_amount, False, invoice.discount_amount > 0),
        (tax_name(invoice, language), invoice.tax_amount, False, invoice.tax_amount > 0),
        (language.gettext("Total"), invoice.total, True, True),
        (language.gettext("Amount paid"), -invoice.amount_paid, False, invoice.amount_paid > 0),
        (language.gettext("Amount due"), invoice.amount_remaining, True, invoice.status != "void"),
    ]
    return [(name, amount, strong) for name, amount, strong, shown in rows if shown]


def recipient(document: InvoiceDocument, language: Language) -> list[str]:
    """Who is billed: name, address and email, as far as they are known; the email alone of a deleted customer."""
    customer, email = document.customer, document.invoice.customer_email or ""
    if customer is None:
        return [email]
    lines = [f"{customer.firstname} {customer.lastname}".strip()]
    if (address := customer.address) is not None:
        town = " ".join(part for part in (address.postal_code, address.city) if part)
        parts = (address.line1, address.line2, town, address.state, language.country(address.country))
        lines += [part for part in parts if part]
    return [*lines, email]
