"""Invoices: a customer's debt for lines, from draft to paid, and operations (B-12, B-65, B-66)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, Any, ClassVar

import msgspec

from emulator.core import calendar
from emulator.core.errors import ApiError, invalid_field
from emulator.core.handlers import check_metadata, get_handler, get_or_404, list_handler
from emulator.core.records import HIDDEN, N_, Metadata, Record, merge_metadata, no_metadata, pick
from emulator.core.state_machine import StateMachine
from emulator.core.violations import Body, Violations, with_rules
from emulator.core.world import World
from emulator.resources.app import amounts
from emulator.resources.app.settings import settings
from emulator.resources.catalog import products
from emulator.resources.catalog.products import Product
from emulator.resources.customers.customer_records import Customer
from emulator.resources.payments import payment_intents
from emulator.resources.payments.payment_intents import PaymentIntent

# -- lines, each with its amount


class InvoiceLine(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One line; amounts are minor units, ``amount`` is ``quantity * unit_amount``."""

    product: str | None
    description: str
    quantity: int
    unit_amount: int
    amount: int


InvoiceLines = tuple[InvoiceLine, ...]


def line(*, product: str | None, description: str, quantity: int, unit_amount: int) -> InvoiceLine:
    return InvoiceLine(
        product=product,
        description=description,
        quantity=quantity,
        unit_amount=unit_amount,
        amount=unit_amount
        if quantity == 1
        else quantity * unit_amount,  # one object for both numbers
    )


def requested_lines(
    violations: Violations, world: World, body: Body, currency: str | None
) -> InvoiceLines | None:
    """Return the lines a merchant asks for, or None if a line or their sum breaks a rule."""
    with violations:
        items = enumerate(body.get("line_items", ()))
        sold = [
            products.line_item(violations, world, item, currency, f"line_items.{number}")
            for number, item in items
        ]
        if None not in sold:
            lines = tuple(line(**msgspec.structs.asdict(item)) for item in sold if item)
            amounts.bounded(world, sum(line.amount for line in lines), "line_items")
            return lines
    return None


def totals(
    world: World, lines: InvoiceLines, discount: int = 0, rate: float | None = None
) -> Mapping[str, Any]:
    """Return an invoice's amounts for these lines (minor units), and its tax rate in per cent.

    Tax is that ``rate``, by default the App's, of the subtotal less the discount, half up (B-23,
    B-65).
    """
    subtotal = sum(line.amount for line in lines)
    return _totals(subtotal, discount, settings(world).tax_rate if rate is None else rate)


@lru_cache(
    maxsize=4096
)  # plans have few prices and many subscribers, whose invoices share these numbers
def _totals(subtotal: int, discount: int, rate: float) -> Mapping[str, Any]:
    net = max(subtotal - discount, 0)
    tax = amounts.percent(net, rate)
    sums = {
        "subtotal": subtotal,
        "tax_amount": tax,
        "total": net + tax,
        "amount_remaining": net + tax,
    }
    # A float whatever number was set: a stored invoice is read back with one.
    return {**sums, "tax_rate": float(rate)}


# -- the record and its states


DAYS_TO_PAY = 30
"""The due date of an invoice without one, counted from its finalization (Limits)."""


class Invoice(Record, frozen=True, kw_only=True):
    """Minor units. Drafts lack URLs, manual payments ``payment_intent`` and ``transaction``."""

    prefix: ClassVar[str] = "inv"
    names: ClassVar[tuple[str, str] | None] = (N_("Invoice"), N_("Invoices"))
    indexes: ClassVar[tuple[str, ...]] = ("customer", "status", "subscription")
    checked: ClassVar[frozenset[str]] = frozenset({"amount_paid"})

    object: str = "invoice"
    invoice_number: str
    status: str
    customer: str
    customer_email: str | None
    subscription: str | None = None
    payment_intent: str | None = None
    transaction: str | None = None
    currency: str
    subtotal: int
    tax_amount: int
    discount_amount: int = 0
    total: int
    amount_paid: int = 0
    amount_remaining: int
    due_date: str | None = None
    description: str | None = None
    footer: str | None = None
    payment_url: str | None = None
    pdf_url: str | None = None
    line_items: InvoiceLines
    metadata: Metadata = msgspec.field(default_factory=no_metadata)
    livemode: bool
    created_at: str
    updated_at: str
    # Whether it was paid outside the service: then no payment here stands against ``amount_paid``.
    paid_manually: Annotated[bool, HIDDEN] = False
    # When it was paid; ``updated_at`` follows later changes, too.
    paid_at: Annotated[str | None, HIDDEN] = None
    # The rate its tax was computed with, in per cent: the PDF shows it.
    tax_rate: Annotated[float | None, HIDDEN] = None


