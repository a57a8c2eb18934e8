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
