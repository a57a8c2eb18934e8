"""The guard: who is asking? It stands where Connexion's security layer stands and knows the document's ``security``."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from connexion.middleware.abstract import RoutedAPI
from connexion.operations import AbstractOperation
from starlette.types import ASGIApp, Receive, Scope, Send

from emulator.engine.runtime import Runtime
from emulator.errors import ApiError
from emulator.state.store import LeasedElsewhere
from emulator.web import context as calls
from emulator.web.context import RequestContext
from emulator.web.routing import OperationLayer

TRIES, BETWEEN = 40, 0.1
"""How often, and after how many seconds each time, a world that another process runs is asked for again."""

Authenticate = Callable[[RequestContext, Scope, bool], Runtime | None]
"""Finds the world a request is for, or refuses it; the flag tells whether the document demands a key."""


class AuthenticatedOperation:
    """One operation behind its guard."""

    def __init__(self, next_app: ASGIApp, authenticate: Authenticate, required: bool) -> None:
        self._next_app = next_app
        self._authenticate = authenticate
        self._required = required

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        call = calls.of(scope)
        try:
            call.runtime = self._authenticate(call, scope, self._required)
        except LeasedElsewhere:
            call.runtime = await self._once_here(call, scope)
        if call.runtime is not None:
            call.checkpoint = call.runtime.history.checkpoint()
        await self._next_app(scope, receive, send)

    async def _once_here(self, call: RequestContext, scope: Scope) -> Runtime | None:
        """Wait a little for a world that another process runs: it was asked to hand it over."""
        for _ in range(TRIES):
            await asyncio.sleep(BETWEEN)
            with suppress(LeasedElsewhere):
                return self._authenticate(call, scope, self._required)
        return self._authenticate(call, scope, self._required)


class AuthenticationAPI(RoutedAPI[AuthenticatedOperation]):
    """The guarded operations of one document."""

    def __init__(self, *args: Any, authenticate: Authenticate, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._authenticate = authenticate
        self.add_paths()

    def make_operation(self, operation: AbstractOperation) -> AuthenticatedOperation:
        required = bool(operation.security) and {} not in operation.security
        return AuthenticatedOperation(self.next_app, self._authenticate, required)


class AuthenticationMiddleware(OperationLayer[AuthenticationAPI]):
    """Comes after routing, so that an unknown path is 404 for everybody, and before anything reads the body (B-05)."""

    api_cls = AuthenticationAPI


def header(scope: Scope, name: bytes) -> str | None:
    """The first header of this (lower-case) name."""
    value = calls.of(scope).headers.get(name)
    return None if value is None else value.decode("latin-1")


def listed(scope: Scope, name: bytes) -> str:
    """All headers of this (lower-case) name as one list; empty where there is none."""
    return ", ".join(bytes(value).decode("latin-1") for key, value in scope["headers"] if key == name)


def authorization(scope: Scope) -> str | None:
    """The ``Authorization`` header. Of two nobody can say which one is meant, so they are refused (B-03)."""
    values = [bytes(value) for name, value in scope["headers"] if name == b"authorization"]
    if len(values) > 1:
        raise ApiError("AUTHENTICATION_FAILED", message="There is more than one Authorization header.")
    return values[0].decode("latin-1") if values else None
