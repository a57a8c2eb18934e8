"""The emails that customers are sent, and when (B-98); the invoices that they open, to be printed.

Texts and PDFs are rendered when they are first needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from hmac import compare_digest
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlsplit

import msgspec

from emulator.core.errors import ApiError
from emulator.core.handlers import get_or_404, new_record
from emulator.core.lists import Query
from emulator.core.records import Metadata, Record
from emulator.core.world import World
from emulator.resources.app.settings import Merchant, merchant_name, settings
from emulator.resources.billing import renewals, subscriptions
from emulator.resources.billing.invoices import STATE_MACHINE, Invoice, addressee
from emulator.resources.billing.subscriptions import Subscription
from emulator.resources.catalog.products import Product
from emulator.resources.customers.customer_records import Customer
from emulator.resources.payments import payment_intents
from emulator.resources.payments.payment_intents import PaymentIntent
from emulator.resources.payments.refunds import Receipt, Refund
from emulator.resources.payments.transactions import Transaction

# -- invoices to be printed: the content of the PDF, and the token that opens it


class InvoiceDocument(msgspec.Struct, frozen=True, kw_only=True):
    """An invoice's PDF content; ``seller``: merchant's settings; a deleted customer is None.

    ``under_way``: the amount (minor units) of its payment that is under way (B-102).
    """

    merchant: str
    language: str
    invoice: Invoice
    customer: Customer | None
    seller: Merchant | None = None
    under_way: int | None = None


def language_of(world: World, customer: Customer | None) -> str:
    """Return a customer's language, by default the first offered."""
    default: str = world.reference_data.languages[0]
    return wanted_language(world, customer) or default


def wanted_language(world: World, customer: Customer | None) -> str | None:
    """Return the ``language`` or ``lang`` (``fr-CM``) of a customer's metadata, if offered."""
    metadata: Metadata = customer.metadata if customer else {}
    wanted = str(metadata.get("language") or metadata.get("lang") or "").lower()[:2]
    return wanted if wanted in world.reference_data.languages else None


def invoice_token_opens(invoice: Invoice, token: str) -> bool:
    """Return whether this is the token in an invoice's ``pdf_url`` (B-66); drafts have none."""
    query = parse_qs(urlsplit(invoice.pdf_url or "").query)
    return "token" in query and compare_digest(query["token"][0].encode(), token.encode())


def show(world: World, id: str, query: Query) -> InvoiceDocument:
    """GET /invoices/{id}/pdf/: 404 for drafts, 401 for a wrong token despite a key (B-66, B-71)."""
    invoice = get_or_404(world, Invoice, id)
    if invoice.status == "draft":
        raise ApiError("PDF_NOT_AVAILABLE")
    if "token" in query and not invoice_token_opens(invoice, query["token"]):
        raise invoice_token_error()
    customer = world.get(Customer, invoice.customer)
    return InvoiceDocument(
        merchant=merchant_name(world),
        language=language_of(world, customer),
        invoice=invoice,
        customer=customer,
        seller=settings(world).merchant,
        under_way=_under_way(world, invoice),
    )


def _under_way(world: World, invoice: Invoice) -> int | None:
    """Return the amount (minor units) of a payment that can pay what is owed (B-62)."""
    is_owed = STATE_MACHINE.allows(invoice, "pay")
    intent = payment_intents.current_payment(world, invoice) if is_owed else None
    return None if intent is None else intent.amount


def invoice_token_error() -> ApiError:
    message = "The token does not open this invoice; take pdf_url as it is."
    return ApiError("INVALID_TOKEN", param="token", message=message)


OPERATIONS = {"getInvoicePdf": show}


# -- emails


class Email(Record, frozen=True, kw_only=True):
    """One email, with the objects it is about as they were when it was written.

    ``topic`` is what the control API calls its kind, ``item`` the name of what is subscribed to,
    ``images`` the names and picture URLs of the products, ``again_at`` when a failed charge is
    retried, ``lines`` what was paid for where there is no invoice: quantity, name and minor units,
    ``first_payment`` the total (minor units) that is charged at the end of a trial, ``under_way``
    the sum (minor units) of the payments of its subscription or invoice that were under way.
    """

    prefix: ClassVar[str] = "mail"
    indexes: ClassVar[tuple[str, ...]] = ("topic",)

    topic: str
    to: str
    merchant: str
    language: str
    created_at: str
    customer: Customer | None
    invoice: Invoice | None = None
    subscription: Subscription | None = None
    item: str | None = None
    again_at: str | None = None
    transaction: Transaction | None = None
    receipt: Receipt | None = None
    refund: Refund | None = None
    images: tuple[tuple[str, str], ...] = ()
    seller: Merchant | None = None
    lines: tuple[tuple[int, str, int], ...] = ()
    first_payment: int | None = None
    under_way: int | None = None


