"""The stack of layers between a request and the function of its operation, as a Connexion application."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Receive, Scope, Send

from emulator.core.errors import ApiError
from emulator.document.tree import Document
from emulator.engine.logged_request import redacted_path
from emulator.web.authentication import Authenticate, AuthenticationMiddleware
from emulator.web.connexion_app import connexion_app, definitions
from emulator.web.context import ContextLayer, RequestContext
from emulator.web.operation import Executor, OperationMiddleware
from emulator.web.response import send_response
from emulator.web.routing import Router

Layer = Callable[[ASGIApp], ASGIApp]

logger = logging.getLogger("emulator")


def build_app(
    document: dict[str, Any],
    operations: Mapping[str, Callable[..., Any]],
    *,
    authenticate: Authenticate,
    execute: Executor,
    published: Document | None,
    layers: Sequence[Layer] = (),
) -> ASGIApp:
    """The application of one document. ``operations`` maps each of its operationIds to a function.

    ``published`` is the document as clients get it: every response is validated against it before it is sent; None:
    none is. ``layers`` come after authentication, before the body is read. Raises ``LookupError`` for an operation
    without a function, and the reverse.
    """
    if unmatched := operations.keys() ^ _operation_ids(document):
        raise LookupError(f"without a function, or without an operation: {sorted(unmatched)}")
    return connexion_app(
        document,
        operations,
        [ErrorMiddleware, Router, AuthenticationMiddleware, *layers, OperationMiddleware],
        authenticate=authenticate,
        execute=execute,
        published={} if published is None else definitions(published),
    )


def _operation_ids(document: Mapping[str, Any]) -> set[str]:
    return {
        operation["operationId"]
        for item in document["paths"].values()
        for operation in item.values()
        if "operationId" in operation
    }


class ErrorMiddleware(ContextLayer):
    """The outermost layer of a stack: makes every exception a response in the form of all errors."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def handle(self, context: RequestContext, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._app(scope, receive, send)
        except Exception as error:
            await send_response(context.error_response(_as_api_error(context, error)), send)


def _as_api_error(context: RequestContext, error: Exception) -> ApiError:
    """The error that a client gets for an exception; an unexpected one is logged."""
    if isinstance(error, ApiError):
        return error
    if not isinstance(error, ClientDisconnect):
        logger.error("%s %s failed", context.method, redacted_path(context.path), exc_info=error)
    return ApiError("INTERNAL_ERROR")
