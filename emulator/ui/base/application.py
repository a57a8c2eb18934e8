"""An application of pages: its routes, and what answers where no route does."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from emulator.core.errors import ApiError
from emulator.web.context import context_of

ErrorPage = Callable[[Request, Exception], Awaitable[Response]]


def application(routes: Sequence[BaseRoute], not_found: ErrorPage, method_not_allowed: ErrorPage) -> Starlette:
    """The application. A path with a slash too many or too few is not found either."""
    # Any page will do for a client that went away before its form was complete; an error would be logged.
    answers = {404: not_found, 405: method_not_allowed, ClientDisconnect: not_found}
    app = Starlette(routes=routes, exception_handlers=answers)
    app.router.redirect_slashes = False
    return app


def api_error(request: Request, error: ApiError) -> Response:
    """Return an error as the service answers it, for programs."""
    reply = context_of(request.scope).error_response(error)
    return Response(reply.body, reply.status, reply.headers, media_type=reply.media_type)
