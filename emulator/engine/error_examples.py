"""Error examples: what every error code means and the requests that trigger it, read from one fixture file."""

from __future__ import annotations

from typing import Any

import msgspec

from emulator.document.paths import fixtures_folder
from emulator.engine.reference_data import read_yaml


class Step(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename={"name": "as"}):
    """One request (``METHOD /path``). ``key`` is an API key other than the reader's own, ``''`` for none.

    ``name`` names its answer: later steps refer to ``${name.field}``. ``advance`` moves the clock instead of a request.
    """

    request: str = ""
    body: Any = None
    headers: dict[str, str] = {}
    key: str | None = None
    name: str | None = None
    advance: str | None = None


class _ExampleSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    explain: str
    steps: tuple[Step, ...] = ()
    pays: str | None = None
    advance: str | None = None


class ErrorExample(msgspec.Struct, frozen=True):
    """What a code means and how to trigger it; without steps, only the header ``Emulator-Answer`` does."""

    explain: str
    steps: tuple[Step, ...]


def error_examples() -> dict[str, ErrorExample]:
    """Every example by its code."""
    entries = msgspec.convert(read_yaml(fixtures_folder() / "errors.yaml"), dict[str, _ExampleSpec])
    return {code: ErrorExample(entry.explain, entry.steps or _payment(entry)) for code, entry in entries.items()}


_AWA = {"email": "awa@example.com", "name": "Awa Diop"}


def _payment(entry: _ExampleSpec) -> tuple[Step, ...]:
    """The steps of a payment that fails because of the number it is made with."""
    if entry.pays is None:
        return ()
    method = {"customer": "${customer.id}", **_method(entry.pays)}
    intent = {"amount": 5000, "currency": "XAF", "customer": "${customer.id}", "payment_method": "${method.id}"}
    steps = [
        Step(request="POST /v1/customers/", body=_AWA, name="customer"),
        Step(request="POST /v1/payment-methods/", body=method, name="method"),
        Step(request="POST /v1/payment-intents/", body=intent, name="intent"),
        Step(request="POST /v1/payment-intents/${intent.id}/confirm/"),
    ]
    if entry.advance:
        steps += [Step(advance=entry.advance), Step(request="GET /v1/payment-intents/${intent.id}/")]
    return tuple(steps)


def _method(number: str) -> dict[str, Any]:
    if number.startswith("+"):
        return {"type": "mobile_money", "phone": number}
    return {"type": "bank_card", "number": number, "exp_month": 12, "exp_year": 2030, "cvc": "123"}
