"""A buyer's page: the payable session, payment link or invoice, and what the page asks for.

A URL that a merchant gave may be one that no page sends its buyer to or loads images from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Literal
from urllib.parse import urlsplit

from emulator.core import calendar
from emulator.core.records import N_
from emulator.core.world import World
from emulator.presentation.languages.wording import buyers_step
from emulator.resources.app import amounts, security_profiles
from emulator.resources.app.settings import merchant_name, settings
from emulator.resources.billing import invoices, renewals
from emulator.resources.billing.invoices import Invoice
from emulator.resources.billing.subscriptions import Subscription
from emulator.resources.catalog.products import Product
from emulator.resources.checkout import hosted_payments
from emulator.resources.checkout.checkout_sessions import CheckoutSession
from emulator.resources.customers.customer_records import Customer
from emulator.resources.customers.payment_details import EVERY_TYPE, PaymentDetails
from emulator.resources.payments import payment_intents, payment_links
from emulator.resources.payments.payment_intents import PaymentIntent
from emulator.resources.payments.payment_links import PaymentLink
from emulator.resources.payments.refunds import Receipt
from emulator.web.root_app import is_host
from emulator.web.url_formats import takes

# -- URLs that a merchant gave


def origins(*urls: str | None) -> list[str]:
    """Return these URLs' origins, where they have one, once; of an app's own scheme the scheme."""
    sources = set()
    for parts in (urlsplit(url) for url in urls if url):
        if parts.scheme not in ("http", "https"):
            sources.add(f"{parts.scheme}:")
        elif is_host(parts.netloc):
            sources.add(f"{parts.scheme}://{parts.netloc}")
    return sorted(sources)


def web_url(url: str | None) -> str | None:
    """Return a merchant's URL if a browser may go there: no ``javascript:`` or scheme like it."""
    return url if url and takes("app-url", url) else None


# -- what the subscription that begins on a page charges later, and when


def amount_and_period(world: World, session: CheckoutSession) -> dict[str, Any] | None:
    """Return a subscription's charge for a period (minor units, tax included), and its interval."""
    if session.terms is None:
        return None
    line = invoices.line(
        product=None, description="", quantity=1, unit_amount=session.terms["unit_amount"]
    )
    period = {
        name: session.terms[name] for name in ("interval", "interval_count", "trial_period_days")
    }
    return {**period, "amount": invoices.totals(world, (line,))["total"]}


def next_charge_at(world: World, session: CheckoutSession) -> str | None:
    """Return the subscription's next charge, or, before its start, the next if it began now."""
    if session.terms is None:
        return None
    begun = world.get(Subscription, session.subscription)
    if begun is not None:
        charges = (
            begun.status in ("active", "trialing", "past_due") and not begun.cancel_at_period_end
        )
        return begun.current_period_end if charges else None
    if days := session.terms["trial_period_days"]:
        return calendar.plus(world.now, days=days)
    return calendar.step(world.now, session.terms["interval"], session.terms["interval_count"])


# -- payables


State = Literal[
    "payable", "waiting", "step", "paid", "expired", "archived", "exhausted", "link_expired", "void"
]

SUBTOTAL, DISCOUNT, TAX = N_("Subtotal"), N_("Discount"), N_("Tax")


@dataclass(frozen=True, kw_only=True)
class PayableLine:
    """A line of the sale; amounts are minor units. ``image``: a URL of the product's picture."""

    name: str
    quantity: int
    unit_amount: int
    amount: int
    image: str | None = None


Asks = Literal["nothing", "optional", "email", "required"]
"""A page's questions: none, optional name and email, email and optional name, or both."""


@dataclass(frozen=True, kw_only=True)
class Choice:
    """A product to choose; without an ``amount`` (minor units) the buyer decides on the price."""

    id: str
    name: str
    description: str | None
    amount: int | None
    image: str | None = None


