"""The stack: a Connexion application for one document, with our layers in an explicit list."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from connexion.lifecycle import ConnexionRequest, ConnexionResponse
from connexion.middleware.exceptions import ExceptionMiddleware
from connexion.resolver import Resolver
from starlette.types import ASGIApp

from emulator.errors import Refusal
from emulator.web import call as calls
from emulator.web.connexion_app import connexion_app
from emulator.web.guard import Authenticate, Guard
from emulator.web.plan import Disconnected, Performer, PlanMiddleware
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
    app: Any = connexion_app(
        document,
        [ExceptionMiddleware, Router, Guard, *layers, PlanMiddleware],
        Resolver(operations.__getitem__),
        authenticate=authenticate,
        perform=perform,
        strict=strict,
    )
    app.add_error_handler(Refusal, _refused)
    app.add_error_handler(Exception, _crashed)
    return cast(ASGIApp, app)


def _operation_ids(document: Mapping[str, Any]) -> set[str]:
    return {
        operation["operationId"]
        for item in document["paths"].values()
        for operation in item.values()
        if "operationId" in operation
    }


async def _refused(request: ConnexionRequest, error: Exception) -> ConnexionResponse:
    assert isinstance(error, Refusal)
    reply = calls.of(request.scope).reply(error)
    return ConnexionResponse(
        status_code=reply.status,
        mimetype=reply.media_type,
        content_type=reply.media_type,
        body=reply.body,
        headers=dict(reply.headers),
    )


async def _crashed(request: ConnexionRequest, error: Exception) -> ConnexionResponse:
    if not isinstance(error, Disconnected):
        logger.error("%s %s failed", request.scope["method"], request.scope["path"], exc_info=error)
    return await _refused(request, Refusal("INTERNAL_ERROR"))
