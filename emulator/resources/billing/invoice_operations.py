"""The operations on invoices, from their creation to their payment (Invoices; B-65, B-66)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from emulator.core.errors import ApiError
from emulator.core.handlers import get_handler, get_or_404, list_handler
from emulator.core.records import merge_metadata, pick
from emulator.core.world import World
from emulator.resources.app import amounts
from emulator.resources.app.settings import settings
from emulator.resources.billing import invoice_lines, invoices
from emulator.resources.billing.invoices import Invoice
from emulator.resources.customers.customer_records import Customer
from emulator.resources.payments import current_payment


def create(world: World, body: Mapping[str, Any]) -> Invoice:
    """POST /invoices/: a draft."""
    customer = get_or_404(world, Customer, body["customer"], "customer")
    currency = amounts.enabled(world, body.get("currency") or settings(world).main_currency)
    lines = invoice_lines.priced(world, body["line_items"], currency)
    return invoices.draft(
        world,
        customer,
        lines,
        currency,
        due_date=invoices.valid_due_date(world, body.get("due_date")),
        description=body.get("description"),
        footer=body.get("footer"),
        metadata=body.get("metadata", {}),
    )


def update(world: World, id: str, body: Mapping[str, Any]) -> Invoice:
    """PATCH /invoices/{id}/, of drafts only; new lines replace all the old ones (B-66)."""
    invoice = get_or_404(world, Invoice, id)
    if invoice.status != "draft":
        raise ApiError("INVOICE_NOT_DRAFTABLE", status=invoice.status)
    changes = {field: body[field] for field in ("description", "footer") if field in body}
    if "due_date" in body:
        changes["due_date"] = invoices.valid_due_date(world, body["due_date"])
    if "metadata" in body:
        changes["metadata"] = merge_metadata(invoice.metadata, body["metadata"])
    if "currency" in body or "line_items" in body:
        changes |= _new_lines(world, invoice, body)
    return world.replace(invoice, **changes) if changes else invoice


def _new_lines(world: World, invoice: Invoice, body: Mapping[str, Any]) -> dict[str, Any]:
    """The changes that a new currency or new lines bring, totals included."""
    currency = amounts.enabled(world, body.get("currency", invoice.currency))
    if "line_items" not in body:
        invoice_lines.check_currency(world, invoice.line_items, currency)
        return {"currency": currency}
    lines = invoice_lines.priced(world, body["line_items"], currency)
    return {"currency": currency, "line_items": lines, **invoice_lines.totals(world, lines)}


def finalize(world: World, id: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """POST /invoices/{id}/finalize/: with ``auto_send`` it is emailed as well."""
    invoice = invoices.finalize_and_track(world, get_or_404(world, Invoice, id))
    if body.get("auto_send"):
        invoices.send_email(world, invoice)
    return pick(invoice, "id", "status", "total", "payment_url", "pdf_url", "updated_at")


def send(world: World, id: str) -> Invoice:
    """POST /invoices/{id}/send/: any number of times."""
    invoice = invoices.STATE_MACHINE.transition(world, get_or_404(world, Invoice, id), "send")
    invoices.send_email(world, invoice)
    return invoice


def void(world: World, id: str) -> Invoice:
    """POST /invoices/{id}/void/: a payment under way is canceled with it (B-62). A job informs its subscription."""
    invoice = invoices.STATE_MACHINE.transition(world, get_or_404(world, Invoice, id), "void")
    current_payment.cancel(world, invoice)
    world.cancel_jobs(invoice, "invoice.overdue")
    if invoice.subscription is not None:
        world.schedule(world.now, "invoice.voided", invoice)
    return invoice


def pay(world: World, id: str) -> Invoice:
    """POST /invoices/{id}/pay/: it was paid outside the service; a payment under way is canceled (B-45, B-62)."""
    invoice = invoices.mark_paid(world, get_or_404(world, Invoice, id), paid_manually=True)
    current_payment.cancel(world, invoice)
    return invoice


retrieve = get_handler(Invoice)
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
    "getInvoice": retrieve,
    "updateInvoice": update,
    "finalizeInvoice": finalize,
    "sendInvoice": send,
    "voidInvoice": void,
    "payInvoice": pay,
}
