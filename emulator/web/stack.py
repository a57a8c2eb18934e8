"""The stack: a Connexion application for one document, with our layers in an explicit list."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from connexion.resolver import Resolver
from starlette.types import ASGIApp, Receive, Scope, Send

from emulator.errors import Refusal
from emulator.web import call as calls
from emulator.web.connexion_app import connexion_app
from emulator.web.guard import Authenticate, Guard
from emulator.web.plan import Disconnected, Performer, PlanMiddleware
from emulator.web.reply import send_reply
from emulator.web.routing import Router

Layer = Callable[[ASGIApp], ASGIApp]

logger = logging.getLogger("emulator")


def stack(
    document: dict[str, Any],
    operations: Mapping[str, Callable[..., Any]],
    *,
    authenticate: Authenticate,
    perform: Performer,
    strict: bool,
    layers: Sequence[Layer] = (),
) -> ASGIApp:
    """The application of one document. ``operations`` maps each of its operationIds to a function.

    ``strict`` checks every answer against the document before it is sent. ``layers`` come after the guard and before
    anything of the request but its head is read.
    """
    if unmatched := operations.keys() ^ _operation_ids(document):
        raise LookupError(f"without a function, or without an operation: {sorted(unmatched)}")
    app = connexion_app(
        document,
        [Answering, Router, Guard, *layers, PlanMiddleware],
        Resolver(operations.__getitem__),
        authenticate=authenticate,
        perform=perform,
        strict=strict,
    )
    return cast(ASGIApp, app)


def _operation_ids(document: Mapping[str, Any]) -> set[str]:
    return {
        operation["operationId"]
        for item in document["paths"].values()
        for operation in item.values()
        if "operationId" in operation
    }


class Answering:
    """The outermost layer of a stack: whatever is raised below it becomes an answer in the form of all errors."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._app(scope, receive, send)
        except Exception as error:
            await send_reply(calls.of(scope).reply(_refusal(scope, error)), send)


def _refusal(scope: Scope, error: Exception) -> Refusal:
    """What a client is told of an exception; one that nobody meant is for the log."""
    if isinstance(error, Refusal):
        return error
    if not isinstance(error, Disconnected):
        logger.error("%s %s failed", scope["method"], scope["path"], exc_info=error)
    return Refusal("INTERNAL_ERROR")
