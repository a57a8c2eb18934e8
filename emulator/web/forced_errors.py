"""Forced errors: the header ``Emulator-Answer: CODE`` makes the service respond with that error only (B-94).

The error is what the service would answer to this request if its recipe (``fixtures/errors.yaml``) had been followed:
it names fields of the operation, and ids, states and amounts of the request and of the records it is about.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, NamedTuple

from emulator.core.errors import CODES, ERRORS, RATE_LIMIT, ApiError, invalid_field
from emulator.core.records import Record
from emulator.core.world import World
from emulator.document.tree import Document
from emulator.resources.app import amounts
from emulator.resources.app.settings import settings
from emulator.resources.catalog.products import Product
from emulator.resources.customers.payment_methods import PaymentMethod
from emulator.resources.payments import refunds
from emulator.resources.payments.payment_intents import PaymentIntent
from emulator.resources.payments.transactions import Transaction
from emulator.resources.registry import REGISTRY, STATE_MACHINES
from emulator.web import strict_json
from emulator.web.connexion_app import Definition, definitions
from emulator.web.context import RequestContext
from emulator.web.form_errors import FormErrors

HEADER = "Emulator-Answer"

RETRY_AFTER = 1
"""Seconds that a forced 429 asks the client to wait."""


class FieldError(NamedTuple):
    """The field an error is about: the first of ``names`` that the operation has, else the first; and its message.

    ``own_message``: the error has a message of its own; otherwise it says the field and the field's message.
    """

    names: tuple[str, ...]
    message: str
    own_message: bool = True


AMOUNT = ("unit_amount", "amount", "line_items")

FIELD_ERRORS: Mapping[str, FieldError] = {
    "customer_email_exists": FieldError(("email",), "is the email of another customer"),
    "DUPLICATE_EMAIL": FieldError(("email",), "is the email of another customer"),
    "DUPLICATE_SKU": FieldError(("metadata.sku",), "is the sku of {product} already"),
    "transaction_not_refundable": FieldError(("transaction",), "is not completed, or nothing of it is left"),
    "refund_amount_exceeds_available": FieldError(("amount",), "must be at most {available}"),
    "CAPTURE_AMOUNT_EXCEEDS_ORIGINAL": FieldError(("amount",), "must be at most {available}"),
    "CURRENCY_NOT_IN_PLAN": FieldError(("currency",), "{currency} is not enabled"),
    "AMOUNT_TOO_SMALL": FieldError(AMOUNT, "must be at least {minimum}", False),
    "AMOUNT_TOO_LARGE": FieldError(AMOUNT, "must be at most {maximum}", False),
    "PAYMENT_METHOD_NOT_SUPPORTED": FieldError(("payment_method",), "{method_type} is not allowed here", False),
    "WEBHOOK_ENDPOINT_UNREACHABLE": FieldError(("url",), "the ping was not answered with a 2xx: {reason}"),
}
"""The field that each of these codes is about."""


class StateError(NamedTuple):
    """A transition that a record's state does not allow, and a state that does not, for a record that is not there."""

    trigger: str
    status: str


STATE_ERRORS: Mapping[str, StateError] = {
    "PAYMENT_INTENT_UNCANCELABLE": StateError("cancel", "succeeded"),
    "PAYMENT_INTENT_NOT_CONFIRMABLE": StateError("choose", "succeeded"),
    "PAYMENT_INTENT_NOT_CAPTURABLE": StateError("capture", "requires_confirmation"),
    "INVOICE_NOT_DRAFTABLE": StateError("finalize", "open"),
}

PREFIXES = {kind.not_found_code: kind.prefix for kind in REGISTRY.kinds if kind.not_found_code != "NOT_FOUND"}
"""The beginning of the ids that each 404 is about."""

NOBODY = "0" * 24
"""The rest of an id that no record has."""


