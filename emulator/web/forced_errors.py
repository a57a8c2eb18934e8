"""Forced errors: the header ``Emulator-Answer: CODE`` makes the service respond with that error only (B-94).

The error is what the service would answer: it names fields of the operation and ids of the request.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, NamedTuple

from emulator.document.tree import Document
from emulator.errors import CODES, ERRORS, RATE_LIMIT, ApiError, invalid_field
from emulator.resources.app.settings import settings
from emulator.resources.registry import REGISTRY
from emulator.web import strict_json
from emulator.web.connexion_app import Definition, definitions
from emulator.web.context import RequestContext

HEADER = "Emulator-Answer"

RETRY_AFTER = 1
"""Seconds that a forced 429 asks the client to wait."""


class FieldError(NamedTuple):
    """The field an error is about: the first of ``names`` that the operation has, else the first; and its message."""

    names: tuple[str, ...]
    message: str


FIELD_ERRORS: Mapping[str, FieldError] = {
    "customer_email_exists": FieldError(("email",), "is the email of another customer"),
    "DUPLICATE_EMAIL": FieldError(("email",), "is the email of another customer"),
    "DUPLICATE_SKU": FieldError(("metadata.sku",), "is the sku of another product already"),
    "refund_amount_exceeds_available": FieldError(("amount",), "must be at most {available}"),
    "CAPTURE_AMOUNT_EXCEEDS_ORIGINAL": FieldError(("amount",), "must be at most {available}"),
    "CURRENCY_NOT_IN_PLAN": FieldError(("currency",), "{currency} is not enabled"),
    "INVALID_CURRENCY": FieldError(("currency",), "must be an ISO 4217 code in upper case"),
    "AMOUNT_TOO_SMALL": FieldError(("unit_amount", "amount", "line_items"), "must be at least {minimum}"),
    "AMOUNT_TOO_LARGE": FieldError(("unit_amount", "amount", "line_items"), "must be at most {maximum}"),
    "PAYMENT_METHOD_NOT_SUPPORTED": FieldError(("payment_method", "payment_method_types"), "is not allowed here"),
    "WEBHOOK_ENDPOINT_UNREACHABLE": FieldError(("url",), "the ping was not answered with a 2xx: {reason}"),
}
"""The field that each of these codes is always about."""

FIELD_COUNTS: Mapping[str, tuple[int, str]] = {
    "MISSING_FIELD": (1, "is required"),
    "INVALID_FIELD": (1, "has a wrong value"),
    "VALIDATION_ERROR": (2, "has a wrong value"),
}
"""How many fields of the operation, whichever they are, these codes are about, and the message for each."""

DETAILS: Mapping[str, Mapping[str, Any]] = {
    "refund_amount_exceeds_available": {"available": 0},
    "CAPTURE_AMOUNT_EXCEEDS_ORIGINAL": {"available": 0},
    "INVALID_STATUS_TRANSITION": {"status": "canceled"},
    "PAYMENT_INTENT_UNCANCELABLE": {"status": "succeeded"},
    "PAYMENT_INTENT_NOT_CONFIRMABLE": {"status": "succeeded"},
    "PAYMENT_INTENT_NOT_CAPTURABLE": {"status": "requires_confirmation"},
    "INVOICE_NOT_DRAFTABLE": {"status": "open"},
    "WEBHOOK_ENDPOINT_UNREACHABLE": {"reason": "connection refused"},
}
"""What the messages of these codes say, where the request does not tell."""

KINDS = {kind.not_found_code: kind for kind in REGISTRY.kinds if kind.not_found_code != "NOT_FOUND"}
"""The kind of record that each 404 is about."""


class ForcedErrors:
    """The errors of the operations of one document."""

    def __init__(self, document: Document) -> None:
        self._document = document

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
        row = ERRORS[code]
        details = self._details(code, context)
        errors = self._field_errors(code, context, details)
        headers = {"Allow": details["allow"]} if row.status == 405 else {}
        retry_after = RETRY_AFTER if row.category == RATE_LIMIT else None
        param = next(iter(errors)) if len(errors) == 1 else None
        return ApiError(code, param=param, errors=errors, headers=headers, retry_after=retry_after, **details)

    def _details(self, code: str, context: RequestContext) -> dict[str, Any]:
        own = settings(context.runtime.world) if context.runtime else None
        path = [segment for segment in context.path.split("/") if segment]
        action = len(path) > 1 and context.path_params and path[-1] not in context.path_params.values()
        return {
            "currency": _text(_body(context).get("currency")) or "GBP",
            "minimum": own.minimum_amount if own else 1,
            "maximum": own.maximum_amount if own else 1,
            "id": _id(code, context),
            "method": context.method,
            "allow": self._other_methods(context),
            "object": path[1].rstrip("s").replace("-", " ") if len(path) > 1 else "object",
            "trigger": path[-1].replace("-", " ") if action else "change",
            **DETAILS.get(code, {}),
            **_state(context),
        }

    def _other_methods(self, context: RequestContext) -> str:
        for item in self._document["paths"].values():
            methods = {method.upper(): part for method, part in item.items() if isinstance(part, dict)}
            if any(part.get("operationId") == context.operation_id for part in methods.values()):
                return ", ".join(sorted(methods.keys() - {context.method})) or "OPTIONS"
        return "OPTIONS"

    def _field_errors(self, code: str, context: RequestContext, details: Mapping[str, Any]) -> dict[str, list[str]]:
        names: list[str] = []
        message = "has a wrong value"
        if code in FIELD_ERRORS:
            choice, message = FIELD_ERRORS[code]
            known = self._fields(context)
            names = [next((name for name in choice if name in known), choice[0])]
        elif code in FIELD_COUNTS:
            number, message = FIELD_COUNTS[code]
            names = self._fields(context)[:number]
        elif code == "INVALID_FILTER_PARAM":
            names = [*self._parameters(context, "query"), "page"][:1]
        elif code in KINDS and (field := _field_of(code, context)) is not None:
            names, message = [field], "there is no {id}"
        return {name: [message.format_map(details)] for name in names}

    def _fields(self, context: RequestContext) -> list[str]:
        """What a request of this operation can get wrong: fields of its body, the required ones first, parameters."""
        content = self._definitions[context.operation_id].get("requestBody", {}).get("content", {})
        schema = content.get("application/json", {}).get("schema", {})
        fields = [*schema.get("required", ()), *schema.get("properties", {})]
        parameters = [*self._parameters(context, "query"), *self._parameters(context, "path"), "Idempotency-Key"]
        return list(dict.fromkeys([*fields, *parameters]))

    def _parameters(self, context: RequestContext, place: str) -> Iterable[str]:
        parameters = self._definitions[context.operation_id]["parameters"]
        return [each["name"] for each in parameters if each["in"] == place]


def _body(context: RequestContext) -> Mapping[str, Any]:
    try:
        return strict_json.parse(context.raw)
    except ApiError:
        return {}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and 0 < len(value) <= 60 else None


def _field_of(code: str, context: RequestContext) -> str | None:
    """The field of the body that holds the id of the kind that a 404 is about."""
    field = code.removesuffix("_NOT_FOUND").lower()
    return field if _text(_body(context).get(field)) else None


def _id(code: str, context: RequestContext) -> str:
    """The id that a 404 is about: of the body's field, else of the path, else one that no record has."""
    field = _field_of(code, context)
    if field is not None:
        return str(_body(context)[field])
    prefix = KINDS[code].prefix if code in KINDS else "id"
    return next(iter(context.path_params.values()), f"{prefix}_{'0' * 24}")


def _state(context: RequestContext) -> dict[str, Any]:
    """The status of the record in the path, if there is one."""
    id = next(iter(context.path_params.values()), None)
    if id is None or context.runtime is None:
        return {}
    records = (context.runtime.world.get(kind, id) for kind in REGISTRY.kinds)
    statuses = (getattr(record, "status", None) for record in records)
    return next(({"status": status} for status in statuses if status is not None), {})
