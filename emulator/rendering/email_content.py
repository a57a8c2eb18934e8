"""Letters: what stands in each kind of email, in the customer's language, before anyone lays it out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from emulator.rendering import wording
from emulator.rendering.invoice_pdf import payable
from emulator.resources.billing.invoices import Invoice
from emulator.resources.billing.subscriptions import Subscription
from emulator.resources.sandbox.emails import Email


class EmailContent(NamedTuple):
    """The words of an email: facts are pairs of a name and a value, the button is a text and where it leads."""

    subject: str
    title: str
    paragraphs: list[str]
    facts: list[tuple[str, str]]
    button: tuple[str, str] | None = None


class EmailBuilder:
    """Writes in the language of one email."""

    def __init__(self, email: Email) -> None:
        self.email = email
        self._phrase = wording.phrases(email.language)

    def say(self, phrase: str, **values: str) -> str:
        return self._phrase(phrase).format(merchant=self.email.merchant, **values)

    def fact(self, name: str, value: str) -> tuple[str, str]:
        return self.say(name), value

    def money(self, amount: int, currency: str) -> str:
        return wording.money(amount, currency, self.email.language)

    def day(self, instant: str | None) -> str:
        return wording.day(instant, self.email.language) if instant else "–"

    def greeting(self) -> str:
        """Hello, by name where there is one."""
        customer = self.email.customer
        name = f"{customer.firstname} {customer.lastname}".strip() if customer else ""
        return self.say("hello", name=name) if name else self.say("hello nobody")

    def pay_button(self, text: str, invoice: Invoice | None) -> tuple[str, str] | None:
        """A button to an invoice's page, while it takes payments."""
        return (self.say(text), invoice.payment_url or "") if invoice and payable(invoice) else None

    def lines(self, invoice: Invoice | None) -> list[tuple[str, str]]:
        """What is billed, line by line (B-67)."""
        if invoice is None:
            return []
        return [
            (f"{line.quantity} × {line.description}", self.money(line.amount, invoice.currency))
            for line in invoice.line_items
        ]

    def subscribed(self, subscription: Subscription) -> list[tuple[str, str]]:
        """What is subscribed to, and its price."""
        price = self.money(subscription.unit_amount, subscription.currency)
        period = wording.period(subscription.interval, subscription.interval_count, self.email.language)
        named = [self.fact("subscription", self.email.item)] if self.email.item else []
        return [*named, self.fact("price", f"{price} / {period}")]


def email_content(email: Email) -> EmailContent:
    """The words of an email."""
    pen = EmailBuilder(email)
    written = _LETTERS[email.topic](email, pen)
    return written._replace(
        subject=" ".join(written.subject.split()),  # a header has plain spaces and no line ends
        paragraphs=[pen.greeting(), *written.paragraphs],
    )


def _invoice(email: Email, pen: EmailBuilder) -> EmailContent:
    invoice = email.invoice
    assert invoice is not None
    owed = invoice.total if invoice.status == "paid" else invoice.amount_remaining
    return EmailContent(
        pen.say("invoice subject", number=invoice.invoice_number),
        pen.say(f"{invoice.status} headline", amount=pen.money(owed, invoice.currency), day=pen.day(invoice.due_date)),
        [
            pen.say("invoice text", number=invoice.invoice_number),
            *([invoice.description] if invoice.description else []),
        ],
        [
            *pen.lines(invoice),
            pen.fact("number", invoice.invoice_number),
            pen.fact("issued", pen.day(invoice.created_at)),
            pen.fact("due", pen.day(invoice.due_date)),
            pen.fact("total", pen.money(invoice.total, invoice.currency)),
        ],
        pen.pay_button("invoice button", invoice),
    )


def _receipt(email: Email, pen: EmailBuilder) -> EmailContent:
    receipt, transaction, invoice = email.receipt, email.transaction, email.invoice
    assert receipt is not None
    assert transaction is not None
    amount = pen.money(receipt.amount, receipt.currency)
    by = [pen.say(transaction.payment_method_type), transaction.operator]
    return EmailContent(
        pen.say("receipt subject", number=receipt.number),
        pen.say("receipt title", amount=amount),
        [pen.say("receipt text"), *([invoice.description] if invoice and invoice.description else [])],
        [
            *pen.lines(invoice),
            pen.fact("receipt number", receipt.number),
            pen.fact("day", pen.day(receipt.created_at)),
            pen.fact("amount", amount),
            pen.fact("paid by", " · ".join(part for part in by if part)),
            *([pen.fact("invoice", invoice.invoice_number)] if invoice else []),
        ],
        (pen.say("receipt button"), receipt.url),
    )


def _renewal_failed(email: Email, pen: EmailBuilder) -> EmailContent:
    subscription, invoice = email.subscription, email.invoice
    assert subscription is not None
    owed = (
        (invoice.amount_remaining, invoice.currency) if invoice else (subscription.unit_amount, subscription.currency)
    )
    then = pen.say("failed again", day=pen.day(email.again_at)) if email.again_at else pen.say("failed last")
    return EmailContent(
        pen.say("failed subject"),
        pen.say("failed title", amount=pen.money(*owed)),
        [pen.say("failed text"), then],
        [*pen.subscribed(subscription), *([pen.fact("invoice", invoice.invoice_number)] if invoice else [])],
        pen.pay_button("failed button", invoice),
    )


def _trial_ending(email: Email, pen: EmailBuilder) -> EmailContent:
    subscription = email.subscription
    assert subscription is not None
    day = pen.day(subscription.trial_end)
    amount = pen.money(subscription.unit_amount, subscription.currency)
    ends = subscription.cancel_at_period_end
    return EmailContent(
        pen.say("trial subject", day=day),
        pen.say("trial title", day=day),
        [pen.say("trial only") if ends else pen.say("trial text", amount=amount)],
        pen.subscribed(subscription),
    )


def _canceled(email: Email, pen: EmailBuilder) -> EmailContent:
    subscription = email.subscription
    assert subscription is not None
    return EmailContent(
        pen.say("canceled subject"),
        pen.say("canceled title"),
        [pen.say("canceled text", day=pen.day(subscription.canceled_at))],
        pen.subscribed(subscription),
    )


def _refund(email: Email, pen: EmailBuilder) -> EmailContent:
    refund, transaction, receipt = email.refund, email.transaction, email.receipt
    assert refund is not None
    assert transaction is not None
    amount = pen.money(refund.amount, refund.currency)
    paid = pen.money(transaction.amount, transaction.currency)
    return EmailContent(
        pen.say("refund subject", amount=amount),
        pen.say("refund title", amount=amount),
        [pen.say("refund text")],
        [
            pen.fact("amount", amount),
            pen.fact("day", pen.day(refund.refunded_at)),
            pen.fact("refund of", f"{pen.day(transaction.created_at)}, {paid}"),
            *([pen.fact("refund receipt", receipt.number)] if receipt else []),
        ],
    )


_LETTERS: Mapping[str, Callable[[Email, EmailBuilder], EmailContent]] = {
    "invoice": _invoice,
    "receipt": _receipt,
    "renewal_failed": _renewal_failed,
    "trial_ending": _trial_ending,
    "subscription_canceled": _canceled,
    "refund": _refund,
}
"""The kinds of email (B-98)."""