class ForcedErrors:
    """The errors of the operations of one document."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._forms: dict[str, FormErrors] = {}

    @cached_property
    def _definitions(self) -> Mapping[str, Definition]:
        # Made on first use: most servers force no error.
        return definitions(self._document)

    def asked_for(self, context: RequestContext) -> ApiError | None:
        """The error a request asks for by its header; an unknown code gives 422 (B-95)."""
        code = context.header(HEADER.lower().encode())
        if code is None:
            return None
        if code not in CODES:
            return invalid_field(HEADER, f"{code[:60]!r} is no error code")
        return self.error(code, context)

    def error(self, code: str, context: RequestContext) -> ApiError:
        """Any error of the model as the answer to this request, whose body has been read."""
        form = self._form(context.operation_id)
        body = _body(context)
        if (invalid := form.error(code, body, context.query_string)) is not None:
            return invalid
        row = ERRORS[code]
        details = _Details(code, context, body).values() | {"allow": self._other_methods(context)}
        if code in FIELD_ERRORS:
            return _field_error(code, form, details)
        found = details["found_in"]
        return ApiError(
            code,
            param=found,
            errors={found: [f"there is no {details['id']}"]} if found else None,
            headers={"Allow": details["allow"]} if row.status == 405 else {},
            retry_after=RETRY_AFTER if row.category == RATE_LIMIT else None,
            **details,
        )

    def _form(self, operation_id: str) -> FormErrors:
        if operation_id not in self._forms:
            self._forms[operation_id] = FormErrors(self._definitions[operation_id])
        return self._forms[operation_id]

    def _other_methods(self, context: RequestContext) -> str:
        for item in self._document["paths"].values():
            methods = {method.upper(): part for method, part in item.items() if isinstance(part, dict)}
            if any(part.get("operationId") == context.operation_id for part in methods.values()):
                return ", ".join(sorted(methods.keys() - {context.method})) or "OPTIONS"
        return "OPTIONS"


def _field_error(code: str, form: FormErrors, details: Mapping[str, Any]) -> ApiError:
    names, text, own_message = FIELD_ERRORS[code]
    name = next((each for each in names if each in form.fields), names[0])
    message = text.format_map(details)
    if not own_message:
        return invalid_field(name, message, code)
    return ApiError(code, param=name, errors={name: [message]}, **details)


class _Details:
    """What the messages of errors say of a request: its ids, and the states and amounts of its records."""

    def __init__(self, code: str, context: RequestContext, body: Mapping[str, Any]) -> None:
        self._code = code
        self._context = context
        self._body = body
        # The control API has operations without a world; the service has none.
        self._world: World | None = context.runtime.world if context.runtime else None

    def values(self) -> dict[str, Any]:
        """Every placeholder of a message with its value."""
        found_in, id = self._missing_id()
        return {
            **self._limits(),
            **self._state(),
            "id": id,
            "found_in": found_in,
            "available": self._available(),
            "product": self._holder_of_sku(),
            "method_type": self._method_type(),
            "method": self._context.method,
            "reason": "cannot connect: Connection refused",
        }

    def _limits(self) -> dict[str, Any]:
        given = self._body.get("currency")
        currency = given if isinstance(given, str) and 0 < len(given) <= 60 else None
        if self._world is None:
            return {"currency": currency or "GBP", "minimum": 1, "maximum": 1}
        app = settings(self._world)
        minimum = amounts.minimum(self._world, currency or app.main_currency)
        return {"currency": currency or "GBP", "minimum": minimum, "maximum": app.maximum_amount}

    def _missing_id(self) -> tuple[str | None, str]:
        """The id that a 404 is about, and the field of the body that has it; else the id of the path, else none's."""
        prefix = PREFIXES.get(self._code)
        if prefix is None:
            return None, NOBODY
        named = [self._code.removesuffix("_NOT_FOUND").lower()]
        for path, text in _texts(self._body):
            if text.startswith(f"{prefix}_") or path.split(".") == named:
                return path, text[:60]
        ids = (id for id in self._context.path_params.values() if id.startswith(f"{prefix}_"))
        return None, next(ids, f"{prefix}_{NOBODY}")

    def _record(self) -> Record | None:
        """The record that the path names."""
        id = next(iter(self._context.path_params.values()), None)
        if id is None or self._world is None:
            return None
        return next((record for table in self._world.tables() if (record := table.get(id)) is not None), None)

    def _state(self) -> dict[str, Any]:
        """The record's kind and state and what the request wants of it; a state that fits where it is not there."""
        record = self._record()
        machine = next((each for each in STATE_MACHINES if isinstance(record, each.kind)), None)
        wanted = STATE_ERRORS.get(self._code)
        path = [segment for segment in self._context.path.split("/") if segment]
        action = len(path) > 1 and self._context.path_params and path[-1] not in self._context.path_params.values()
        is_its_state = machine is not None and not (wanted and machine.allows(record, wanted.trigger))
        status = getattr(record, "status", None) if is_its_state else None
        return {
            "object": path[1].rstrip("s").replace("-", " ") if len(path) > 1 else "object",
            "status": status or (wanted.status if wanted else "canceled"),
            "trigger": path[-1].replace("-", " ") if action else "change",
        }

    def _available(self) -> int:
        """What is left to refund or to capture; less than the request asks for, where it asks for an amount."""
        left, record = 0, self._record()
        if isinstance(record, PaymentIntent):
            left = record.amount_capturable
        elif self._world is not None:
            deposit = self._world.get(Transaction, self._id_of("transaction"))
            left = refunds.refundable(self._world, deposit) if deposit is not None else 0
        amount = self._body.get("amount")
        return max(0, min(left, amount - 1)) if isinstance(amount, int) else left

    def _holder_of_sku(self) -> str:
        """A product that has the sku of the request; any other where none has it."""
        products = self._world.table(Product) if self._world else ()
        metadata = self._body.get("metadata")
        sku = str(metadata.get("sku")) if isinstance(metadata, dict) else None
        others = [each for each in products if each.id not in self._context.path_params.values()]
        holder = next((each for each in others if each.sku == sku), None) or next(iter(others), None)
        return holder.id if holder is not None else f"{Product.prefix}_{NOBODY}"

    def _method_type(self) -> str:
        """The type of the payment method that the request names."""
        method = self._world.get(PaymentMethod, self._id_of("payment_method")) if self._world else None
        return method.type if method is not None else "bank_card"

    def _id_of(self, field: str) -> str | None:
        """The id in a field of the body, which nothing has validated yet."""
        id = self._body.get(field)
        return id if isinstance(id, str) else None


def _body(context: RequestContext) -> Mapping[str, Any]:
    try:
        return strict_json.parse(context.raw)
    except ApiError:
        return {}


def _texts(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Every text of a body that may be an id, with its dotted path."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict | list):
        parts = value.items() if isinstance(value, dict) else enumerate(value)
        for name, part in parts:
            yield from _texts(part, f"{path}.{name}" if path else str(name))
