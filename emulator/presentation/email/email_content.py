"""Emails, in the customer's language: the content of each kind for the templates; the message.

An email is HTML, plain text, and one MIME message with both and the attachments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP, SMTPUTF8
from email.utils import format_datetime
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from emulator.core import calendar
from emulator.core.records import N_
from emulator.presentation.languages.language import language_of
from emulator.presentation.languages.wording import (
    BEING_PROCESSED,
    HEADLINES,
    PAYMENT_METHOD_TYPES,
    adjustments,
    buyers_step,
    failure_for_buyers,
    line_name,
)
from emulator.presentation.pdf.invoice_pdf import render
from emulator.resources.billing.invoices import Invoice
from emulator.resources.billing.subscriptions import Subscription, end_of
from emulator.resources.customers.payment_details import BRAND_NAMES
from emulator.resources.payments.refunds import Receipt
from emulator.resources.simulation.emails import Email, InvoiceDocument

if TYPE_CHECKING:
    from jinja2 import Environment


# -- content


class EmailContent(NamedTuple):
    """The texts of an email: ``facts`` are pairs (name, value), ``button`` is a text and a URL."""

    subject: str
    title: str
    paragraphs: list[str]
    facts: list[tuple[str, str]]
    button: tuple[str, str] | None = None


class EmailBuilder:
    def __init__(self, email: Email) -> None:
        self.email = email
        self._language = language_of(email.language)
        self.money = self._language.money_with_symbol

    def gettext(self, message: str, **values: str) -> str:
        """Return a message in the customer's language; every one may name the merchant."""
        return self._language.gettext(message, merchant=self.email.merchant, **values)

    def cause(self, subscription: Subscription) -> str:
        """Return why a charge of the subscription failed, as far as its buyer is concerned."""
        return failure_for_buyers(self._language, subscription, self.email.merchant)

    def day(self, instant: str | None) -> str:
        return self._language.day(instant) if instant else "–"

    def greeting(self) -> str:
        customer = self.email.customer
        name = f"{customer.firstname} {customer.lastname}".strip() if customer else ""
        return self.gettext("Hello {name},", name=name) if name else self.gettext("Hello,")

    def next_step(self, invoice: Invoice | None) -> tuple[str, str] | None:
        return (
            (self.gettext(step), invoice.payment_url or "")
            if invoice and (step := buyers_step(invoice))
            else None
        )

    def lines(self, invoice: Invoice) -> list[tuple[str, str]]:
        """Return the billed lines (B-67)."""
        return [
            (
                f"{line.quantity} × {line_name(self._language, invoice, line)}",
                self.money(line.amount, invoice.currency),
            )
            for line in invoice.line_items
        ]

    def paid_for(self, currency: str) -> list[tuple[str, str]]:
        if self.email.invoice is not None:
            return self.lines(self.email.invoice)
        return [
            (f"{count} × {name}", self.money(amount, currency))
            for count, name, amount in self.email.lines
        ]

    def adjustments(self, invoice: Invoice) -> list[tuple[str, str]]:
        return [
            (name, self.money(amount, invoice.currency))
            for name, amount in adjustments(invoice, self._language)
        ]

    def adjustments_paid(self, receipt: Receipt) -> list[tuple[str, str]]:
        """Return those of the invoice that was paid, or the tax that was paid beyond the lines."""
        if self.email.invoice is not None:
            return self.adjustments(self.email.invoice)
        tax = receipt.amount - sum(amount for _, _, amount in self.email.lines)
        named = self.email.lines and tax > 0
        return [(self.gettext("Tax"), self.money(tax, receipt.currency))] if named else []

    def subscribed(self, subscription: Subscription) -> list[tuple[str, str]]:
        price = self.money(subscription.unit_amount, subscription.currency)
        period = self._language.period(subscription.interval, subscription.interval_count)
        named = [(self.gettext("Subscription"), self.email.item)] if self.email.item else []
        return [*named, (self.gettext("Price"), f"{price} / {period}")]


def email_content(email: Email) -> EmailContent:
    builder = EmailBuilder(email)
    written = _CONTENTS[email.topic](email, builder)
    return written._replace(
        subject=" ".join(written.subject.split()),  # a header has plain spaces and no line ends
        paragraphs=[builder.greeting(), *filter(None, written.paragraphs)],
    )


