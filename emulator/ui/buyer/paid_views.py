"""Views after a payment: the confirmation and the receipt."""

from __future__ import annotations

from typing import Any

from emulator.core import money
from emulator.core.world import World
from emulator.presentation.languages.language import Language
from emulator.presentation.languages.terms import PAYMENT_METHOD_TYPES
from emulator.resources.app.settings import settings
from emulator.resources.billing.invoices import Invoice
from emulator.resources.customers.card_numbers import BRAND_NAMES
from emulator.resources.payments.payment_intents import PaymentIntent
from emulator.resources.payments.receipts import Receipt
from emulator.resources.payments.transactions import Transaction
from emulator.ui.buyer.payables import Payable


def confirmation(payable: Payable, language: Language) -> dict[str, Any]:
    """The values of the page of a payable that is paid."""
    _ = language.gettext
    heading, text = _("Payment successful"), _("Nothing was charged.")
    if payable.kind == "invoice":
        text = _("This invoice is paid. Thank you.")
    elif payable.intent is not None and payable.total is not None:
        amount = language.money_with_symbol(payable.total, payable.currency)
        text = _("You paid {amount} to {merchant}.", amount=amount, merchant=payable.merchant)
    else:
        heading = _("Payment method saved")
    return {
        "heading": _("Your subscription is active") if payable.mode == "subscription" else heading,
        "text": text,
        "next_charge": _next_charge(payable, language),
        "payable_again": payable.kind == "pay" and payable.available,
        "receipt_link": f"/receipt/{payable.receipt.id}?lang={language.code}" if payable.receipt else None,
    }


def _next_charge(payable: Payable, language: Language) -> str | None:
    """When a subscription charges next, and how much."""
    if payable.recurs is None or payable.next_charge_at is None:
        return None
    amount = language.money_with_symbol(payable.recurs["amount"], payable.currency)
    day = language.day(payable.next_charge_at)
    return language.gettext("The next payment of {amount} is on {date}.", amount=amount, date=day)


def receipt_values(world: World, receipt: Receipt, language: Language) -> dict[str, Any]:
    """The values of a receipt's page."""
    transaction = world.get(Transaction, receipt.transaction)
    intent = world.get(PaymentIntent, transaction.payment_intent) if transaction else None
    invoice = world.get(Invoice, intent.invoice) if intent else None
    _, seller = language.gettext, settings(world).merchant
    rows = [(_("Date"), language.instant(receipt.created_at)), (_("Transaction"), receipt.transaction)]
    if invoice is not None:
        rows.insert(1, (_("Invoice"), invoice.invoice_number))
    if receipt.customer_email:
        rows.insert(0, (_("Billed to"), receipt.customer_email))
    if transaction is not None:
        type = _(PAYMENT_METHOD_TYPES[transaction.payment_method_type])
        operator = BRAND_NAMES.get(transaction.operator or "", transaction.operator)
        rows.append((_("Paid with"), f"{type} · {operator}" if operator else type))
        if transaction.amount_refunded:
            rows.append((_("Refunded"), language.money_with_symbol(transaction.amount_refunded, receipt.currency)))
    lines = _lines(intent, invoice)
    tax = receipt.amount - sum(amount for _, _, amount in lines)
    rate = settings(world).tax_rate if invoice is None else invoice.tax_rate
    return {
        "receipt": receipt,
        "rows": rows,
        "lines": lines,
        "tax": (language.tax(money.rate_of(tax, receipt.amount - tax, rate)), tax) if lines and tax > 0 else None,
        "seller": seller,
        "merchant": world.name,
        "state": "receipt",
        "refresh": None,
    }


def _lines(intent: PaymentIntent | None, invoice: Invoice | None) -> list[tuple[int, str, int]]:
    """What was paid for: quantity, name and minor units of each line."""
    if invoice is not None:
        return [(line.quantity, line.description, line.amount) for line in invoice.line_items]
    return list(intent.sold) if intent is not None else []
