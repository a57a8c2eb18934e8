"""The JSON form of a buyer's page, for programs."""

from __future__ import annotations

from typing import Any

import msgspec

from emulator.core.records import pick
from emulator.resources.payments.payment_intents import PaymentIntent
from emulator.ui.buyer.payables import Payable
from emulator.ui.buyer.payment_form import FIELDS
from emulator.ui.buyer.views import View


def as_json(view: View, token: str) -> dict[str, Any]:
    """What the page shows, what it asks for, and the payment it made."""
    payable, language = view.payable, view.language
    return {
        "object": "payment_page",
        "kind": payable.kind,
        "id": payable.id,
        "state": payable.state,
        "merchant": payable.merchant,
        "language": language.code,
        "livemode": payable.livemode,
        "mode": payable.mode,
        "title": payable.title,
        "image": payable.image,
        "currency": payable.currency,
        "amount_total": payable.total,
        "amount_shown": None if payable.total is None else language.money_with_symbol(payable.total, payable.currency),
        "lines": [msgspec.to_builtins(line) for line in payable.lines],
        "choices": [msgspec.to_builtins(choice) for choice in payable.choices],
        "payment_method_types": payable.methods,
        "fields": _fields(payable),
        "payment_intent": _intent(payable.intent),
        "problem": view.problem or None,
        "errors": {field: language.gettext(message) for field, message in view.errors.items()} or None,
        "redirect_url": payable.success_url if payable.state == "paid" else None,
        "cancel_url": payable.cancel_url,
        "expires_at": payable.expires_at,
        "refresh_seconds": view.refresh,
        "token": token,
    }


def _fields(payable: Payable) -> dict[str, Any]:
    """The fields of the form: always, and by method."""
    if payable.state != "payable":
        return {}
    asks_who = payable.asks != "nothing"
    always = {"name": asks_who, "email": asks_who, "product": bool(payable.choices)}
    always |= {"amount": payable.asks_amount, "quantity": payable.asks_quantity}
    return {
        "always": [name for name, asked in always.items() if asked],
        **{type: FIELDS[type] for type in payable.methods},
    }


def _intent(intent: PaymentIntent | None) -> dict[str, Any] | None:
    if intent is None:
        return None
    return pick(intent, "id", "status", "amount", "currency", "payment_method_type", "next_action", "last_error")