def _invoice(email: Email, builder: EmailBuilder) -> EmailContent:
    _ = builder.gettext
    invoice = email.invoice
    assert invoice is not None
    owed = invoice.total if invoice.status == "paid" else invoice.amount_remaining
    return EmailContent(
        _("Invoice {number} from {merchant}", number=invoice.invoice_number),
        _(
            HEADLINES[invoice.status],
            amount=builder.money(owed, invoice.currency),
            day=builder.day(invoice.due_date),
        ),
        [
            _(
                "Here is your invoice {number}. It is attached as a PDF.",
                number=invoice.invoice_number,
            ),
            _(BEING_PROCESSED, amount=builder.money(email.under_way, invoice.currency))
            if email.under_way
            else "",
            invoice.description or "",
        ],
        [
            *builder.lines(invoice),
            *builder.adjustments(invoice),
            (_("Invoice number"), invoice.invoice_number),
            (_("Issued"), builder.day(invoice.created_at)),
            (_("Due"), builder.day(invoice.due_date)),
            (_("Total"), builder.money(invoice.total, invoice.currency)),
        ],
        builder.next_step(invoice),
    )


def _receipt(email: Email, builder: EmailBuilder) -> EmailContent:
    _ = builder.gettext
    receipt, transaction, invoice = email.receipt, email.transaction, email.invoice
    assert receipt is not None
    assert transaction is not None
    amount = builder.money(receipt.amount, receipt.currency)
    operator = BRAND_NAMES.get(transaction.operator or "", transaction.operator)
    by = [_(PAYMENT_METHOD_TYPES[transaction.payment_method_type]), operator]
    return EmailContent(
        _("Receipt {number} from {merchant}", number=receipt.number),
        _("We received your payment of {amount}", amount=amount),
        [_("Thank you. This is your receipt."), (invoice and invoice.description) or ""],
        [
            *builder.paid_for(receipt.currency),
            *builder.adjustments_paid(receipt),
            (_("Receipt number"), receipt.number),
            (_("Date"), builder.day(receipt.created_at)),
            (_("Amount"), amount),
            (_("Paid with"), " · ".join(filter(None, by))),
            *([(_("Invoice"), invoice.invoice_number)] if invoice else []),
        ],
        (_("See the receipt"), receipt.url),
    )


def _renewal_failed(email: Email, builder: EmailBuilder) -> EmailContent:
    _ = builder.gettext
    subscription, invoice = email.subscription, email.invoice
    assert subscription is not None
    did_not_go = _("The payment for your subscription did not go through.")
    owed = invoice.amount_remaining if invoice else subscription.unit_amount
    return EmailContent(
        _("Your payment to {merchant} failed"),
        _("We could not collect {amount}", amount=builder.money(owed, subscription.currency)),
        [f"{did_not_go} {builder.cause(subscription)}".strip(), _what_follows(email, builder)],
        [*builder.subscribed(subscription), *_owed(invoice, builder)],
        builder.next_step(invoice),
    )


def _owed(invoice: Invoice | None, builder: EmailBuilder) -> list[tuple[str, str]]:
    """Return the invoice that is owed, with its discount and tax, which the price leaves out."""
    if invoice is None:
        return []
    rows = builder.adjustments(invoice)
    total = (builder.gettext("Total"), builder.money(invoice.total, invoice.currency))
    number = (builder.gettext("Invoice"), invoice.invoice_number)
    return [*rows, *([total] if rows else []), number]


def _what_follows(email: Email, builder: EmailBuilder) -> str:
    """Return a failed charge's consequence in words; none is retried after the end (B-45)."""
    _ = builder.gettext
    assert email.subscription is not None
    status = email.subscription.status
    if status in ("canceled", "expired"):
        return _("Your subscription has ended. The invoice is still open.")
    if status == "paused":
        return _("We will try again when your subscription is resumed.")
    if email.again_at:
        cause = email.subscription.failure
        by_then = N_("We will try again on {day}. Please make sure there are enough funds by then.")
        of_funds = cause is not None and cause.name == "INSUFFICIENT_FUNDS"
        return _(
            by_then if of_funds else N_("We will try again on {day}."),
            day=builder.day(email.again_at),
        )
    if (end := end_of(email.subscription)) is not None:
        return _(
            "This was the last attempt. To keep your subscription until it ends on {day}, pay the"
            " invoice on its page.",
            day=builder.day(end),
        )
    return _("This was the last attempt. To keep your subscription, pay the invoice on its page.")


def _trial_ending(email: Email, builder: EmailBuilder) -> EmailContent:
    _ = builder.gettext
    subscription = email.subscription
    assert subscription is not None
    day = builder.day(subscription.trial_end)
    owed = subscription.unit_amount if email.first_payment is None else email.first_payment
    amount = builder.money(owed, subscription.currency)
    return EmailContent(
        _("Your trial at {merchant} ends on {day}", day=day),
        _("Your trial ends on {day}", day=day),
        [
            _("Your first payment of {amount} is due on that day.", amount=amount),
            _("If you do not want to continue, contact {merchant} before then."),
        ],
        builder.subscribed(subscription),
    )


