"""The rules for the body of an invoice, checked before anything is done (B-12)."""

from __future__ import annotations

from emulator.core.handlers import metadata_check
from emulator.core.validation import Body, Violations
from emulator.core.world import World
from emulator.resources.app import amounts
from emulator.resources.app.settings import settings
from emulator.resources.billing import invoice_lines, invoices
from emulator.resources.billing.invoices import Invoice

_check_metadata = metadata_check(Invoice)


def check(found: Violations, world: World, body: Body) -> None:
    """The rules for a new invoice: its currency, its lines, their total and its due date."""
    currency: str | None = None
    with found:
        currency = amounts.enabled(world, body.get("currency") or settings(world).main_currency)
    _check_lines(found, world, body, currency)
    with found:
        invoices.valid_due_date(world, body.get("due_date"))


def check_update(found: Violations, world: World, id: str, body: Body) -> None:
    """The rules for the changes to a draft."""
    invoice = world.get(Invoice, id)
    if invoice is None or invoice.status != "draft":
        return
    currency: str | None = None
    with found:
        currency = amounts.enabled(world, body.get("currency", invoice.currency))
        if "currency" in body and "line_items" not in body:
            invoice_lines.check_currency(world, invoice.line_items, currency)
    _check_lines(found, world, body, currency)
    with found:
        invoices.valid_due_date(world, body.get("due_date"))
    _check_metadata(found, world, id, body)


def _check_lines(found: Violations, world: World, body: Body, currency: str | None) -> None:
    with found:
        lines = invoice_lines.check(found, world, body.get("line_items", ()), currency)
        if lines is not None:
            amounts.bounded(world, sum(line.amount for line in lines), "line_items")
