"""Invoices to be printed: the content of the PDF, and the token that opens it."""

from __future__ import annotations

from hmac import compare_digest
from urllib.parse import parse_qs, urlsplit

import msgspec

from emulator.core.errors import ApiError
from emulator.core.handlers import Query, get_or_404
from emulator.core.records import Metadata
from emulator.core.world import World
from emulator.resources.app.merchant import Merchant
from emulator.resources.app.settings import settings
from emulator.resources.billing.invoices import Invoice
from emulator.resources.customers.customer_records import Customer


class InvoiceDocument(msgspec.Struct, frozen=True, kw_only=True):
    """The content of an invoice's PDF. ``customer`` is None after the customer was deleted.

    ``merchant`` is the App's name, ``seller`` what its settings say about it.
    """

    merchant: str
    language: str
    invoice: Invoice
    customer: Customer | None
    seller: Merchant | None = None


def language_of(world: World, customer: Customer | None) -> str:
    """The language of ``language`` or ``lang`` (``fr-CM``) in a customer's metadata, else the first that is offered."""
    metadata: Metadata = customer.metadata if customer else {}
    wanted = str(metadata.get("language") or metadata.get("lang") or "").lower()[:2]
    offered: tuple[str, ...] = world.reference_data.languages
    return wanted if wanted in offered else offered[0]


def document_of(world: World, invoice: Invoice) -> InvoiceDocument:
    """The content of an invoice's PDF as of now."""
    customer = world.get(Customer, invoice.customer)
    language = language_of(world, customer)
    return InvoiceDocument(
        merchant=world.name,
        language=language,
        invoice=invoice,
        customer=customer,
        seller=settings(world).merchant,
    )


def token_opens(invoice: Invoice, token: str) -> bool:
    """Whether this is the token in the invoice's ``pdf_url`` (B-66); a draft has no token."""
    query = parse_qs(urlsplit(invoice.pdf_url or "").query)
    return "token" in query and compare_digest(query["token"][0].encode(), token.encode())


def show(world: World, id: str, query: Query) -> InvoiceDocument:
    """GET /invoices/{id}/pdf/: 404 for a draft, 401 for a wrong token even with a valid key (B-66, B-71)."""
    invoice = get_or_404(world, Invoice, id)
    if invoice.status == "draft":
        raise ApiError("PDF_NOT_AVAILABLE")
    if "token" in query and not token_opens(invoice, query["token"]):
        raise token_error()
    return document_of(world, invoice)


def token_error() -> ApiError:
    """401 ``INVALID_TOKEN`` (B-71)."""
    return ApiError(
        "INVALID_TOKEN", param="token", message="The token does not open this invoice; take pdf_url as it is."
    )


OPERATIONS = {"getInvoicePdf": show}
