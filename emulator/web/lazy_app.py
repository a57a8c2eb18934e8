"""Later: an application that is made when it is first asked for, so that a start waits for nothing nobody may want."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from starlette.types import ASGIApp, Receive, Scope, Send


class LazyApp:
    """Stands for the application that ``make`` makes, and imports what it takes."""

    def __init__(self, make: Callable[[], ASGIApp]) -> None:
        self._make = make

    @cached_property
    def _app(self) -> ASGIApp:
        return self._make()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)
