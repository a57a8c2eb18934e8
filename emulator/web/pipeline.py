"""The stack: a Connexion application for one document, with our layers in an explicit list."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

from emulator.errors import ApiError
from emulator.web import context as calls
from emulator.web.authentication import Authenticate, AuthenticationMiddleware
from emulator.web.connexion_app import connexion_app
from emulator.web.operation import Disconnected, Executor, OperationMiddleware
from emulator.web.response import send_response
from emulator.web.routing import Router

Layer = Callable[[ASGIApp], ASGIApp]

logger = logging.getLogger("emulator")


def build_app(
    document: dict[str, Any],
    operations: Mapping[str, Callable[..., Any]],
    *,
    authenticate: Authenticate,
    perform: Executor,
    strict: bool,
    layers: Sequence[Layer] = (),
) -> ASGIApp:
    """The application of one document. ``operations`` maps each of its operationIds to a function.

    ``strict`` checks every answer against the document before it is sent. ``layers`` come after the guard and before
    anything of the request but its head is read.
    """
    if unmatched := operations.keys() ^ _operation_ids(document):
        raise LookupError(f"without a function, or without an operation: {sorted(unmatched)}")
    return connexion_app(
        document,
        operations,
        [ErrorMiddleware, Router, AuthenticationMiddleware, *layers, OperationMiddleware],
        authenticate=authenticate,
        perform=perform,
        strict=strict,
    )


def _operation_ids(document: Mapping[str, Any]) -> set[str]:
    return {
        operation["operationId"]
        for item in document["paths"].values()
        for operation in item.values()
        if "operationId" in operation
    }


class ErrorMiddleware:
    """The outermost layer of a stack: whatever is raised below it becomes an answer in the form of all errors."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._app(scope, receive, send)
        except Exception as error:
            await send_response(calls.of(scope).prepared_response(_error(scope, error)), send)


def _error(scope: Scope, error: Exception) -> ApiError:
    """What a client is told of an exception; one that nobody meant is for the log."""
    if isinstance(error, ApiError):
        return error
    if not isinstance(error, Disconnected):
        logger.error("%s %s failed", scope["method"], scope["path"], exc_info=error)
    return ApiError("INTERNAL_ERROR")