@dataclass(frozen=True, kw_only=True)
class Payable:
    """Something to pay. ``total``: minor units, None if the buyer decides; ``totals``: its parts.

    ``image`` is the URL of a picture of the product, if a link sells just one. ``next_charge_at``
    is when a subscription charges next, ``tax_rate`` per cent if known. ``own_names`` of lines are
    not the merchant's: the page translates them. ``asks`` says which of name and email have to be
    given. ``intent`` is the payment this page is about, if one was tried;
    ``saving`` the method that is being saved without a payment; ``available`` says whether others
    may still pay.
    """

    kind: Literal["checkout", "pay", "invoice"]
    id: str
    merchant: str
    livemode: bool
    state: State
    mode: str = "payment"
    title: str | None = None
    description: str | None = None
    image: str | None = None
    currency: str
    total: int | None
    totals: tuple[tuple[str, int], ...] = ()
    lines: tuple[PayableLine, ...] = ()
    own_names: frozenset[str] = frozenset()
    choices: tuple[Choice, ...] = ()
    asks_quantity: bool = False
    used_up_by_failure: bool = False
    suggested: int | None = None
    recurs: Mapping[str, Any] | None = None
    methods: tuple[str, ...]
    customer: Customer | None = None
    email: str | None = None
    asks: Asks = "nothing"
    success_url: str | None = None
    cancel_url: str | None = None
    expires_at: str | None = None
    due_date: str | None = None
    overdue: bool = False
    pdf_url: str | None = None
    footer: str | None = None
    tax_rate: float | None = None
    next_charge_at: str | None = None
    intent: PaymentIntent | None = None
    receipt: Receipt | None = None
    failed_with: str | None = None
    saving: PaymentDetails | None = None
    available: bool = True

    @property
    def asks_amount(self) -> bool:
        return self.total is None and (
            not self.choices or any(choice.amount is None for choice in self.choices)
        )

    @property
    def given_email(self) -> str | None:
        """The merchant's email for a buyer who is no customer yet: it makes the customer (B-58)."""
        return self.email if self.asks != "nothing" else None

    @property
    def failure(self) -> str | None:
        """Why the last payment failed: a code, or another cause."""
        failed = self.intent is not None and self.intent.last_error is not None
        return (
            payment_intents.why_failed(self.intent) if self.intent and failed else self.failed_with
        )

    @property
    def instrument(self) -> PaymentDetails | None:
        return self.saving if self.intent is None else self.intent.instrument

    @property
    def origins(self) -> list[str]:
        """The origins of the merchant's own URLs: the only ones the page may send its buyer to."""
        return origins(self.success_url, self.cancel_url)

    @property
    def image_origins(self) -> list[str]:
        pictures = (line.image for line in self.lines), (choice.image for choice in self.choices)
        return origins(self.image, *chain(*pictures))


def with_payment(payable: Payable, world: World, intent: PaymentIntent | None) -> Payable:
    """Return the payable for this payment's buyer: under way, paid, or failed and still payable."""
    if intent is None:
        return payable
    payable = replace(payable, intent=intent)
    if intent.status in payment_intents.WAITING_INTENTS:
        step = (intent.next_action or {}).get("type") == "confirm_card"
        return replace(payable, state="step" if step else "waiting", total=intent.amount)
    if payment_intents.is_received(world, intent):
        receipt = world.table(Receipt).find("transaction", intent.transaction)
        return replace(payable, state="paid", total=intent.amount, receipt=receipt)
    if intent.status in ("succeeded", "requires_capture"):
        return replace(payable, state="waiting", total=intent.amount)
    return payable


def _image(world: World, id: str | None) -> str | None:
    """Return the first picture of a product (B-67)."""
    product = world.get(Product, id)
    return web_url(product.images[0]) if product is not None and product.images else None


def of_session(world: World, session: CheckoutSession) -> Payable:
    closed: dict[str, State] = {"complete": "paid", "expired": "expired", "processing": "waiting"}
    tax = session.amount_total - session.amount_subtotal
    payable = Payable(
        kind="checkout",
        id=session.id,
        merchant=merchant_name(world),
        livemode=world.livemode,
        state="payable" if buyers_step(session) else closed[session.status],
        mode=session.mode,
        currency=session.currency,
        total=session.amount_total,
        totals=((SUBTOTAL, session.amount_subtotal), (TAX, tax)) if tax > 0 else (),
        tax_rate=amounts.rate_of(tax, session.amount_subtotal, session.tax_rate),
        lines=_lines(world, session.line_items, "amount_total"),
        recurs=amount_and_period(world, session),
        next_charge_at=next_charge_at(world, session),
        methods=security_profiles.permitted(world, session.payment_method_types),
        customer=world.get(Customer, session.customer),
        email=session.customer_email,
        asks=_session_asks(world, session),
        success_url=web_url(
            (session.success_url or "").replace("{CHECKOUT_SESSION_ID}", session.id)
        ),
        cancel_url=web_url(session.cancel_url),
        expires_at=session.expires_at,
        failed_with=session.failure,
        saving=session.instrument if hosted_payments.is_saving(session) else None,
    )
    if hosted_payments.asks_for_check(world, session):
        payable = replace(payable, state="step")
    intent = world.get(PaymentIntent, session.payment_intent)
    return with_payment(payable, world, intent) if payable.state != "expired" else payable


