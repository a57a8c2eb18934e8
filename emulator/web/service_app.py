"""The service's API, ``/v1``: a secret key opens a world, and a function of the rules executes the operation."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any, NamedTuple

from starlette.types import ASGIApp

from emulator.core.errors import ApiError
from emulator.document import bundles
from emulator.document.tree import Document
from emulator.engine.engine import Engine
from emulator.engine.runtime import Runtime
from emulator.resources.app import keys
from emulator.resources.app.settings import settings
from emulator.resources.billing.invoices import Invoice
from emulator.resources.registry import OPERATIONS
from emulator.resources.simulation import invoice_documents
from emulator.resources.simulation.invoice_documents import InvoiceDocument
from emulator.web.context import RequestContext
from emulator.web.cors import Cors
from emulator.web.forced_errors import ForcedErrors
from emulator.web.idempotency import IdempotentRequest
from emulator.web.operation import OperationHandler
from emulator.web.pipeline import build_app
from emulator.web.query import fields
from emulator.web.request_policy import RequestPolicy
from emulator.web.response import Response


def service_app(engine: Engine, *, strict: bool) -> ASGIApp:
    """The application behind ``/v1``."""
    document = bundles.load("service")
    authenticator = Authenticator(engine, sandbox_only(document))
    policy = partial(RequestPolicy, paths=paths(document), forced_errors=ForcedErrors(document))
    app = build_app(
        document,
        OPERATIONS,
        authenticate=authenticator.authenticate,
        execute=execute,
        published=bundles.load("service" + bundles.OPENAPI_3_0) if strict else None,
        layers=[policy],
    )
    return Cors(app, engine)


def paths(document: Document) -> dict[str, str]:
    """The path of each operation, as in the document."""
    return {
        operation["operationId"]: path
        for path, item in document["paths"].items()
        for operation in item.values()
        if isinstance(operation, dict)
    }


def sandbox_only(document: Document) -> frozenset[str]:
    """The operations that only a sandbox has, by the tags that the document marks ``x-sandbox-only`` (B-07, B-60)."""
    tags = {tag["name"] for tag in document["tags"] if tag.get("x-sandbox-only")}
    return frozenset(
        operation["operationId"]
        for item in document["paths"].values()
        for operation in item.values()
        if isinstance(operation, dict) and tags.intersection(operation.get("tags", ()))
    )


MAX_CACHED = 100
"""Characters of an ``Authorization`` header that is cached; longer ones, padded with spaces, are parsed each time."""


class CachedKey(NamedTuple):
    """What a valid ``Authorization`` header stands for: its world, and the magic key rules that concern its key."""

    runtime: Runtime
    rules: tuple[keys.MagicKey, ...]


class Authenticator:
    """Checks the key, then the state of App and company: the first of the checks in order (B-05)."""

    def __init__(self, engine: Engine, sandbox_only: frozenset[str]) -> None:
        self._engine = engine
        self._sandbox_only = sandbox_only
        self._cached: dict[str, CachedKey] = {}
        engine.when_discarded.append(self._forget)

    def _forget(self, runtime: Runtime) -> None:
        self._cached = {value: key for value, key in self._cached.items() if key.runtime is not runtime}

    def authenticate(self, context: RequestContext, required: bool) -> Runtime:
        """The runtime of the world of the key in ``Authorization``. Raises 401 or 403 (B-02 to B-04)."""
        value = context.authorization()
        if value is None and not required:
            return self._opened_by_token(context)
        runtime, rules = self._cached.get(value or "") or self._resolve(value)
        # Set before anything is raised: the App has a say in the shape of errors.
        context.runtime = runtime
        own = settings(runtime.world)
        context.ignores_unknown_fields = own.unknown_fields == "ignore"
        context.takes_any_metadata = own.assumptions.metadata_values == "any"
        if rules:
            keys.admit(rules, context.operation_id, writes=context.method != "GET")
        if runtime.world.livemode:
            if context.operation_id in self._sandbox_only:
                raise ApiError("SANDBOX_ONLY")
            if context.operation_id == "resetSandbox":
                # Here and not in the operation, so that body and query make no difference (B-07).
                raise ApiError("PERMISSION_DENIED", message="Only a sandbox can be reset; this is a production key.")
        return runtime

    def _opened_by_token(self, context: RequestContext) -> Runtime:
        """Without a key: the world of the invoice in the path, if the query has the token of its PDF (B-66)."""
        token = dict(fields(context.query_string)).get("token")
        if token is None:
            raise ApiError("MISSING_API_KEY")
        id = context.path_params["id"]
        runtime = self._engine.owner(id)
        invoice = None if runtime is None else runtime.world.get(Invoice, id)
        if runtime is None or invoice is None or not invoice_documents.token_opens(invoice, token):
            raise invoice_documents.token_error()
        return runtime

    def _resolve(self, value: str | None) -> CachedKey:
        key = keys.read(value)
        rules = tuple(rule for rule in self._engine.reference_data.magic_keys if rule.concerns(key))
        resolved = CachedKey(self._engine.open(key), rules)
        if value is not None and len(value) <= MAX_CACHED:
            self._cached[value] = resolved
        return resolved


WAITING_FOR_A_DELIVERY = ("testWebhook", "retryWebhookDelivery")
"""Operations that respond after a delivery to the endpoint in their path, which waits for those before it."""


async def execute(
    context: RequestContext, runtime: Runtime, operation: OperationHandler, arguments: dict[str, Any]
) -> Any:
    """Execute a command of the rules as a unit of work; a POST with an Idempotency-Key only once (B-16)."""
    if operation.operation_id in WAITING_FOR_A_DELIVERY:
        await runtime.advances.require_answered(context.path_params["id"])
    key = context.header(b"idempotency-key") if context.method == "POST" else None
    if key is not None:
        request = IdempotentRequest(key, context, operation.status)
        return await request.execute(context, runtime, operation.function, arguments)
    if context.hold_ms:
        await context.hold()
    result = await runtime.serve(operation.function, arguments, context.request_id)
    return await invoice_pdf_response(result) if isinstance(result, InvoiceDocument) else result


async def invoice_pdf_response(document: InvoiceDocument) -> Response:
    """The PDF, rendered in a thread, so that other requests need not wait for it."""
    # Loaded on first use: most servers never render one.
    from emulator.presentation.pdf import invoice_pdf

    pdf = await asyncio.to_thread(invoice_pdf.render, document)
    disposition = {"Content-Disposition": f'inline; filename="{document.invoice.invoice_number}.pdf"'}
    return Response(200, pdf, disposition, media_type="application/pdf")
