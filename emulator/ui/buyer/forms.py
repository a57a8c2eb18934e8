"""The payment form: the fields a buyer filled in become a payment, or an error message for each wrong field.

Each form of a page has a token: it pays at most once, and only for the object it was made for.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from emulator.core.errors import ApiError
from emulator.presentation.languages.language import Language
from emulator.resources.customers import payment_details
from emulator.ui.buyer import render
from emulator.ui.buyer.payables import Payable
from emulator.web.validation import FORMATS

# -- tokens


_FORM = re.compile(r"[A-Za-z0-9_-]{22}\.[0-9a-f]{64}")


class FormTokens:
    """Makes and checks tokens: a random number with its signature for one object, by a secret of this process."""

    def __init__(self) -> None:
        self._secret = secrets.token_bytes(32)

    def new(self, id: str) -> str:
        """Return a token for the form of an object."""
        return self._signed(id, secrets.token_urlsafe(16))

    def valid(self, id: str, token: str) -> bool:
        """Return whether this token was made here, for this object."""
        if not _FORM.fullmatch(token):
            return False
        return hmac.compare_digest(token, self._signed(id, token.partition(".")[0]))

    def _signed(self, id: str, number: str) -> str:
        signature = hmac.new(self._secret, f"{id} {number}".encode(), hashlib.sha256).hexdigest()
        return f"{number}.{signature}"


# -- fields


Form = Mapping[str, str]

NEVER_SHOWN = ("number", "expiry", "cvc", "token")
"""Fields whose values are never shown again once they were sent."""

FIELDS = {
    "mobile_money": ("phone",),
    "bank_card": ("number", "expiry", "cvc"),
    "bank_transfer": ("iban",),
    "paypal": ("paypal_email",),
}
"""The fields of each method on the page."""


class FormResult(NamedTuple):
    """The payment in a form, and by field the message that says what is wrong with it."""

    payment: dict[str, Any]
    errors: dict[str, str]


def read(payable: Payable, form: Form, language: Language) -> FormResult:
    """Return the payment in a form; fields that the page does not have are ignored."""
    errors: dict[str, str] = {}
    payment: dict[str, Any] = {"method": _method(payable, form, errors)}
    if customer := _customer(payable, form, errors):
        payment["customer"] = customer
    if payable.choices:
        payment["product"] = _product(payable, form, errors)
    if payable.asks_quantity:
        payment["quantity"] = _quantity(form, errors)
    if (amount := _amount(payable, form, language, errors)) is not None:
        payment["amount"] = amount
    return FormResult(payment, errors)


def _method(payable: Payable, form: Form, errors: dict[str, str]) -> dict[str, Any]:
    type = form.get("method", "")
    if type not in payable.methods or type not in _READERS:
        _wrong("method", errors)
        return {}
    return {"type": type, **_READERS[type](form, errors)}


def _wrong(field: str, errors: dict[str, str]) -> None:
    errors[field] = render.FIELD_ERRORS[field]


def _text(form: Form, field: str) -> str:
    return form.get(field, "").strip()


def _checked(form: Form, field: str, good: Callable[[str], bool], errors: dict[str, str], tidy: str = "") -> str:
    """Return a field's text without the characters of ``tidy``, which people type to make it easier to read."""
    text = re.sub(f"[{tidy}]", "", _text(form, field)) if tidy else _text(form, field)
    if not good(text):
        _wrong(field, errors)
    return text


def _phone(form: Form, errors: dict[str, str]) -> dict[str, Any]:
    text = re.sub(r"[\s().-]", "", _text(form, "phone"))
    text = f"+{text[2:]}" if text.startswith("00") else text
    if not FORMATS["e164"](text):
        _wrong("phone", errors)
    return {"phone": text}


def _card(form: Form, errors: dict[str, str]) -> dict[str, Any]:
    number = _checked(form, "number", _is_card_number, errors, r"\s-")
    if not number and not _text(form, "number"):
        errors["number"] = render.NO_CARD
    month, year = _expiry(_text(form, "expiry"), errors)
    cvc = _checked(form, "cvc", lambda text: bool(re.fullmatch("[0-9]{3,4}", text)), errors)
    return {"number": number, "exp_month": month, "exp_year": year, "cvc": cvc}


def _is_card_number(text: str) -> bool:
    return bool(re.fullmatch("[0-9]{12,19}", text)) and payment_details.is_card_number(text)


def _expiry(text: str, errors: dict[str, str]) -> tuple[int, int]:
    form = re.fullmatch(r"(0?[1-9]|1[0-2])\s*[/.-]?\s*(?:20)?([0-9]{2})", text)
    if form is None:
        _wrong("expiry", errors)
        return 0, 0
    return int(form[1]), 2000 + int(form[2])


def _account(form: Form, errors: dict[str, str]) -> dict[str, Any]:
    return {"iban": _checked(form, "iban", bool, errors)}


def _mailbox(form: Form, errors: dict[str, str]) -> dict[str, Any]:
    return {"email": _checked(form, "paypal_email", FORMATS["email"], errors)}


_READERS = {"mobile_money": _phone, "bank_card": _card, "bank_transfer": _account, "paypal": _mailbox}


def _customer(payable: Payable, form: Form, errors: dict[str, str]) -> dict[str, str]:
    """Return who pays, where the page asks for it."""
    if payable.asks == "nothing":
        return {}
    name, email = _text(form, "name"), _text(form, "email")
    if not name and payable.asks == "required":
        _wrong("name", errors)
    if (email or payable.asks != "optional") and not FORMATS["email"](email):
        _wrong("email", errors)
    return {field: text for field, text in (("name", name), ("email", email)) if text}


def _product(payable: Payable, form: Form, errors: dict[str, str]) -> str:
    product = form.get("product", "")
    if product not in (choice.id for choice in payable.choices):
        _wrong("product", errors)
    return product


def _quantity(form: Form, errors: dict[str, str]) -> int:
    text = _text(form, "quantity") or "1"
    if not re.fullmatch("[1-9][0-9]{0,5}", text):
        _wrong("quantity", errors)
        return 1
    return int(text)


def _amount(payable: Payable, form: Form, language: Language, errors: dict[str, str]) -> int | None:
    """Return the amount that the buyer chose (minor units); None where the amount is not theirs to choose."""
    chosen = next((choice for choice in payable.choices if choice.id == form.get("product")), None)
    if not payable.asks_amount or (chosen is not None and chosen.amount is not None):
        return None
    amount = language.parse_amount(_text(form, "amount"), payable.currency)
    if amount is None:
        _wrong("amount", errors)
    return amount


_FIELDS_OF_RULES = {"exp_month": "expiry", "exp_year": "expiry", "email": "paypal_email"}
"""The field of the page for a field of the API, where they differ."""


def field_errors(error: ApiError) -> dict[str, str]:
    """Return the messages of an API error, by field of the page; empty where it is about no field."""
    found: dict[str, str] = {}
    for path in error.errors or {}:
        *outer, name = path.split(".")
        field = name if "customer" in outer else _FIELDS_OF_RULES.get(name, name)
        about_amount = error.code.startswith("AMOUNT_")
        found[field] = render.ERRORS[error.code] if about_amount else render.FIELD_ERRORS[field]
    return found
