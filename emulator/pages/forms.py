"""The form: what a buyer typed, read into a payment as the rules take it, or told field by field what is wrong."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from emulator.errors import ApiError
from emulator.pages.languages import Language
from emulator.pages.payables import Payable
from emulator.web.formats import FORMATS

Form = Mapping[str, str]

NEVER_SHOWN = ("number", "expiry", "cvc", "token")
"""Fields that are never put back into a page once they were sent."""

FIELDS = {
    "mobile_money": ("phone",),
    "bank_card": ("number", "expiry", "cvc"),
    "bank_transfer": ("iban",),
    "paypal": ("paypal_email",),
}
"""The fields of each method on the page."""


class FormResult(NamedTuple):
    """The payment a form asks for, and by field why it cannot be: the key of a sentence in the table of words."""

    payment: dict[str, Any]
    errors: dict[str, str]


def read(offer: Payable, form: Form, language: Language) -> FormResult:
    """The payment in a form; what the page did not ask for is passed over."""
    faults: dict[str, str] = {}
    payment: dict[str, Any] = {"method": _method(offer, form, faults)}
    if customer := _customer(offer, form, faults):
        payment["customer"] = customer
    if offer.choices:
        payment["product"] = _product(offer, form, faults)
    if offer.asks_quantity:
        payment["quantity"] = _quantity(form, faults)
    if (amount := _amount(offer, form, language, faults)) is not None:
        payment["amount"] = amount
    return FormResult(payment, faults)


def _method(offer: Payable, form: Form, faults: dict[str, str]) -> dict[str, Any]:
    type = form.get("method", "")
    if type not in offer.methods or type not in _READERS:
        faults["method"] = "wrong_method"
        return {}
    return {"type": type, **_READERS[type](form, faults)}


def _text(form: Form, field: str) -> str:
    return form.get(field, "").strip()


def _checked(form: Form, field: str, good: Callable[[str], bool], faults: dict[str, str], tidy: str = "") -> str:
    """A field's text without the characters that people put in to read it more easily."""
    text = re.sub(f"[{tidy}]", "", _text(form, field)) if tidy else _text(form, field)
    if not good(text):
        faults[field] = f"wrong_{field}"
    return text


def _phone(form: Form, faults: dict[str, str]) -> dict[str, Any]:
    text = re.sub(r"[\s().-]", "", _text(form, "phone"))
    text = f"+{text[2:]}" if text.startswith("00") else text
    if not FORMATS["e164"](text):
        faults["phone"] = "wrong_phone"
    return {"phone": text}


def _card(form: Form, faults: dict[str, str]) -> dict[str, Any]:
    number = _checked(form, "number", _is_card_number, faults, r"\s-")
    month, year = _expiry(_text(form, "expiry"), faults)
    cvc = _checked(form, "cvc", lambda text: bool(re.fullmatch("[0-9]{3,4}", text)), faults)
    return {"number": number, "exp_month": month, "exp_year": year, "cvc": cvc}


def _is_card_number(text: str) -> bool:
    # Loaded on first use: a server that meets no card needs no check of one.
    from stdnum import luhn

    return bool(re.fullmatch("[0-9]{12,19}", text)) and bool(luhn.is_valid(text))


def _expiry(text: str, faults: dict[str, str]) -> tuple[int, int]:
    form = re.fullmatch(r"(0?[1-9]|1[0-2])\s*[/.-]?\s*(?:20)?([0-9]{2})", text)
    if form is None:
        faults["expiry"] = "wrong_expiry"
        return 0, 0
    return int(form[1]), 2000 + int(form[2])


def _account(form: Form, faults: dict[str, str]) -> dict[str, Any]:
    return {"iban": _checked(form, "iban", bool, faults)}


def _mailbox(form: Form, faults: dict[str, str]) -> dict[str, Any]:
    return {"email": _checked(form, "paypal_email", FORMATS["email"], faults)}


_READERS = {"mobile_money": _phone, "bank_card": _card, "bank_transfer": _account, "paypal": _mailbox}


def _customer(offer: Payable, form: Form, faults: dict[str, str]) -> dict[str, str]:
    """Who pays, where the page asks for it."""
    if offer.asks == "nothing":
        return {}
    name, email = _text(form, "name"), _text(form, "email")
    if not name and offer.asks == "required":
        faults["name"] = "wrong_name"
    if (email or offer.asks == "required") and not FORMATS["email"](email):
        faults["email"] = "wrong_email"
    return {field: text for field, text in (("name", name), ("email", email)) if text}


def _product(offer: Payable, form: Form, faults: dict[str, str]) -> str:
    product = form.get("product", "")
    if product not in (choice.id for choice in offer.choices):
        faults["product"] = "wrong_product"
    return product


def _quantity(form: Form, faults: dict[str, str]) -> int:
    text = _text(form, "quantity") or "1"
    if not re.fullmatch("[1-9][0-9]{0,5}", text):
        faults["quantity"] = "wrong_quantity"
        return 1
    return int(text)


def _amount(offer: Payable, form: Form, language: Language, faults: dict[str, str]) -> int | None:
    """What the buyer wants to pay, in minor units, where that is for the buyer to say."""
    chosen = next((choice for choice in offer.choices if choice.id == form.get("product")), None)
    if not offer.asks_amount or (chosen is not None and chosen.amount is not None):
        return None
    amount = language.amount(_text(form, "amount"), offer.currency)
    if amount is None:
        faults["amount"] = "wrong_amount"
    return amount


_SAID_BY_RULES = {"exp_month": "expiry", "exp_year": "expiry", "email": "paypal_email"}


def messages(refusal: ApiError) -> dict[str, str]:
    """The faults the rules found, by field of the page; empty where they are not about a field."""
    found: dict[str, str] = {}
    for path in refusal.errors or {}:
        *outer, name = path.split(".")
        field = name if "customer" in outer else _SAID_BY_RULES.get(name, name)
        found[field] = refusal.code if refusal.code.startswith("AMOUNT_") else f"wrong_{field}"
    return found