def _canceled(email: Email, builder: EmailBuilder) -> EmailContent:
    _ = builder.gettext
    subscription = email.subscription
    assert subscription is not None
    day = builder.day(subscription.canceled_at)
    ended = (
        _(
            "It ended on {day}. A payment of {amount} is still being processed; you will not be"
            " charged again after it.",
            day=day,
            amount=builder.money(email.under_way, subscription.currency),
        )
        if email.under_way
        else _("It ended on {day}. You will not be charged again.", day=day)
    )
    return EmailContent(
        _("Your subscription at {merchant} is canceled"),
        _("Your subscription is canceled"),
        [ended],
        builder.subscribed(subscription),
    )


def _refund(email: Email, builder: EmailBuilder) -> EmailContent:
    _ = builder.gettext
    refund, transaction, receipt = email.refund, email.transaction, email.receipt
    assert refund is not None
    assert transaction is not None
    amount = builder.money(refund.amount, refund.currency)
    paid = builder.money(transaction.amount, transaction.currency)
    return EmailContent(
        _("Refund of {amount} from {merchant}", amount=amount),
        _("{amount} refunded", amount=amount),
        [_("We refunded your original payment method.")],
        [
            (_("Amount"), amount),
            (_("Date"), builder.day(refund.refunded_at)),
            (_("Payment"), f"{builder.day(transaction.created_at)}, {paid}"),
            *([(_("Receipt"), receipt.number)] if receipt else []),
        ],
    )


_CONTENTS: Mapping[str, Callable[[Email, EmailBuilder], EmailContent]] = {
    "invoice": _invoice,
    "receipt": _receipt,
    "renewal_failed": _renewal_failed,
    "trial_ending": _trial_ending,
    "subscription_canceled": _canceled,
    "refund": _refund,
}
"""The kinds of email (B-98)."""


# -- messages


SENDER = Address(username="no-reply", domain="payments.test")
"""The sender of all emails. Addresses under ``.test`` never exist (RFC 2606)."""


@cache
def environment() -> Environment:
    """Return the templates; every value is escaped in HTML."""
    # Loaded on first use: most servers never show an email.
    from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

    return Environment(
        loader=PackageLoader("emulator.presentation.email"),
        autoescape=select_autoescape(["html"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def html(email: Email) -> str:
    return _rendered("email.html", email)


def text(email: Email) -> str:
    return _rendered("email.txt", email)


def _rendered(template: str, email: Email) -> str:
    language, seller = language_of(email.language), email.seller
    values: dict[str, Any] = {
        **email_content(email)._asdict(),
        "images": email.images,
        "merchant": email.merchant,
        "language": email.language,
        "colon": language.gettext(": "),
        "closing": language.gettext("This email was sent by {merchant}.", merchant=email.merchant),
        "contact": " · ".join(filter(None, [", ".join(seller.address), *seller.contact]))
        if seller
        else "",
    }
    return environment().get_template(template).render(values)


def sender(email: Email) -> str:
    return str(Address(email.merchant, SENDER.username, SENDER.domain))


def attachments(email: Email) -> dict[str, str]:
    if email.topic != "invoice" or email.invoice is None:
        return {}
    return {f"{email.invoice.invoice_number}.pdf": "application/pdf"}


def message(email: Email) -> bytes:
    """Return the MIME message (RFC 5322). The same email always gives the same bytes."""
    mail = EmailMessage(policy=SMTP if email.to.isascii() else SMTPUTF8)
    mail["Date"] = format_datetime(calendar.parse(email.created_at))
    mail["From"] = sender(email)
    mail["To"] = email.to
    mail["Subject"] = email_content(email).subject
    mail["Message-ID"] = f"<{email.id}@{SENDER.domain}>"
    mail.set_content(text(email))
    mail.add_alternative(html(email), subtype="html")
    for name in attachments(email):
        pdf = render(
            InvoiceDocument(
                **{field: getattr(email, field) for field in InvoiceDocument.__struct_fields__}
            )
        )
        mail.add_attachment(pdf, maintype="application", subtype="pdf", filename=name)
    mail["Content-Language"] = email.language
    for number, part in enumerate(part for part in mail.walk() if part.is_multipart()):
        part.set_boundary(f"{email.id}-{number}")  # the default is random
    return mail.as_bytes()