STATE_MACHINE = StateMachine(
    Invoice,
    (None, "create", "draft"),
    ("draft", "finalize", "open"),
    ("open", "send", "open"),
    ("open", "void", "void"),
    ("open", "pay", "paid", "invoice.paid"),
    ("open", "fall overdue", "open", "invoice.payment_overdue"),
    ("open", "write off", "uncollectible"),
    ("uncollectible", "pay", "paid", "invoice.paid"),
)


def valid_due_date(world: World, due_date: str | None) -> str | None:
    """Return a due date, or raise 422 if it is in the past (B-65)."""
    if due_date is not None and due_date < calendar.day(world.now):
        raise invalid_field("due_date", "must not be in the past")
    return due_date


def draft(
    world: World,
    customer: Customer,
    lines: InvoiceLines,
    currency: str,
    *,
    id: str | None = None,
    rate: float | None = None,
    **fields: Any,
) -> Invoice:
    """Create a draft, numbered and totaled, of a merchant's ``fields`` and its subscription.

    ``rate``: of its tax, in per cent, if not the App's.
    """
    return STATE_MACHINE.create(
        world,
        "create",
        fields,
        id=id,
        invoice_number=f"INV-{world.now[:4]}-{world.count('invoice'):06d}",
        customer=customer.id,
        customer_email=customer.email,
        currency=currency,
        line_items=lines,
        **totals(world, lines, rate=rate),
    )


def finalize_and_track(world: World, invoice: Invoice) -> Invoice:
    """Finalize a draft with today's tax rate and customer email; watch its due date (B-65)."""
    customer = world.get(Customer, invoice.customer)
    email = invoice.customer_email if customer is None else customer.email
    sums = totals(world, invoice.line_items, invoice.discount_amount)
    return schedule_overdue(world, finalize_now(world, invoice, customer_email=email, **sums))


def addressee(world: World, invoice: Invoice) -> str | None:
    """Return the address for an invoice's email: its own, or its customer's present one (B-66)."""
    customer = world.get(Customer, invoice.customer)
    return invoice.customer_email or (None if customer is None else customer.email)


def require_addressee(world: World, invoice: Invoice) -> None:
    if addressee(world, invoice) is None:
        raise invalid_field("customer", "has no email address to which the invoice could be sent")


def finalize_now(world: World, invoice: Invoice, **changes: Any) -> Invoice:
    """Lock lines and amounts, set due date and links; an invoice over 0 is paid at once (B-66)."""
    invoice = STATE_MACHINE.transition(
        world, invoice, "finalize", **final_fields(world, invoice), **changes
    )
    return mark_paid(world, invoice) if invoice.total == 0 else invoice


def final_fields(world: World, invoice: Invoice) -> dict[str, Any]:
    """Return the due date and the links that a finalized invoice has."""
    token = world.draw("token")
    return {
        "due_date": invoice.due_date or calendar.day_plus(world.now, DAYS_TO_PAY),
        "payment_url": world.link(f"/invoice/{invoice.id}"),
        "pdf_url": world.link(f"/v1/invoices/{invoice.id}/pdf/", token=token),
    }


def schedule_overdue(world: World, invoice: Invoice) -> Invoice:
    """Plan the overdue date: the first 00:00 UTC after the due date, at least now (B-65, B-89).

    A renewal schedules this after its charge, which may have paid the invoice.
    """
    if invoice.status == "open" and invoice.due_date is not None:
        world.schedule(
            calendar.midnight(calendar.day_plus(invoice.due_date, 1)), "invoice.overdue", invoice
        )
    return invoice


def mark_paid(
    world: World,
    invoice: Invoice,
    intent: PaymentIntent | None = None,
    *,
    paid_manually: bool = False,
) -> Invoice:
    world.cancel_jobs(invoice, "invoice.overdue")
    paid: dict[str, Any] = {
        "amount_paid": invoice.total,
        "amount_remaining": 0,
        "paid_manually": paid_manually,
        "paid_at": world.now,
    }
    if intent is not None:
        paid |= {"payment_intent": intent.id, "transaction": intent.transaction}
    return STATE_MACHINE.transition(world, invoice, "pay", **paid)


def write_off(world: World, invoice: Invoice) -> Invoice:
    """Give the invoice up as uncollectible; it can still be paid (B-45)."""
    world.cancel_jobs(invoice, "invoice.overdue")
    return STATE_MACHINE.transition(world, invoice, "write off")


def is_overdue(world: World, invoice: Invoice) -> bool:
    return invoice.status == "open" and (invoice.due_date or calendar.LAST) < calendar.day(
        world.now
    )


def payment_received(world: World, intent: PaymentIntent) -> None:
    """Pay the invoice that the received payment was for, if any (B-61)."""
    invoice = world.get(Invoice, intent.invoice)
    if invoice is not None and STATE_MACHINE.allows(invoice, "pay"):
        mark_paid(world, invoice, intent)


