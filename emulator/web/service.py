"""The service's own face: ``/v1``, where a secret key opens a world and a function of the rules does the work."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any, NamedTuple

from starlette.types import ASGIApp, Scope

from emulator.document import store
from emulator.engine.engine import Engine
from emulator.engine.runtime import Runtime
from emulator.errors import Refusal
from emulator.resources import keys, papers
from emulator.resources.invoices import Invoice
from emulator.resources.papers import InvoicePaper
from emulator.resources.settings import settings
from emulator.resources.wiring import OPERATIONS
from emulator.web.call import Call
from emulator.web.checks import Checks
from emulator.web.cors import Cors
from emulator.web.guard import authorization, header
from emulator.web.idempotent import Once
from emulator.web.plan import Plan
from emulator.web.query import fields
from emulator.web.reply import Reply
from emulator.web.stack import stack


def service(engine: Engine, *, strict: bool) -> ASGIApp:
    """The application behind ``/v1``."""
    document = store.load("service")
    gate = Gate(engine, sandbox_only(document))
    checks = partial(Checks, paths=paths(document))
    app = stack(document, OPERATIONS, authenticate=gate.admit, perform=perform, strict=strict, layers=[checks])
    return Cors(app, engine)


def paths(document: store.Document) -> dict[str, str]:
    """The path of each operation, as in the document."""
    return {
        operation["operationId"]: path
        for path, item in document["paths"].items()
        for operation in item.values()
        if isinstance(operation, dict)
    }


def sandbox_only(document: store.Document) -> frozenset[str]:
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


class Visitor(NamedTuple):
    """What is known of an ``Authorization`` header that was seen before."""

    runtime: Runtime
    rules: tuple[keys.MagicKey, ...]


class Gate:
    """Key, then the state of App and company: the beginning of the order of checks (B-05)."""

    def __init__(self, engine: Engine, sandbox_only: frozenset[str]) -> None:
        self._engine = engine
        self._sandbox_only = sandbox_only
        self._visitors: dict[str, Visitor] = {}
        engine.when_discarded.append(self._forget)

    def _forget(self, runtime: Runtime) -> None:
        self._visitors = {value: seen for value, seen in self._visitors.items() if seen.runtime is not runtime}

    def admit(self, call: Call, scope: Scope, required: bool) -> Runtime | None:
        """The world of the key in the ``Authorization`` header, or a refusal (B-02 to B-04)."""
        value = authorization(scope)
        if value is None and not required:
            call.runtime = self._opened_by_token(scope)
            return call.runtime
        visitor = self._visitors.get(value or "") or self._welcome(value)
        call.runtime = visitor.runtime
        call.ignores_unknown_fields = settings(visitor.runtime.world).unknown_fields == "ignore"
        if visitor.rules:
            keys.admit(visitor.rules, call.operation_id or "", writes=scope["method"] != "GET")
        if visitor.runtime.world.livemode and call.operation_id in self._sandbox_only:
            raise Refusal("SANDBOX_ONLY")
        return visitor.runtime

    def _opened_by_token(self, scope: Scope) -> Runtime:
        """Without a key: the world of the invoice in the path, if the token in the query is that of its PDF (B-66)."""
        token = dict(fields(scope["query_string"])).get("token")
        if token is None:
            raise Refusal("MISSING_API_KEY")
        for runtime in self._engine.runtimes.values():
            invoice = runtime.world.get(Invoice, scope["path_params"]["id"])
            if invoice is not None and papers.opens(invoice, token):
                return runtime
        raise papers.wrong_token()

    def _welcome(self, value: str | None) -> Visitor:
        key = keys.read(value)
        rules = tuple(rule for rule in self._engine.facts.magic_keys if rule.concerns(key))
        visitor = Visitor(self._engine.open(key), rules)
        if value is not None and len(value) <= LONGEST:
            self._visitors[value] = visitor
        return visitor


async def perform(call: Call, plan: Plan, scope: Scope, arguments: dict[str, Any], raw: bytes) -> Any:
    """One command of the rules, as a turn of its world; with an Idempotency-Key on a POST, once."""
    assert call.runtime is not None
    key = header(scope, b"idempotency-key") if scope["method"] == "POST" else None
    if key is not None:
        return await Once(key, scope, raw, plan.status).perform(call, plan.function, arguments)
    result = await call.runtime.serve(plan.function, arguments, call.request_id)
    return await printed(result) if isinstance(result, InvoicePaper) else result


async def printed(paper: InvoicePaper) -> Reply:
    """The PDF; it is set in a thread, so that other requests need not wait for it."""
    # Loaded on first use: most servers never print.
    from emulator.paper import invoice

    pdf = await asyncio.to_thread(invoice.render, paper)
    shown_as = {"Content-Disposition": f'inline; filename="{paper.invoice.invoice_number}.pdf"'}
    return Reply(200, pdf, shown_as, media_type="application/pdf")
