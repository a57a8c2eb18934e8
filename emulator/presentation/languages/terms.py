"""Terms that pages, the console, emails and PDFs share."""

from __future__ import annotations

from collections.abc import Mapping

from emulator.core.translatable import N_

PAYMENT_METHOD_TYPES: Mapping[str, str] = {
    "mobile_money": N_("Mobile money"),
    "bank_card": N_("Card"),
    "bank_transfer": N_("Bank transfer"),
    "paypal": N_("PayPal"),
}
"""The types of payment method."""

MONEY_FIELDS = frozenset(
    {
        "amount",
        "amount_capturable",
        "amount_paid",
        "amount_received",
        "amount_refunded",
        "amount_remaining",
        "amount_subtotal",
        "amount_total",
        "commission",
        "discount_amount",
        "fee",
        "max_amount",
        "net_amount",
        "subtotal",
        "tax_amount",
        "total",
        "total_spent",
        "unit_amount",
    }
)
"""The fields of objects that hold minor units, of the object's own currency where it has one."""
