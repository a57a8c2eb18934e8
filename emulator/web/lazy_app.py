"""Lazy applications: built on their first request, so that a start does not wait for what may never be used."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from starlette.types import ASGIApp, Receive, Scope, Send


class LazyApp:
    """Stands for the application that ``make`` builds, importing what it needs."""

    def __init__(self, make: Callable[[], ASGIApp]) -> None:
        self._make = make

    @cached_property
    def _app(self) -> ASGIApp:
        return self._make()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)
