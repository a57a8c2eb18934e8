"""An application of pages: its routes, and what answers where no route does."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

ErrorPage = Callable[[Request, Exception], Awaitable[Response]]


def application(routes: Sequence[BaseRoute], not_found: ErrorPage, method_not_allowed: ErrorPage) -> Starlette:
    """The application. A path with a slash too many or too few is not found either."""
    app = Starlette(routes=routes, exception_handlers={404: not_found, 405: method_not_allowed})
    app.router.redirect_slashes = False
    return app
