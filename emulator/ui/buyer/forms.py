"""The payment form: a buyer's fields become a payment, or an error message for each wrong one.

Each form of a page has a token: it pays at most once, and only for the object it was made for.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

from emulator.core.errors import ApiError
from emulator.presentation import typed_text
from emulator.presentation.languages.language import Language
from emulator.resources.customers import payment_details
from emulator.ui.buyer import render
from emulator.ui.buyer.payables import Payable
from emulator.web.formats import FORMATS

# -- tokens


_FORM = re.compile(r"[A-Za-z0-9_-]{22}\.[0-9a-f]{64}")


class FormTokens:
    """Makes and checks tokens: a random number with this process's signature for one object."""

    def __init__(self) -> None:
        self._secret = secrets.token_bytes(32)

    def new(self, id: str) -> str:
        return self._signed(id, secrets.token_urlsafe(16))

    def valid(self, id: str, token: str) -> bool:
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


class Posted(NamedTuple):
    """A form as it was sent, and the fields whose JSON values are no text, number or null."""

    fields: Form
    untyped: frozenset[str] = frozenset()


def posted(values: Mapping[str, Any]) -> Posted:
    """Return a program's form; a field that is null is as one that was left out."""
    fields = {
        name: str(value)
        for name, value in values.items()
        if isinstance(value, str | int | float) and not isinstance(value, bool)
    }
    untyped = (name for name, value in values.items() if value is not None and name not in fields)
    return Posted(fields, frozenset(untyped))


def asked(payable: Payable) -> list[str]:
    """Return the fields that the page has for every method."""
    asks_who = payable.asks != "nothing"
    always = {"name": asks_who, "email": asks_who, "product": bool(payable.choices)}
    always |= {"amount": payable.asks_amount, "quantity": payable.asks_quantity}
    return [name for name, is_needed in always.items() if is_needed]


def read(
    payable: Payable, form: Form, language: Language, untyped: Collection[str] = ()
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the payment in a form, and by field the message that says what is wrong with it.

    Fields that the page does not have are ignored. ``untyped`` fields were sent, as what no field
    can be.
    """
    errors: dict[str, str] = {}
    payment: dict[str, Any] = {"method": _method(payable, form, errors)}
    if customer := _customer(payable, form, errors):
        payment["customer"] = customer
    if payable.choices:
        payment["product"] = form.get("product", "")
        if payment["product"] not in (choice.id for choice in payable.choices):
            _wrong("product", errors)
    if payable.asks_quantity:
        quantity = _checked(
            form, "quantity", lambda text: bool(re.fullmatch("([1-9][0-9]{0,5})?", text)), errors
        )
        payment["quantity"] = 1 if "quantity" in errors else int(quantity or "1")
    if (amount := _amount(payable, form, language, errors)) is not None:
        payment["amount"] = amount
    for field in ("method", *asked(payable), *FIELDS.get(form.get("method", ""), ())):
        if field in untyped:
            _wrong(field, errors)
    return payment, errors


def _method(payable: Payable, form: Form, errors: dict[str, str]) -> dict[str, Any]:
    type = form.get("method", "")
    match type if type in payable.methods else None:
        case "mobile_money":
            return {"type": type, "phone": _phone(form, errors)}
        case "bank_card":
            return {"type": type, **_card(form, errors)}
        case "bank_transfer":
            iban = _checked(form, "iban", bool, errors)
            return {"type": type, "iban": typed_text.number(iban)}
        case "paypal":
            return {"type": type, "email": _checked(form, "paypal_email", FORMATS["email"], errors)}
    _wrong("method", errors)
    return {}


def _wrong(field: str, errors: dict[str, str]) -> None:
    errors[field] = render.FIELD_ERRORS[field]


def _text(form: Form, field: str) -> str:
    """Return a field as it was meant; a name keeps the marks and digits that are within it."""
    read = typed_text.stripped if field == "name" else typed_text.plain
    return read(form.get(field, ""))


def _checked(form: Form, field: str, good: Callable[[str], bool], errors: dict[str, str]) -> str:
    text = _text(form, field)
    if not good(text):
        _wrong(field, errors)
    return text


def _phone(form: Form, errors: dict[str, str]) -> str:
    text = typed_text.phone(form.get("phone", ""))
    if not FORMATS["e164"](text):
        _wrong("phone", errors)
    return text


def _card(form: Form, errors: dict[str, str]) -> dict[str, Any]:
    number = typed_text.number(form.get("number", ""))
    if not re.fullmatch("[0-9]{12,19}", number) or not payment_details.is_card_number(number):
        errors["number"] = (
            render.FIELD_ERRORS["number"] if _text(form, "number") else render.NO_CARD
        )
    expiry = re.fullmatch(
        r"(0?[1-9]|1[0-2])\s*[/.\u2010-\u2015-]?\s*(?:20)?([0-9]{2})", _text(form, "expiry")
    )
    if expiry is None:
        _wrong("expiry", errors)
    month, year = (int(expiry[1]), 2000 + int(expiry[2])) if expiry else (0, 0)
    cvc = _checked(form, "cvc", lambda text: bool(re.fullmatch("[0-9]{3,4}", text)), errors)
    return {"number": number, "exp_month": month, "exp_year": year, "cvc": cvc}


def _customer(payable: Payable, form: Form, errors: dict[str, str]) -> dict[str, str]:
    if payable.asks == "nothing":
        return {}
    name, email = _text(form, "name"), _text(form, "email")
    if not name and payable.asks == "required":
        _wrong("name", errors)
    if payable.given_email is not None:
        if email and email.casefold() != payable.given_email.casefold():
            errors["email"] = render.FIELD_ERRORS["given_email"]
    elif (email or payable.asks != "optional") and not FORMATS["email"](email):
        _wrong("email", errors)
    email = payable.given_email or email
    return {field: text for field, text in (("name", name), ("email", email)) if text}


def _amount(payable: Payable, form: Form, language: Language, errors: dict[str, str]) -> int | None:
    """Return the buyer's amount (minor units), or None if the buyer has no choice."""
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
    """Return an API error's messages by field of the page; empty if it is about no field."""
    messages: dict[str, str] = {}
    for path in error.errors or {}:
        *outer, name = path.split(".")
        field = name if "customer" in outer else _FIELDS_OF_RULES.get(name, name)
        about_amount = error.code.startswith("AMOUNT_")
        messages[field] = render.ERRORS[error.code] if about_amount else render.FIELD_ERRORS[field]
    return messages
