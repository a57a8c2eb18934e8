"""An invoice: what a customer owes for its lines, from draft to paid (Invoices; B-65, B-66)."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import msgspec
from msgspec.structs import replace

from emulator.core import calendar
from emulator.core.errors import invalid_field
from emulator.core.jobs import Job
from emulator.core.records import HIDDEN, Metadata, Record, no_metadata
from emulator.core.state_machine import StateMachine
from emulator.core.translatable import N_
from emulator.core.world import World
from emulator.resources.billing import invoice_lines
from emulator.resources.billing.invoice_lines import InvoiceLines
from emulator.resources.customers.customer_records import Customer
from emulator.resources.payments.payment_intents import PaymentIntent

DAYS_TO_PAY = 30
"""Due date when none is given, counted from finalization (Limits)."""


class Invoice(Record, frozen=True, kw_only=True):
    """Amounts are minor units. ``payment_url`` and ``pdf_url`` are null while it is a draft.

    ``payment_intent`` and ``transaction`` are those that paid it; null if it is not paid, or was paid manually.
    """

    kind: ClassVar[str] = "invoice"
    prefix: ClassVar[str] = "inv"
    names: ClassVar[tuple[str, str] | None] = (N_("Invoice"), N_("Invoices"))
    not_found_code: ClassVar[str] = "INVOICE_NOT_FOUND"
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
    """Return a due date that is not in the past; else 422 (B-65)."""
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
    due_date: str | None = None,
    description: str | None = None,
    footer: str | None = None,
    metadata: Metadata | None = None,
    subscription: str | None = None,
) -> Invoice:
    """Create a draft with its number and its totals."""
    sums = invoice_lines.totals(world, lines)
    invoice = Invoice(
        id=id or world.new_id(Invoice),
        invoice_number=f"INV-{world.now[:4]}-{world.count('invoice'):06d}",
        status="draft",
        customer=customer.id,
        customer_email=customer.email,
        currency=currency,
        subtotal=sums["subtotal"],
        tax_amount=sums["tax_amount"],
        total=sums["total"],
        amount_remaining=sums["amount_remaining"],
        line_items=lines,
        livemode=world.livemode,
        created_at=world.now,
        updated_at=world.now,
    )
    invoice = replace(
        invoice,
        due_date=due_date,
        description=description,
        footer=footer,
        metadata=metadata or no_metadata(),
        subscription=subscription,
        tax_rate=sums["tax_rate"],
    )
    return STATE_MACHINE.create(world, "create", invoice)


def finalize_and_track(world: World, invoice: Invoice) -> Invoice:
    """Finalize a draft with today's tax rate and its customer's present email, and watch its due date (B-65)."""
    customer = world.get(Customer, invoice.customer)
    email = invoice.customer_email if customer is None else customer.email
    sums = invoice_lines.totals(world, invoice.line_items)
    return schedule_overdue(world, finalize_now(world, invoice, customer_email=email, **sums))


def finalize_now(world: World, invoice: Invoice, **changes: Any) -> Invoice:
    """Lock lines and amounts, set due date and links; an invoice over 0 is paid at once (B-66)."""
    due_date = invoice.due_date or calendar.day_plus(calendar.day(world.now), DAYS_TO_PAY)
    token = world.draw("token")
    invoice = STATE_MACHINE.transition(
        world,
        invoice,
        "finalize",
        due_date=due_date,
        payment_url=f"{world.base_url}/invoice/{invoice.id}",
        pdf_url=f"{world.base_url}/v1/invoices/{invoice.id}/pdf/?token={token}",
        **changes,
    )
    return mark_paid(world, invoice) if invoice.total == 0 else invoice


def schedule_overdue(world: World, invoice: Invoice) -> Invoice:
    """It falls overdue at the first 00:00 UTC after its due date at which it is open (B-65).

    A renewal schedules this after its charge, which may have paid the invoice.
    """
    if invoice.status == "open" and invoice.due_date is not None:
        last_day = max(invoice.due_date, calendar.day(world.now))
        world.schedule(calendar.midnight(calendar.day_plus(last_day, 1)), "invoice.overdue", invoice)
    return invoice


def send_email(world: World, invoice: Invoice) -> None:
    """Email it to the customer, in a job of its own, since there is no event to react to."""
    world.schedule(world.now, "invoice.mail", invoice)


def mark_paid(
    world: World, invoice: Invoice, intent: PaymentIntent | None = None, *, paid_manually: bool = False
) -> Invoice:
    """The invoice is paid in full, by the payment of an intent or manually."""
    world.cancel_jobs(invoice, "invoice.overdue")
    paid: dict[str, Any] = {"amount_paid": invoice.total, "amount_remaining": 0, "paid_manually": paid_manually}
    if intent is not None:
        paid |= {"payment_intent": intent.id, "transaction": intent.transaction}
    return STATE_MACHINE.transition(world, invoice, "pay", **paid)


def write_off(world: World, invoice: Invoice) -> Invoice:
    """It becomes uncollectible; it can still be paid (B-45)."""
    world.cancel_jobs(invoice, "invoice.overdue")
    return STATE_MACHINE.transition(world, invoice, "write off")


def is_overdue(world: World, invoice: Invoice) -> bool:
    """Whether its due date has passed without payment."""
    return invoice.status == "open" and (invoice.due_date or calendar.LAST) < calendar.day(world.now)


def mark_overdue(world: World, job: Job) -> None:
    """Job ``invoice.overdue``, at 00:00 UTC of the day after the due date (B-65): it stays open, with an event."""
    invoice = world.get(Invoice, job.about)
    if invoice is not None and STATE_MACHINE.allows(invoice, "fall overdue"):
        STATE_MACHINE.transition(world, invoice, "fall overdue")


def payment_received(world: World, intent: PaymentIntent) -> None:
    """Pay the invoice that the received payment was for, if any (B-61)."""
    invoice = world.get(Invoice, intent.invoice)
    if invoice is not None and STATE_MACHINE.allows(invoice, "pay"):
        mark_paid(world, invoice, intent)


JOBS = {"invoice.overdue": mark_overdue}
