"""Errors on demand: a request that the tester has chosen to fail fails as it would for real (B-94).

By the header ``Emulator-Answer: CODE``, or by a fault that was injected before.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import msgspec
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from emulator.core.errors import CODES, ERRORS, RATE_LIMIT, ApiError, invalid_field
from emulator.core.handlers import not_found
from emulator.core.limits import BODY
from emulator.core.records import Record
from emulator.core.world import World
from emulator.document.tree import operations
from emulator.engine.runtime import Runtime
from emulator.resources.app import amounts
from emulator.resources.app.settings import settings
from emulator.resources.catalog.products import Product
from emulator.resources.customers.payment_methods import PaymentMethod
from emulator.resources.faults import REQUEST, Fault, FaultEffect, FaultMatch, mentions_customer, pick_fault
from emulator.resources.payments import refunds
from emulator.resources.payments.payment_intents import PaymentIntent
from emulator.resources.payments.transactions import Transaction
from emulator.resources.registry import REGISTRY, STATE_MACHINES
from emulator.web import validation
from emulator.web.context import RequestContext, Response, send_response
from emulator.web.operation import cast, explain, fields, unknown_parameter
from emulator.web.routing import Definition, DocumentedApi
from emulator.web.validation import EXPLAINED, CompiledSchema, Violation, error_of

# -- what validation says of a field that is made invalid


INVALID_CURRENCY = "franc"
"""A currency that is none."""

INVALID_VALUES: tuple[Any, ...] = ([], "", {})
"""One of these is invalid for any field of a body."""

UNKNOWN = ("unknown", "unknown_too")
"""Fields or parameters that no operation has, for an operation that has too few of its own."""


class FormErrors:
    """The form errors of one operation."""

    def __init__(self, definition: Definition) -> None:
        content = definition.get("requestBody", {}).get("content", {})
        self._body = CompiledSchema(content.get("application/json", {}).get("schema", {}))
        self._query = {
            each["name"]: CompiledSchema(each["schema"]) for each in definition["parameters"] if each["in"] == "query"
        }
        self.fields: Sequence[str] = tuple(self._body.source.get("properties", ()))
        """The fields of the body."""

    def error(self, code: str, body: Mapping[str, Any], query: bytes) -> ApiError | None:
        """Return the error with this code, of the request as it is or with a field made invalid; None for other codes."""
        if code not in FORM_CODES:
            return None
        if code == "INVALID_FILTER_PARAM":
            return error_of([next(self._query_violations(query))])
        found = self._body.violations(body) if self.fields else []
        if found and (own := error_of(found)).code == code:
            return own
        return error_of(list(self._provoked(code, body)))

    def _provoked(self, code: str, body: Mapping[str, Any]) -> Iterator[Violation]:
        """Yield the violations of the request with one field made invalid or left out, or with two of them made invalid."""
        if code == "MISSING_FIELD":
            name = next(iter([*self._body.source.get("required", ()), *self.fields, *UNKNOWN]))
            yield Violation(name, "required", "is required", code)
        elif code == "INVALID_CURRENCY":
            yield next(self._violations_of(body, "currency", [INVALID_CURRENCY]), NO_CURRENCY)
        else:
            number = 2 if code == "VALIDATION_ERROR" else 1
            for name in [*self.fields, *UNKNOWN][:number]:
                yield next(self._violations_of(body, name, INVALID_VALUES), Violation(name, "unknown", "unknown field"))

    def _violations_of(self, body: Mapping[str, Any], name: str, values: Sequence[Any]) -> Iterator[Violation]:
        """Yield the violations of a field that has one of these values."""
        for value in values if name in self.fields else ():
            yield from (each for each in self._body.violations({**body, name: value}) if each.path == name)

    def _query_violations(self, query: bytes) -> Iterator[Violation]:
        """Yield the violations of the query with a parameter made invalid, or with one that is unknown."""
        for name, text in [*fields(query), *((name, "?") for name in self._query), (UNKNOWN[0], "")]:
            schema = self._query.get(name)
            if schema is None:
                yield Violation(name, "query", unknown_parameter(self._query), "INVALID_FILTER_PARAM")
            else:
                for each in schema.violations(cast(text, schema.source)):
                    yield Violation(name, "query", explain(each.message, text, schema.source), "INVALID_FILTER_PARAM")


FORM_CODES = frozenset(
    ["MISSING_FIELD", "INVALID_FIELD", "VALIDATION_ERROR", "INVALID_FILTER_PARAM", "INVALID_CURRENCY"]
)
"""The codes that validation by the document alone can lead to."""

NO_CURRENCY = Violation("currency", "format", EXPLAINED["currency"], "INVALID_CURRENCY")
"""For an operation without a currency."""


# -- by header


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

UNNAMED = {kind.prefix: kind for kind in REGISTRY.kinds if kind.not_found_code == "NOT_FOUND"}
"""The kinds that share a 404, by the beginning of their ids."""

NOBODY = "0" * 24
"""The rest of an id that no record has."""


class ForcedErrors:
    """The errors of the operations of one API."""

    def __init__(self, api: DocumentedApi) -> None:
        self._document, self._definitions = api
        self._forms: dict[str, FormErrors] = {}

    def asked_for(self, context: RequestContext) -> ApiError | None:
        """Return the error a request asks for by its header; an unknown code gives 422 (B-95)."""
        code = context.header(HEADER.lower().encode())
        if code is None:
            return None
        if code not in CODES:
            return invalid_field(HEADER, f"{code[:60]!r} is not an error code")
        return self.error(code, context)

    def error(self, code: str, context: RequestContext) -> ApiError:
        """Return any error of the model as the answer to this request, whose body has been read."""
        form = self._form(context.operation_id)
        body = _body(context)
        if (invalid := form.error(code, body, context.query_string)) is not None:
            return invalid
        row = ERRORS[code]
        details = _Details(code, context, body).values() | {"allow": self._other_methods(context)}
        if code in FIELD_ERRORS:
            return _field_error(code, form, details)
        if code == "NOT_FOUND" and (missing := _missing_record(context)) is not None:
            return missing
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
        places = {operation["operationId"]: path for path, _, operation in operations(self._document)}
        here = places.get(context.operation_id)
        methods = {method.upper() for path, method, _ in operations(self._document) if path == here}
        return ", ".join(sorted(methods - {context.method})) or "OPTIONS"


def _field_error(code: str, form: FormErrors, details: Mapping[str, Any]) -> ApiError:
    names, text, own_message = FIELD_ERRORS[code]
    name = next((each for each in names if each in form.fields), names[0])
    message = text.format_map(details)
    if not own_message:
        return invalid_field(name, message, code)
    return ApiError(code, param=name, errors={name: [message]}, **details)


def _missing_record(context: RequestContext) -> ApiError | None:
    """Return the 404 of the record that the path names, where its kind shares one."""
    named = ((UNNAMED.get(id.partition("_")[0]), id) for id in context.path_params.values())
    return next((not_found(kind, id) for kind, id in named if kind is not None), None)


class _Details:
    """What the messages of errors say of a request: its ids, and the states and amounts of its records."""

    def __init__(self, code: str, context: RequestContext, body: Mapping[str, Any]) -> None:
        self._code = code
        self._context = context
        self._body = body
        # The control API has operations without a world; the service has none.
        self._world: World | None = context.runtime.world if context.runtime else None

    def values(self) -> dict[str, Any]:
        """Return every placeholder of a message with its value."""
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
        """Return the id that a 404 is about, and the field of the body that has it; else the id of the path, else none's."""
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
        id = next(iter(self._context.path_params.values()), None)
        if id is None or self._world is None:
            return None
        return next((record for table in self._world.tables() if (record := table.get(id)) is not None), None)

    def _state(self) -> dict[str, Any]:
        """Return the record's kind and state and what the request wants of it; a state that fits where it is not there."""
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
        """Return the rest to refund or to capture; less than the request asks for, where it asks for an amount."""
        left, record = 0, self._record()
        if isinstance(record, PaymentIntent):
            left = record.amount_capturable
        elif self._world is not None:
            deposit = self._world.get(Transaction, self._id_of("transaction"))
            left = refunds.refundable(self._world, deposit) if deposit is not None else 0
        amount = self._body.get("amount")
        return max(0, min(left, amount - 1)) if isinstance(amount, int) else left

    def _holder_of_sku(self) -> str:
        """Return a product that has the sku of the request; any other where none has it."""
        products = self._world.table(Product) if self._world else ()
        metadata = self._body.get("metadata")
        sku = str(metadata.get("sku")) if isinstance(metadata, dict) else None
        others = [each for each in products if each.id not in self._context.path_params.values()]
        holder = next((each for each in others if each.sku == sku), None) or next(iter(others), None)
        return holder.id if holder is not None else f"{Product.prefix}_{NOBODY}"

    def _method_type(self) -> str:
        """Return the type of the payment method that the request names."""
        method = self._world.get(PaymentMethod, self._id_of("payment_method")) if self._world else None
        return method.type if method is not None else "bank_card"

    def _id_of(self, field: str) -> str | None:
        """Return the id in a field of the body, which nothing has validated yet."""
        id = self._body.get(field)
        return id if isinstance(id, str) else None