JOBS = {"invoice.overdue": STATE_MACHINE.job("fall overdue")}
"""At 00:00 UTC of the day after the due date (B-65): it stays open, with an event."""


# -- operations


@with_rules
def create(world: World, body: Body) -> Invoice:
    """POST /invoices/: a draft."""
    violations = Violations(body)
    with violations:
        customer = get_or_404(world, Customer, body["customer"], "customer")
    currency = amounts.currency_of(violations, world, body)
    lines = requested_lines(violations, world, body, currency)
    with violations:
        valid_due_date(world, body.get("due_date"))
    violations.done()
    assert currency is not None
    assert lines is not None
    fields = {
        field: body[field]
        for field in ("due_date", "description", "footer", "metadata")
        if field in body
    }
    return draft(world, customer, lines, currency, **fields)


@with_rules
def update(world: World, id: str, body: Body) -> Invoice:
    """PATCH /invoices/{id}/, of drafts only; new lines replace all the old ones (B-66)."""
    invoice = get_or_404(world, Invoice, id)
    if invoice.status != "draft":
        raise ApiError("INVOICE_NOT_DRAFTABLE", status=invoice.status)
    violations = Violations(body)
    currency: str | None = None
    with violations:
        currency = amounts.enabled(world, body.get("currency", invoice.currency))
        if "currency" in body and "line_items" not in body:
            for billed in invoice.line_items:
                if (product := world.get(Product, billed.product)) is not None:
                    products.require_currency(product, currency, "currency")
    lines = requested_lines(violations, world, body, currency)
    with violations:
        if "line_items" in body and lines is not None:
            _require_discountable(lines, invoice.discount_amount)
    with violations:
        valid_due_date(world, body.get("due_date"))
    check_metadata(violations, invoice, body)
    violations.done()
    changes = {
        field: body[field]
        for field in ("currency", "due_date", "description", "footer")
        if field in body
    }
    if "metadata" in body:
        changes["metadata"] = merge_metadata(invoice.metadata, body["metadata"])
    if "line_items" in body:
        assert lines is not None
        changes |= {
            "currency": currency,
            "line_items": lines,
            **totals(world, lines, invoice.discount_amount),
        }
    return world.replace(invoice, **changes) if changes else invoice


def _require_discountable(lines: InvoiceLines, discount: int) -> None:
    """Raise 422 for lines that come to less (minor units) than their invoice's discount (B-23)."""
    subtotal = sum(line.amount for line in lines)
    if subtotal < discount:
        message = f"comes to {subtotal}; must be at least {discount}, the discount of the invoice"
        raise invalid_field("line_items", message)


def finalize(world: World, id: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """POST /invoices/{id}/finalize/: with ``auto_send`` it is emailed as well."""
    invoice = get_or_404(world, Invoice, id)
    STATE_MACHINE.require(invoice, "finalize")
    valid_due_date(world, invoice.due_date)
    if body.get("auto_send"):
        require_addressee(world, invoice)
    invoice = finalize_and_track(world, invoice)
    if body.get("auto_send"):
        world.signal("invoice sent", invoice)
    return pick(invoice, "id", "status", "total", "payment_url", "pdf_url", "updated_at")


def send(world: World, id: str) -> Invoice:
    """POST /invoices/{id}/send/: any number of times."""
    invoice = STATE_MACHINE.transition(world, get_or_404(world, Invoice, id), "send")
    require_addressee(world, invoice)
    world.signal("invoice sent", invoice)
    return invoice


def void(world: World, id: str) -> Invoice:
    """POST /invoices/{id}/void/: a payment under way is canceled with it (B-62)."""
    invoice = STATE_MACHINE.transition(world, get_or_404(world, Invoice, id), "void")
    payment_intents.cancel_current(world, invoice)
    world.cancel_jobs(invoice, "invoice.overdue")
    world.signal("invoice voided", invoice)
    return invoice


def pay(world: World, id: str) -> Invoice:
    """POST /invoices/{id}/pay/: paid elsewhere; cancels a payment under way (B-45, B-62)."""
    invoice = mark_paid(world, get_or_404(world, Invoice, id), paid_manually=True)
    payment_intents.cancel_current(world, invoice)
    return invoice


index = list_handler(
    Invoice,
    {
        "due_after": lambda invoice, day: (invoice.due_date or "") >= day,
        "due_before": lambda invoice, day: invoice.due_date is not None and invoice.due_date <= day,
    },
)

OPERATIONS = {
    "createInvoice": create,
    "listInvoices": index,
    "getInvoice": get_handler(Invoice),
    "updateInvoice": update,
    "finalizeInvoice": finalize,
    "sendInvoice": send,
    "voidInvoice": void,
    "payInvoice": pay,
}
