"""The service's API, ``/v1``: a secret key opens a world, and a rule executes the operation.

Between key and body stand security profiles, limits, forced errors, injected faults and the form of
the headers, in this order (B-05); a POST with an Idempotency-Key is executed once, and its response
repeated (B-16).
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from collections.abc import Awaitable, Mapping
from functools import partial
from inspect import isgenerator
from typing import Any, NamedTuple

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from emulator.core.errors import ApiError
from emulator.core.world import World, encode
from emulator.document import bundles
from emulator.document.tree import Document, operations
from emulator.engine.clock import Command
from emulator.engine.engine import Engine
from emulator.engine.runtime import Runtime
from emulator.resources.app import clients
from emulator.resources.app.idempotency import lookup, store
from emulator.resources.app.security_profiles import (
    SecurityProfile,
    check_request,
    in_force,
    opens_to,
)
from emulator.resources.app.settings import settings
from emulator.resources.billing.invoices import Invoice
from emulator.resources.faults import Fault
from emulator.resources.registry import OPERATIONS
from emulator.resources.simulation import emails
from emulator.resources.simulation.emails import InvoiceDocument
from emulator.web import json_text
from emulator.web.context import SCOPE_KEY, RequestContext, Response, send_response
from emulator.web.errors_on_demand import HEADER, FaultInjection, asked_for, read_ahead
from emulator.web.operation import OperationHandler, build_app, fields
from emulator.web.routing import documented_api

# -- between key and body (B-05)


HEADER_KEY = HEADER.lower().encode()


class RequestPolicy:
    """A layer of the stack after authentication. ``paths`` are the document's, by operationId."""

    def __init__(self, app: ASGIApp, paths: Mapping[str, str]) -> None:
        self._app = _checking_headers(app)
        self._fault_injection = FaultInjection(self._app, paths)

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        context: RequestContext = scope[SCOPE_KEY]
        runtime: Any = context.runtime
        own: Any = context.settings
        if context.repeats_a_header:
            # Here, and not with the form of the other headers, so that no profile chooses between
            # two.
            context.require_single("Origin")
        # A request without a key comes from a link in an email. The merchant's customer opens it,
        # not their server.
        if runtime.world.holds(SecurityProfile) and b"authorization" in context.headers:
            _apply_security_profiles(context, runtime.world)
        is_limited = own.rate_limit is not None or own.concurrency_limit is not None
        if not (is_limited or HEADER_KEY in context.headers or runtime.world.holds(Fault)):
            return self._app(scope, receive, send)
        return self._limited(context, runtime, scope, receive, send)

    async def _limited(
        self, context: RequestContext, runtime: Runtime, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Raise 429 beyond the App's limits (B-25), or the error that the header asks for."""
        # Not time.monotonic: freezegun freezes that one too, and limits count real time.
        with runtime.rate_limiter.acquire(
            settings(runtime.world), asyncio.get_running_loop().time()
        ):
            if HEADER_KEY in context.headers:
                context.raw, _ = await read_ahead(receive)
                if (error := asked_for(context)) is not None:
                    raise error
            await self._fault_injection.handle(context, runtime, scope, receive, send)


def _checking_headers(app: ASGIApp) -> ASGIApp:
    """Return the application behind a check of the form of the headers (B-05): 400, before any of
    the body.
    """

    def checked(scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        context: RequestContext = scope[SCOPE_KEY]
        if IDEMPOTENCY_KEY in context.headers:
            if context.repeats_a_header:
                context.require_single("Idempotency-Key")
            if context.method == "POST":
                _require_printable(context.header(IDEMPOTENCY_KEY) or "")
        return app(scope, receive, send)

    return checked


def _apply_security_profiles(context: RequestContext, world: World) -> None:
    """Raise 403 for a request that the App's security profiles forbid (B-70)."""
    if in_force(world):
        check_request(
            world, context.client_address(world), context.header(b"origin"), context.operation_id
        )


# -- idempotency (B-16)


REPLAYED = {"Idempotent-Replayed": "true"}

STORED_ERRORS = (404, 409)
"""Statuses of stored errors, which depend on objects; others precede any reading of objects."""

IDEMPOTENCY_KEY = b"idempotency-key"

_PRINTABLE = re.compile(r"[\x20-\x7e]{1,255}")


def _require_printable(key: str) -> None:
    """Raise 400 for an ``Idempotency-Key`` that is none (B-16)."""
    if not _PRINTABLE.fullmatch(key):
        raise ApiError(
            "VALIDATION_ERROR",
            http_status=400,
            param="Idempotency-Key",
            message="Idempotency-Key: must have 1 to 255 printable ASCII characters",
        )


class IdempotentRequest:
    """One request with a key: the key, the request's fingerprint, and the status of its success."""

    def __init__(self, key: str, context: RequestContext, status: int) -> None:
        self.key = key
        self.fingerprint = fingerprint(context.method, context.path, context.raw)
        self.status = status

    async def execute(
        self, context: RequestContext, runtime: Runtime, command: Command, arguments: dict[str, Any]
    ) -> Response:
        """Return the stored response, else the command's, stored in the command's unit of work.

        Raises 409 while another request with the key is being executed.
        """
        running = runtime.running_keys
        if self.key in running:
            message = "A request with this Idempotency-Key is still in progress."
            raise ApiError("IDEMPOTENCY_CONFLICT", message=message)
        running.add(self.key)
        try:
            await context.hold()
            inner = {"command": command, "arguments": arguments}
            response: Response = await runtime.serve(self._run, inner, context.request_id)
        except ApiError as error:
            if error.code == "IDEMPOTENCY_CONFLICT" or error.status not in STORED_ERRORS:
                raise
            response = context.error_response(error)
            await runtime.serve(
                self._store, {"status": response.status, "body": response.body}, context.request_id
            )
        finally:
            running.discard(self.key)
        return response

    def _run(self, world: World, command: Command, arguments: dict[str, Any]) -> Any:
        stored = lookup(world, self.key, self.fingerprint)
        if stored is not None:
            return Response(stored.status, stored.body, REPLAYED)
        result = command(world, **arguments)
        return (
            self._run_steps(world, result) if isgenerator(result) else self._respond(world, result)
        )

    def _run_steps(self, world: World, steps: Any) -> Any:
        result = yield from steps
        return self._respond(world, result)

    def _respond(self, world: World, result: Any) -> Response:
        body = encode(result)
        self._store(world, self.status, body)
        return Response(self.status, body)

    def _store(self, world: World, status: int, body: bytes) -> None:
        store(world, self.key, self.fingerprint, status, body)


def fingerprint(method: str, path: str, raw: bytes) -> str:
    """Return an equal text for equal method, path and JSON, white space and key order aside."""
    body = json.dumps(json_text.parse(raw), sort_keys=True)
    return hashlib.sha256(f"{method} {path} {body}".encode()).hexdigest()


# -- the service: cross-origin sharing (B-70)


METHODS = "GET, POST, PATCH, DELETE"
READABLE = "Request-Id, Retry-After, Idempotent-Replayed"
"""Headers of the service that a page may read, beside the body and the usual few."""

MAX_AGE = "3600"
"""Seconds that a browser may remember the response to a preflight."""


class Cors:
    """Responds to preflights itself, and adds headers saying which pages may read responses."""

    def __init__(self, app: ASGIApp, engine: Engine) -> None:
        self._app = app
        self._engine = engine

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        context: RequestContext = scope[SCOPE_KEY]
        context.find_runtime = self._runtime_of_key
        if b"origin" not in context.headers:
            return self._app(scope, receive, send)
        origins = context.header_values(b"origin")
        is_preflight = (
            context.method == "OPTIONS" and b"access-control-request-method" in context.headers
        )
        if is_preflight and any(map(partial(self._allows, self._runtime_of_key(context)), origins)):
            return send_response(_preflight_response(context, origins[0]), send)
        if len(origins) > 1:
            # Rejected further on, for no page to read (B-05).
            return self._app(scope, receive, send)
        return self._app(scope, receive, self._with_headers(context, send, origins[0]))

    def _with_headers(self, context: RequestContext, send: Send, origin: str) -> Send:
        """Return a ``send`` adding the headers if the world, then known, opens to this origin."""

        async def send_shared(message: Message) -> None:
            if message["type"] == "http.response.start" and self._allows(context.runtime, origin):
                shared = {**_shared(origin), "Access-Control-Expose-Headers": READABLE}
                extra = [
                    (name.lower().encode(), value.encode("latin-1"))
                    for name, value in shared.items()
                ]
                message = {**message, "headers": [*message.get("headers", ()), *extra]}
            await send(message)

        return send_shared

    def _allows(self, runtime: Runtime | None, origin: str) -> bool:
        """Return whether the world's App, or without one any App here, opens to this origin."""
        return (
            self._engine.any_opens_to(origin)
            if runtime is None
            else opens_to(runtime.world, origin)
        )

    def _runtime_of_key(self, context: RequestContext) -> Runtime | None:
        """Return the runtime of the request's key, if any: preflights carry none."""
        try:
            return self._engine.runtimes.get(clients.parse_key(context.authorization())[0])
        except ApiError:
            return None


def _shared(origin: str) -> dict[str, str]:
    return {
        "Access-Control-Allow-Origin": origin,
        "Access-Control-Allow-Credentials": "true",
        "Vary": "Origin",
    }


def _preflight_response(context: RequestContext, origin: str) -> Response:
    """Return an allowed page's headers: all methods, and the headers it asks for; 400 for two
    origins.
    """
    try:
        context.require_single("Origin")
    except ApiError as error:
        return context.error_response(error)
    wanted = context.header(b"access-control-request-headers")
    headers = {
        **_shared(origin),
        "Access-Control-Allow-Methods": METHODS,
        **({"Access-Control-Allow-Headers": wanted} if wanted else {}),
        "Access-Control-Max-Age": MAX_AGE,
    }
    return Response(204, b"", headers)


# -- the application


def service_app(engine: Engine, *, strict: bool) -> ASGIApp:
    document = documented_api("service").document
    authenticator = Authenticator(engine, sandbox_only(document))
    policy = partial(RequestPolicy, paths=paths(document))
    app = build_app(
        documented_api("service"),
        OPERATIONS,
        authenticate=authenticator.authenticate,
        execute=execute,
        published=bundles.load("service" + bundles.OPENAPI_3_0) if strict else None,
        before=policy,
    )
    return Cors(app, engine)


def paths(document: Document) -> dict[str, str]:
    return {operation["operationId"]: path for path, _, operation in operations(document)}


def sandbox_only(document: Document) -> frozenset[str]:
    """Return the operations marked ``x-sandbox-only`` by their tags (B-07, B-60)."""
    tags = {tag["name"] for tag in document["tags"] if tag.get("x-sandbox-only")}
    return frozenset(
        operation["operationId"]
        for _, _, operation in operations(document)
        if tags.intersection(operation.get("tags", ()))
    )


class CachedKey(NamedTuple):
    """What a valid key stands for: its world, and the magic key rules that concern it."""

    runtime: Runtime
    rules: tuple[clients.MagicKey, ...]


class Authenticator:
    """Checks the key, then App and company: the first of the checks in order (B-05)."""

    def __init__(self, engine: Engine, sandbox_only: frozenset[str]) -> None:
        self._engine = engine
        self._sandbox_only = sandbox_only
        self._cached: dict[clients.Key, CachedKey] = {}
        engine.when_discarded.append(self._forget)

    def _forget(self, runtime: Runtime) -> None:
        key = clients.Key.of(runtime.world)
        if key in self._cached and self._cached[key].runtime is runtime:
            del self._cached[key]

    async def authenticate(self, context: RequestContext, required: bool) -> Runtime:
        """Return the runtime of the ``Authorization`` key. Raises 401 or 403 (B-02 to B-04)."""
        value = context.authorization()
        if value is None and not required:
            runtime, rules = CachedKey(await self._opened_by_token(context), ())
        else:
            runtime, rules = await self._resolve(clients.read_key(value))
        world = runtime.world
        # Set before anything is raised: the App has a say in the shape of errors.
        context.runtime = runtime
        context.settings = settings(world)
        if rules:
            clients.admit(rules, context.operation_id, writes=context.method != "GET")
        if world.livemode:
            if context.operation_id in self._sandbox_only:
                raise ApiError("SANDBOX_ONLY")
            if context.operation_id == "resetSandbox":
                # Here and not in the operation, so that body and query make no difference (B-07).
                raise ApiError(
                    "PERMISSION_DENIED",
                    message="Only a sandbox can be reset; this is a production key.",
                )
        return runtime

    async def _opened_by_token(self, context: RequestContext) -> Runtime:
        """Return the world of the path's invoice if the query has the token of its PDF (B-66)."""
        query = dict(fields(context.query_string))
        token = query.get("token")
        if token is None:
            raise ApiError("MISSING_API_KEY")
        id = context.path_params["id"]
        runtime = await self._engine.owner(id, query.get("app"))
        invoice = None if runtime is None else runtime.world.get(Invoice, id)
        if runtime is None or invoice is None or not emails.invoice_token_opens(invoice, token):
            raise emails.invoice_token_error()
        return runtime

    async def _resolve(self, key: clients.Key) -> CachedKey:
        if (cached := self._cached.get(key)) is not None:
            return cached
        rules = tuple(rule for rule in self._engine.reference_data.magic_keys if rule.concerns(key))
        resolved = CachedKey(await self._engine.open(key), rules)
        self._cached[key] = resolved
        return resolved


WAITING_FOR_A_DELIVERY = ("testWebhook", "retryWebhookDelivery")
"""Operations that respond after a delivery to their path's endpoint and the ones before."""


async def execute(
    context: RequestContext,
    runtime: Runtime,
    operation: OperationHandler,
    arguments: dict[str, Any],
) -> Any:
    """Execute a rule's command as a unit of work; once per POST's Idempotency-Key (B-16)."""
    if context.method == "POST":
        if operation.operation_id in WAITING_FOR_A_DELIVERY:
            await runtime.advances.require_answered(context.path_params["id"])
        if IDEMPOTENCY_KEY in context.headers:
            request = IdempotentRequest(
                context.header(IDEMPOTENCY_KEY) or "", context, operation.status
            )
            return await request.execute(context, runtime, operation.function, arguments)
    if context.hold_ms:
        await context.hold()
    if context.method != "GET":
        return await runtime.serve(operation.function, arguments, context.request_id)
    result = await runtime.read(operation.function, arguments)
    return await invoice_pdf_response(result) if isinstance(result, InvoiceDocument) else result


async def invoice_pdf_response(document: InvoiceDocument) -> Response:
    """Return the PDF, rendered in a thread, so that other requests need not wait for it."""
    # Loaded on first use: most servers never render one.
    from emulator.presentation.pdf import invoice_pdf

    pdf = await asyncio.to_thread(invoice_pdf.render, document)
    disposition = {
        "Content-Disposition": f'inline; filename="{document.invoice.invoice_number}.pdf"'
    }
    return Response(200, pdf, disposition, media_type=b"application/pdf")