def _session_asks(world: World, session: CheckoutSession) -> Asks:
    """Return the page's questions: email for a subscription's or saved method's customer (B-58)."""
    if session.customer is not None:
        return "nothing"
    anonymous = settings(world).assumptions.anonymous_customer == "made"
    optional = session.mode == "payment" or (session.mode == "setup" and anonymous)
    return "optional" if optional else "email"


def _lines(world: World, lines: Any, amount: str) -> tuple[PayableLine, ...]:
    return tuple(
        PayableLine(
            name=line.description,
            quantity=line.quantity,
            unit_amount=line.unit_amount,
            amount=getattr(line, amount),
            image=_image(world, line.product),
        )
        for line in lines
    )


def _under_way(world: World, link: PaymentLink) -> PaymentIntent | None:
    """Return the last use of a link, until it has its answer: its page shows it to all (B-62)."""
    last = payment_intents.last_use(world, link)
    if last is None or payment_intents.is_received(world, last):
        return None
    return last if last.status in (*payment_intents.INTENTS_UNDER_WAY, "succeeded") else None


def of_link(world: World, link: PaymentLink, intent: PaymentIntent | None) -> Payable:
    """Return a payment link's page, for the buyer of this payment if there is one."""
    products = [product for id in link.products if (product := world.get(Product, id))]
    # By its present name, at the price it had when the link was made (B-59; Products, PATCH).
    choices = tuple(
        Choice(
            id=product.id,
            name=product.name,
            description=product.description,
            amount=link.prices.get(product.id),
            image=_image(world, product.id),
        )
        for product in products
    )
    state: State = _CLOSED_LINKS.get(payment_links.closed(world, link) or "", "payable")
    single = choices[0] if len(choices) == 1 else None
    donation = link.payment_link_type == "donation"
    total = link.amount if link.payment_link_type == "custom" else single.amount if single else None
    payable = Payable(
        kind="pay",
        id=link.id,
        merchant=merchant_name(world),
        livemode=world.livemode,
        state=state,
        mode="donation" if donation else "payment",
        title=single.name if single else link.name,
        description=single.description if single else None,
        image=_image(world, single.id) if single else None,
        currency=link.currency,
        total=total,
        choices=() if single else choices,
        suggested=products[0].unit_amount if single and single.amount is None else None,
        asks_quantity=link.allow_quantity,
        methods=security_profiles.permitted(world, link.payment_method_types),
        asks="required" if link.collect_customer_info else "nothing",
        available=state == "payable",
        used_up_by_failure=payment_intents.used_up_by_failure(world, link),
        success_url=web_url(link.redirect_url.success),
        cancel_url=web_url(link.redirect_url.cancel),
    )
    return with_payment(payable, world, intent or _under_way(world, link))


_CLOSED_LINKS: Mapping[str, State] = {
    "archived": "archived",
    "exhausted": "exhausted",
    "expired": "link_expired",
}


def of_invoice(world: World, invoice: Invoice, intent: PaymentIntent | None) -> Payable:
    """Return an invoice's page. It shows the current payment, of this browser or not (B-62)."""
    changes = ((DISCOUNT, -invoice.discount_amount), (TAX, invoice.tax_amount))
    sums = tuple((name, amount) for name, amount in changes if amount)
    closed: dict[str, State] = {"paid": "paid", "void": "void"}
    payable = Payable(
        kind="invoice",
        id=invoice.id,
        merchant=merchant_name(world),
        livemode=world.livemode,
        state="payable" if buyers_step(invoice) else closed[invoice.status],
        title=invoice.invoice_number,
        description=invoice.description,
        currency=invoice.currency,
        total=invoice.total,
        totals=((SUBTOTAL, invoice.subtotal), *sums) if sums else (),
        tax_rate=amounts.rate_of(
            invoice.tax_amount, invoice.subtotal - invoice.discount_amount, invoice.tax_rate
        ),
        lines=_lines(world, invoice.line_items, "amount"),
        own_names=frozenset(
            line.description for line in invoice.line_items if renewals.is_unnamed(invoice, line)
        ),
        methods=security_profiles.permitted(world, EVERY_TYPE),
        customer=world.get(Customer, invoice.customer),
        email=invoice.customer_email,
        due_date=invoice.due_date,
        overdue=invoices.is_overdue(world, invoice),
        pdf_url=web_url(invoice.pdf_url),
        footer=invoice.footer,
    )
    if payable.state == "void":
        return payable
    return with_payment(payable, world, payment_intents.current_payment(world, invoice) or intent)