def _body(context: RequestContext) -> Mapping[str, Any]:
    try:
        return validation.parse(context.raw)
    except ApiError:
        return {}


def _texts(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield every text of a body that may be an id, with its dotted path."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict | list):
        parts = value.items() if isinstance(value, dict) else enumerate(value)
        for name, part in parts:
            yield from _texts(part, f"{path}.{name}" if path else str(name))


# -- by an injected fault


TOO_MANY_REQUESTS = 429
"""The status that always comes with ``Retry-After`` (Errors)."""


class FaultInjection:
    """Stands before an ASGI application. ``paths`` are the document's, by operationId."""

    def __init__(self, app: ASGIApp, paths: Mapping[str, str], forced_errors: ForcedErrors) -> None:
        self._app = app
        self._forced_errors = forced_errors
        self._paths = paths

    def handle(
        self, context: RequestContext, runtime: Runtime, scope: Scope, receive: Receive, send: Send
    ) -> Awaitable[None]:
        """Pass the request on, unless a fault is to be injected."""
        if runtime.world.holds(Fault) and _faults(runtime.world):
            return self._handle(context, runtime, scope, receive, send)
        return self._app(scope, receive, send)

    async def _handle(
        self, context: RequestContext, runtime: Runtime, scope: Scope, receive: Receive, send: Send
    ) -> None:
        raw = b""
        if any(fault.match.customer for fault in _faults(runtime.world)):
            raw, receive = await read_ahead(receive)
        fits = _fitting(runtime.world, context, self._paths.get(context.operation_id), raw)
        fault: Fault | None = await runtime.serve(pick_fault, {"about": REQUEST, "fits": fits}, None)
        if fault is None:
            await self._app(scope, receive, send)
        else:
            # Read whatever the fault does, so that the request log has the body.
            context.raw, receive = await read_ahead(receive)
            await self._inject(fault.then, context, scope, receive, send)

    async def _inject(
        self, effect: FaultEffect, context: RequestContext, scope: Scope, receive: Receive, send: Send
    ) -> None:
        if effect.repeat:
            await self._repeat(context, scope, receive, send)
        elif effect.executed and effect.delay_ms is not None:
            await self._answer(context, scope, receive, _delayed(send, effect.delay_ms / 1000))
        else:
            if effect.executed:
                await self._answer(context, scope, receive, _discard)
            await self._fail(effect, context, scope, receive, send)

    async def _fail(
        self, effect: FaultEffect, context: RequestContext, scope: Scope, receive: Receive, send: Send
    ) -> None:
        if effect.code is not None:
            raise self._forced_errors.error(effect.code, context)
        if effect.status == TOO_MANY_REQUESTS and effect.body is msgspec.UNSET:
            raise self._forced_errors.error("RATE_LIMIT_EXCEEDED", context)
        if effect.status is not None:
            await send_response(_custom_response(effect.status, effect.body), send)
        elif effect.drop == "before":
            await cut(context, receive)
        elif effect.drop == "after":
            await self._answer(context, scope, receive, _discard)
            await cut(context, receive)
        elif effect.hang_ms is not None:
            await self._answer(context, scope, receive, _discard)
            await _silence(effect.hang_ms / 1000, receive)
            await cut(context, receive)
        elif effect.garble:
            await self._answer(context, scope, receive, _garbling(send))
        else:
            context.hold_ms = effect.hold_ms or 0
            await asyncio.sleep((effect.delay_ms or 0) / 1000)
            await self._app(scope, receive, send)

    async def _repeat(self, context: RequestContext, scope: Scope, receive: Receive, send: Send) -> None:
        """Do the request twice at the same moment; the client gets the first response."""
        messages: list[Message] = []
        body: Message = {"type": "http.request", "body": context.raw}

        async def keep(message: Message) -> None:
            messages.append(message)

        async def again() -> Message:
            return body

        await self._answer(context, scope, receive, keep)
        await self._answer(context, scope, again, _discard)
        for message in messages:
            await send(message)

    async def _answer(self, context: RequestContext, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer as usual; an error is sent through ``send`` like any response."""
        try:
            await self._app(scope, receive, send)
        except ApiError as error:
            await send_response(context.error_response(error), send)


def _faults(world: World) -> list[Fault]:
    """Return the faults that are to be injected into requests."""
    return world.table(Fault).where("about", REQUEST)


def _fitting(world: World, context: RequestContext, path: str | None, raw: bytes) -> Callable[[FaultMatch], bool]:
    """Return the check whether a request is what a fault matches; ``raw`` is its body, as far as that matters."""

    def ids() -> set[str]:
        """Return every text of the request that may be an id: of its path, its query and its body's fields."""
        try:
            query, body = fields(context.query_string), validation.parse(raw)
        except ApiError:
            query, body = [], {}
        texts = [*context.path_params.values(), *(text for _, text in query), *body.values()]
        return {text for text in texts if isinstance(text, str)}

    def fits(match: FaultMatch) -> bool:
        of_operation = match.fits(operation=context.operation_id, method=context.method, path=path)
        return of_operation and (match.customer is None or mentions_customer(world, match.customer, ids()))

    return fits


async def read_ahead(receive: Receive) -> tuple[bytes, Receive]:
    """Return the body, up to the usual bound, and a ``receive`` that gives it again from the beginning."""
    messages: list[Message] = []
    size, more = 0, True
    while more and size <= BODY.most:
        messages.append(message := await receive())
        size += len(message.get("body", b""))
        more = message.get("more_body", False)
    raw = b"".join(message.get("body", b"") for message in messages)

    async def again() -> Message:
        return messages.pop(0) if messages else await receive()

    return raw, again


def _custom_response(status: int, body: object) -> Response:
    """Return a response of the tester's own: a text as plain text, any other value as JSON, no value as an empty body."""
    headers = {"Retry-After": str(RETRY_AFTER)} if status == TOO_MANY_REQUESTS else {}
    if isinstance(body, str):
        return Response(status, body.encode(), headers, media_type=b"text/plain; charset=utf-8")
    return Response(status, b"" if body is msgspec.UNSET else msgspec.json.encode(body), headers)


async def cut(context: RequestContext, receive: Receive) -> None:
    """Cut the connection and wait until it is gone."""
    if context.connection is None:
        raise ClientDisconnect  # no socket, as under a test client in this process
    context.connection.abort()
    while (await receive())["type"] != "http.disconnect":
        pass


async def _silence(seconds: float, receive: Receive) -> None:
    """Wait until the client has given up, or these seconds (real time)."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while (await receive())["type"] != "http.disconnect":
                pass


async def _discard(message: Message) -> None:
    """Send nothing."""


def _delayed(send: Send, seconds: float) -> Send:
    """Return a ``send`` whose first message waits these seconds (real time)."""

    async def delayed(message: Message) -> None:
        if message["type"] == "http.response.start":
            await asyncio.sleep(seconds)
        await send(message)

    return delayed


def _garbling(send: Send) -> Send:
    """Return a ``send`` that reverses bodies: of the announced length, but neither JSON nor, beyond ASCII, UTF-8."""

    async def garble(message: Message) -> None:
        if message["type"] == "http.response.body":
            message = {**message, "body": message.get("body", b"")[::-1]}
        await send(message)

    return garble
