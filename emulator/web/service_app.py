"""The service's own face: ``/v1``, where a secret key opens a world and a function of the rules does the work."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any, NamedTuple

from starlette.types import ASGIApp, Scope

from emulator.document import bundles
from emulator.document.tree import Document
from emulator.engine.engine import Engine
from emulator.engine.runtime import Runtime
from emulator.errors import ApiError
from emulator.resources.app import keys
from emulator.resources.app.settings import settings
from emulator.resources.billing.invoices import Invoice
from emulator.resources.registry import OPERATIONS
from emulator.resources.sandbox import invoice_documents
from emulator.resources.sandbox.invoice_documents import InvoiceDocument
from emulator.web.authentication import authorization, header
from emulator.web.context import RequestContext
from emulator.web.cors import Cors
from emulator.web.idempotency import IdempotentRequest
from emulator.web.operation import OperationHandler
from emulator.web.pipeline import build_app
from emulator.web.query import fields
from emulator.web.request_policy import RequestPolicy
from emulator.web.response import Response


def service(engine: Engine, *, strict: bool) -> ASGIApp:
    """The application behind ``/v1``."""
    document = bundles.load("service")
    gate = Authenticator(engine, sandbox_only(document))
    checks = partial(RequestPolicy, paths=paths(document))
    app = build_app(
        document, OPERATIONS, authenticate=gate.authenticate, perform=execute, strict=strict, layers=[checks]
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
    """The operations that only a sandbox has: those of the tags the document marks so (B-07, B-60)."""
    tags = {tag["name"] for tag in document["tags"] if tag.get("x-sandbox-only")}
    return frozenset(
        operation["operationId"]
        for item in document["paths"].values()
        for operation in item.values()
        if isinstance(operation, dict) and tags.intersection(operation.get("tags", ()))
    )


LONGEST = 100
"""Characters of an ``Authorization`` header that is remembered; one padded with spaces is read anew each time."""


class CachedKey(NamedTuple):
    """What is known of an ``Authorization`` header that was seen before."""

    runtime: Runtime
    rules: tuple[keys.MagicKey, ...]


class Authenticator:
    """Key, then the state of App and company: the beginning of the order of checks (B-05)."""

    def __init__(self, engine: Engine, sandbox_only: frozenset[str]) -> None:
        self._engine = engine
        self._sandbox_only = sandbox_only
        self._cached: dict[str, CachedKey] = {}
        engine.when_discarded.append(self._forget)

    def _forget(self, runtime: Runtime) -> None:
        self._cached = {value: seen for value, seen in self._cached.items() if seen.runtime is not runtime}

    def authenticate(self, call: RequestContext, scope: Scope, required: bool) -> Runtime | None:
        """The world of the key in the ``Authorization`` header, or a refusal (B-02 to B-04)."""
        value = authorization(scope)
        if value is None and not required:
            call.runtime = self._opened_by_token(scope)
            return call.runtime
        visitor = self._cached.get(value or "") or self._resolve(value)
        call.runtime = visitor.runtime
        call.ignores_unknown_fields = settings(visitor.runtime.world).unknown_fields == "ignore"
        if visitor.rules:
            keys.admit(visitor.rules, call.operation_id or "", writes=scope["method"] != "GET")
        if visitor.runtime.world.livemode and call.operation_id in self._sandbox_only:
            raise ApiError("SANDBOX_ONLY")
        return visitor.runtime

    def _opened_by_token(self, scope: Scope) -> Runtime:
        """Without a key: the world of the invoice in the path, if the token in the query is that of its PDF (B-66)."""
        token = dict(fields(scope["query_string"])).get("token")
        if token is None:
            raise ApiError("MISSING_API_KEY")
        for runtime in self._engine.runtimes.values():
            invoice = runtime.world.get(Invoice, scope["path_params"]["id"])
            if invoice is not None and invoice_documents.token_opens(invoice, token):
                return runtime
        raise invoice_documents.token_error()

    def _resolve(self, value: str | None) -> CachedKey:
        key = keys.read(value)
        rules = tuple(rule for rule in self._engine.reference_data.magic_keys if rule.concerns(key))
        visitor = CachedKey(self._engine.open(key), rules)
        if value is not None and len(value) <= LONGEST:
            self._cached[value] = visitor
        return visitor


async def execute(
    call: RequestContext, plan: OperationHandler, scope: Scope, arguments: dict[str, Any], raw: bytes
) -> Any:
    """One command of the rules, as a turn of its world; with an Idempotency-Key on a POST, once."""
    assert call.runtime is not None
    key = header(scope, b"idempotency-key") if scope["method"] == "POST" else None
    if key is not None:
        return await IdempotentRequest(key, scope, raw, plan.status).perform(call, plan.function, arguments)
    result = await call.runtime.serve(plan.function, arguments, call.request_id)
    return await operation_summary(result) if isinstance(result, InvoiceDocument) else result


async def operation_summary(paper: InvoiceDocument) -> Response:
    """The PDF; it is set in a thread, so that other requests need not wait for it."""
    # Loaded on first use: most servers never print.
    from emulator.rendering import invoice_pdf

    pdf = await asyncio.to_thread(invoice_pdf.render, paper)
    shown_as = {"Content-Disposition": f'inline; filename="{paper.invoice.invoice_number}.pdf"'}
    return Response(200, pdf, shown_as, media_type="application/pdf")
