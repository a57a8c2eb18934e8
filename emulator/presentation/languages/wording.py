"""Words that pages, the console, emails and PDFs share: statuses and transitions, terms, and the texts of an invoice.

French words for statuses agree with *statut*, whatever the object.
"""

from __future__ import annotations

from collections.abc import Mapping

from emulator.core.records import N_
from emulator.presentation.languages.language import Language
from emulator.resources.app import amounts
from emulator.resources.billing.invoices import Invoice
from emulator.resources.simulation.emails import InvoiceDocument

# -- terms


PAYMENT_METHOD_TYPES: Mapping[str, str] = {
    "mobile_money": N_("Mobile money"),
    "bank_card": N_("Card"),
    "bank_transfer": N_("Bank transfer"),
    "paypal": N_("PayPal"),
}
"""The types of payment method."""

MONEY_FIELDS = frozenset(
    {
        "amount",
        "amount_capturable",
        "amount_paid",
        "amount_received",
        "amount_refunded",
        "amount_remaining",
        "amount_subtotal",
        "amount_total",
        "commission",
        "discount_amount",
        "fee",
        "max_amount",
        "net_amount",
        "subtotal",
        "tax_amount",
        "total",
        "total_spent",
        "unit_amount",
    }
)
"""The fields of objects that hold minor units, of the object's own currency where it has one."""


# -- statuses and transitions


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
    """Return a status, or a change of status such as ``active → past_due``, in the reader's language."""
    words = [_word(language, each.strip()) for each in status.split("→")]
    return " → ".join(dict.fromkeys(words)).strip()


def transition_name(language: Language, trigger: str) -> str:
    """Return the name of the transition that changed an object's status, in the reader's language."""
    return language.gettext(TRANSITIONS[trigger])


def _word(language: Language, status: str) -> str:
    known = STATUSES.get(status) or TRANSITIONS.get(status)
    return language.gettext(known) if known else status.replace("_", " ")


# -- texts of an invoice


INVOICE_STATUSES: Mapping[str, str] = {
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
    """Return whether its page still takes a payment (B-45)."""
    return invoice.status in ("open", "uncollectible") and invoice.payment_url is not None


def tax_name(invoice: Invoice, language: Language) -> str:
    """``Tax (18%)``; without a rate where the amount is not that of the rate."""
    rate = amounts.rate_of(invoice.tax_amount, invoice.subtotal - invoice.discount_amount, invoice.tax_rate)
    return language.tax(rate)


def sums(invoice: Invoice, language: Language) -> list[tuple[str, int, bool]]:
    """Return the rows of the totals, without zero amounts: name, minor units, and whether it is emphasized."""
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
    """Return who is billed: name, address and email, as far as they are known; the email alone of a deleted customer."""
    customer, email = document.customer, document.invoice.customer_email or ""
    if customer is None:
        return [email]
    lines = [f"{customer.firstname} {customer.lastname}".strip()]
    if (address := customer.address) is not None:
        town = " ".join(part for part in (address.postal_code, address.city) if part)
        parts = (address.line1, address.line2, town, address.state, language.country(address.country))
        lines += [part for part in parts if part]
    return [*lines, email]