ABOUT = ("customer", "invoice", "subscription", "transaction", "receipt", "refund")
"""The fields of an email that hold the objects it is about."""


def write(
    world: World, topic: str, to: str, customer: Customer | None, about: Mapping[str, Any]
) -> None:
    """Add an email to the outbox; ``about`` are further fields of the email."""
    email = new_record(
        world,
        Email,
        about,
        topic=topic,
        to=to,
        merchant=merchant_name(world),
        language=language_of(world, customer),
        customer=customer,
        images=_images(world, about.get("invoice"), about.get("subscription")),
        seller=settings(world).merchant,
    )
    world.add(email)


def _images(
    world: World, invoice: Invoice | None, subscription: Subscription | None
) -> tuple[tuple[str, str], ...]:
    """Return the first picture of each product that is billed or subscribed to (B-67)."""
    ids = [line.product for line in invoice.line_items] if invoice else []
    if subscription is not None and not ids:
        ids = [subscription.product]
    products = [world.get(Product, id) for id in dict.fromkeys(ids) if id is not None]
    return tuple(
        (product.name, product.images[0])
        for product in products
        if product is not None and product.images
    )


def invoice(world: World, invoice: Invoice) -> None:
    """Write an invoice, with its PDF and a link to its payment page (Invoices; B-41, B-44)."""
    if (to := addressee(world, invoice)) is not None:
        about = {"invoice": invoice, "under_way": _under_way(world, invoice)}
        write(world, "invoice", to, world.get(Customer, invoice.customer), about)


def receipt(world: World, transaction: Transaction) -> None:
    """Reaction to ``transaction.succeeded``, after the one that issues the receipt (B-44, B-53)."""
    intent = world.get(PaymentIntent, transaction.payment_intent)
    paid = world.get(Invoice, intent.invoice if intent else None)
    sold = intent.sold if intent and not paid else ()
    _to_payer(world, "receipt", transaction, {"invoice": paid, "lines": sold})


def refund(world: World, refund: Refund) -> None:
    """Reaction to ``refund.succeeded``: an email to the address on the receipt."""
    _to_payer(world, "refund", world.require(Transaction, refund.transaction), {"refund": refund})


def _to_payer(world: World, topic: str, transaction: Transaction, about: Mapping[str, Any]) -> None:
    """Write an email to the address on the receipt of a deposit, if there is one."""
    receipt = world.table(Receipt).find("transaction", transaction.id)
    if receipt is not None and receipt.customer_email is not None:
        customer = world.get(Customer, transaction.customer)
        about = {"transaction": transaction, "receipt": receipt, **about}
        write(world, topic, receipt.customer_email, customer, about)


def renewal_failed(world: World, subscription: Subscription) -> None:
    """Reaction to ``subscription.payment_failed``, after each attempt (B-45)."""
    owed = world.get(Invoice, subscription.unpaid_invoice)
    again_at = renewals.next_retry_at(world, subscription)
    _to_subscriber(world, "renewal_failed", subscription, {"invoice": owed, "again_at": again_at})


def trial_ending(world: World, subscription: Subscription) -> None:
    """Reaction to ``subscription.trial_will_end`` (B-43); its price is that after the trial."""
    charge = renewals.next_charge(world, subscription)
    charged = subscription.replace(**subscriptions.next_period(world, subscription))
    _to_subscriber(world, "trial_ending", charged, {"first_payment": charge["total"]})


def canceled(world: World, subscription: Subscription) -> None:
    """Reaction to ``subscription.canceled``: at the end, not when it was scheduled (B-47)."""
    under_way = sum(intent.amount for intent in renewals.payments_under_way(world, subscription))
    about = {"under_way": under_way or None}
    _to_subscriber(world, "subscription_canceled", subscription, about)


def _to_subscriber(
    world: World, topic: str, subscription: Subscription, about: Mapping[str, Any]
) -> None:
    customer = world.get(Customer, subscription.customer)
    if customer is not None and customer.email is not None:
        # The names of the product and of the plan (B-67).
        sold = (
            world.get(Product, subscription.product),
            subscriptions.current_plan(world, subscription),
        )
        item = (
            " · ".join(dict.fromkeys(record.name for record in sold if record is not None)) or None
        )
        write(
            world,
            topic,
            customer.email,
            customer,
            {"subscription": subscription, "item": item, **about},
        )
