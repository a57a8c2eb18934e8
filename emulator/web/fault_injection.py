"""Fault injection: a request that the tester has chosen to fail fails here (B-94)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping
from contextlib import suppress

import msgspec
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from emulator.core.errors import ApiError
from emulator.core.limits import BODY
from emulator.core.world import World
from emulator.engine.runtime import Runtime
from emulator.resources.simulation.faults import REQUEST, Fault, FaultEffect, FaultMatch, mentions_customer, pick_fault
from emulator.web import strict_json
from emulator.web.context import RequestContext
from emulator.web.forced_errors import RETRY_AFTER, ForcedErrors
from emulator.web.query import fields
from emulator.web.response import Response, send_response

TOO_MANY_REQUESTS = 429
"""The status that always comes with ``Retry-After`` (Errors)."""


class FaultInjection:
    """Stands before an ASGI application. ``paths`` are the document's, by operationId."""

    def __init__(self, app: ASGIApp, paths: Mapping[str, str], forced_errors: ForcedErrors) -> None:
        self._app = app
        self._forced_errors = forced_errors
        self._paths = paths

    def handle(
        self, context: RequestContext, runtime: Runtime, scope: Scope, receive: Receive, send: Send
    ) -> Awaitable[None]:
        """Pass the request on, unless a fault is to be injected."""
        if not _faults(runtime.world):
            return self._app(scope, receive, send)
        return self._handle(context, runtime, scope, receive, send)

    async def _handle(
        self, context: RequestContext, runtime: Runtime, scope: Scope, receive: Receive, send: Send
    ) -> None:
        raw = b""
        if any(fault.match.customer for fault in _faults(runtime.world)):
            raw, receive = await read_ahead(receive)
        candidate = _Candidate(runtime.world, context, self._paths.get(context.operation_id), raw)
        fault: Fault | None = await runtime.serve(pick_fault, {"about": REQUEST, "fits": candidate.fits}, None)
        if fault is None:
            await self._app(scope, receive, send)
        else:
            # Read whatever the fault does, so that the request log has the body.
            context.raw, receive = await read_ahead(receive)
            await self._inject(fault.then, context, scope, receive, send)

    async def _inject(
        self, effect: FaultEffect, context: RequestContext, scope: Scope, receive: Receive, send: Send
    ) -> None:
        if effect.executed and effect.delay_ms is not None:
            await self._answer(context, scope, receive, _delayed(send, effect.delay_ms / 1000))
            return
        if effect.executed:
            await self._answer(context, scope, receive, _discard)
        if effect.code is not None:
            raise self._forced_errors.error(effect.code, context)
        if effect.status == TOO_MANY_REQUESTS and effect.body is msgspec.UNSET:
            raise self._forced_errors.error("RATE_LIMIT_EXCEEDED", context)
        if effect.status is not None:
            await send_response(_custom_response(effect.status, effect.body), send)
        elif effect.drop == "before":
            await cut(context, receive)
        elif effect.drop == "after":
            await self._answer(context, scope, receive, _discard)
            await cut(context, receive)
        elif effect.hang_ms is not None:
            await self._answer(context, scope, receive, _discard)
            await _silence(effect.hang_ms / 1000, receive)
            await cut(context, receive)
        elif effect.garble:
            await self._answer(context, scope, receive, _garbling(send))
        else:
            context.hold_ms = effect.hold_ms or 0
            await asyncio.sleep((effect.delay_ms or 0) / 1000)
            await self._app(scope, receive, send)

    async def _answer(self, context: RequestContext, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer as usual; an error is sent through ``send`` like any response."""
        try:
            await self._app(scope, receive, send)
        except ApiError as error:
            await send_response(context.error_response(error), send)


def _faults(world: World) -> list[Fault]:
    """The faults that are to be injected into requests."""
    return world.table(Fault).where("about", REQUEST)


class _Candidate:
    """A request as far as the matching of faults looks at it."""

    def __init__(self, world: World, context: RequestContext, path: str | None, raw: bytes) -> None:
        self._world = world
        self._context = context
        self._path = path
        self._raw = raw

    def fits(self, match: FaultMatch) -> bool:
        context = self._context
        return match.fits(operation=context.operation_id, method=context.method, path=self._path) and (
            match.customer is None or mentions_customer(self._world, match.customer, self._ids())
        )

    def _ids(self) -> set[str]:
        """Every text of the request that may be an id: of its path, its query and its body's fields."""
        try:
            query, body = fields(self._context.query_string), strict_json.parse(self._raw)
        except ApiError:
            query, body = [], {}
        texts = [*self._context.path_params.values(), *(text for _, text in query), *body.values()]
        return {text for text in texts if isinstance(text, str)}


async def read_ahead(receive: Receive) -> tuple[bytes, Receive]:
    """The body, up to the usual bound, and a ``receive`` that gives it again from the beginning."""
    messages: list[Message] = []
    size, more = 0, True
    while more and size <= BODY.most:
        messages.append(message := await receive())
        size += len(message.get("body", b""))
        more = message.get("more_body", False)
    raw = b"".join(message.get("body", b"") for message in messages)

    async def again() -> Message:
        return messages.pop(0) if messages else await receive()

    return raw, again


def _custom_response(status: int, body: object) -> Response:
    """A response of the tester's own: a text as plain text, any other value as JSON, no value as an empty body."""
    headers = {"Retry-After": str(RETRY_AFTER)} if status == TOO_MANY_REQUESTS else {}
    if isinstance(body, str):
        return Response(status, body.encode(), headers, media_type="text/plain; charset=utf-8")
    return Response(status, b"" if body is msgspec.UNSET else msgspec.json.encode(body), headers)


async def cut(context: RequestContext, receive: Receive) -> None:
    """Cut the connection and wait until it is gone."""
    if context.connection is None:
        raise ClientDisconnect  # no socket, as under a test client in this process
    context.connection.abort()
    while (await receive())["type"] != "http.disconnect":
        pass


async def _silence(seconds: float, receive: Receive) -> None:
    """Wait until the client has given up, or so many seconds (real time)."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while (await receive())["type"] != "http.disconnect":
                pass


async def _discard(message: Message) -> None:
    """A ``send`` that sends nothing."""


def _delayed(send: Send, seconds: float) -> Send:
    """A ``send`` whose first message waits so many seconds (real time)."""

    async def delayed(message: Message) -> None:
        if message["type"] == "http.response.start":
            await asyncio.sleep(seconds)
        await send(message)

    return delayed


def _garbling(send: Send) -> Send:
    """A ``send`` that reverses bodies: of the announced length, but neither JSON nor, beyond ASCII, UTF-8."""

    async def garble(message: Message) -> None:
        if message["type"] == "http.response.body":
            message = {**message, "body": message.get("body", b"")[::-1]}
        await send(message)

    return garble
