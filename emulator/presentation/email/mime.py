"""An email as HTML, as plain text, and as one MIME message with both and the attachments."""

from __future__ import annotations

from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP, SMTPUTF8
from email.utils import format_datetime
from functools import cache
from typing import TYPE_CHECKING, Any

from emulator.core import calendar
from emulator.presentation.email.email_content import email_content
from emulator.presentation.languages.language import language_of
from emulator.presentation.pdf.invoice_pdf import render
from emulator.resources.simulation.emails import Email
from emulator.resources.simulation.invoice_documents import InvoiceDocument

if TYPE_CHECKING:
    from jinja2 import Environment

SENDER = Address(username="no-reply", domain="payments.test")
"""The sender of all emails. Addresses under ``.test`` never exist (RFC 2606)."""


@cache
def environment() -> Environment:
    """The templates; every value is escaped in HTML."""
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
    """The email as HTML."""
    return _rendered("email.html", email)


def text(email: Email) -> str:
    """The email as plain text."""
    return _rendered("email.txt", email)


def _rendered(template: str, email: Email) -> str:
    content = email_content(email)
    language = language_of(email.language)
    values: dict[str, Any] = {
        **content._asdict(),
        "images": email.images,
        "merchant": email.merchant,
        "language": email.language,
        "colon": language.gettext(": "),
        "closing": language.gettext("This email was sent by {merchant}.", merchant=email.merchant),
        "contact": _contact(email),
    }
    return environment().get_template(template).render(values)


def _contact(email: Email) -> str:
    """Where the merchant is and how to reach it, as far as the App's settings say so."""
    seller = email.seller
    return "" if seller is None else " · ".join([", ".join(seller.address), *seller.contact]).removeprefix(" · ")


def sender(email: Email) -> str:
    """The From header: the merchant's name and our address."""
    return str(Address(email.merchant, SENDER.username, SENDER.domain))


def attachments(email: Email) -> dict[str, str]:
    """Name and media type of each attachment: the PDF of an invoice."""
    if email.topic != "invoice" or email.invoice is None:
        return {}
    return {f"{email.invoice.invoice_number}.pdf": "application/pdf"}


def message(email: Email) -> bytes:
    """The MIME message (RFC 5322). The same email always gives the same bytes."""
    mail = EmailMessage(policy=SMTP if email.to.isascii() else SMTPUTF8)
    mail["Date"] = format_datetime(calendar.parse(email.created_at))
    mail["From"] = sender(email)
    mail["To"] = email.to
    mail["Subject"] = email_content(email).subject
    mail["Message-ID"] = f"<{email.id}@{SENDER.domain}>"
    mail.set_content(text(email))
    mail.add_alternative(html(email), subtype="html")
    for name in attachments(email):
        mail.add_attachment(_pdf(email), maintype="application", subtype="pdf", filename=name)
    mail["Content-Language"] = email.language
    for number, part in enumerate(part for part in mail.walk() if part.is_multipart()):
        part.set_boundary(f"{email.id}-{number}")  # the default is random
    return mail.as_bytes()


def _pdf(email: Email) -> bytes:
    assert email.invoice is not None
    return render(
        InvoiceDocument(
            merchant=email.merchant,
            language=email.language,
            invoice=email.invoice,
            customer=email.customer,
            seller=email.seller,
        )
    )
