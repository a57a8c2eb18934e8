"""Arranged faults at the door: a request that was chosen to go wrong goes wrong here (B-94)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import msgspec
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from emulator.core.world import World
from emulator.errors import ApiError
from emulator.resources.sandbox.faults import REQUEST, Fault, FaultEffect, FaultMatch, mentions_customer, pick_fault
from emulator.web import strict_json
from emulator.web.context import RequestContext
from emulator.web.forced_errors import error_for
from emulator.web.operation import MAX_BODY, Disconnected
from emulator.web.query import fields
from emulator.web.response import Response, send_response
from emulator.web.streaming import ABORT


class FaultInjection:
    """An ASGI application in front of another one. ``paths`` are the document's, by operationId."""

    def __init__(self, app: ASGIApp, paths: Mapping[str, str]) -> None:
        self._app = app
        self._paths = paths

    async def __call__(self, call: RequestContext, scope: Scope, receive: Receive, send: Send) -> None:
        assert call.runtime is not None
        arranged = call.runtime.world.table(Fault).where("about", REQUEST)
        if not arranged:
            await self._app(scope, receive, send)
            return
        raw = b""
        if any(fault.match.customer for fault in arranged):
            raw, receive = await read_ahead(receive)
        chosen = _Chosen(call.runtime.world, call.operation_id, self._paths.get(call.operation_id or ""), scope, raw)
        fault: Fault | None = await call.runtime.serve(pick_fault, {"about": REQUEST, "fits": chosen.by}, None)
        if fault is None:
            await self._app(scope, receive, send)
        else:
            # Read whatever becomes of it, so that the journal knows what was asked for.
            call.raw, receive = await read_ahead(receive)
            await self._fail(fault.then, call, scope, receive, send)

    async def _fail(self, then: FaultEffect, call: RequestContext, scope: Scope, receive: Receive, send: Send) -> None:
        if then.code is not None:
            raise error_for(then.code)
        if then.status is not None:
            await send_response(_made_up(then.status, then.body), send)
        elif then.drop == "before":
            await cut(scope, receive)
        elif then.drop == "after":
            await self._done(call, scope, receive, _nowhere)
            await cut(scope, receive)
        elif then.garble:
            await self._done(call, scope, receive, _garbling(send))
        else:
            await asyncio.sleep((then.delay_ms or 0) / 1000)
            await self._app(scope, receive, send)

    async def _done(self, call: RequestContext, scope: Scope, receive: Receive, send: Send) -> None:
        """The work as ever; a refusal is an answer too, and goes the way of all answers."""
        try:
            await self._app(scope, receive, send)
        except ApiError as refusal:
            await send_response(call.prepared_response(refusal), send)


class _Chosen:
    """What there is to know of a request when it is asked whether a fault is meant for it."""

    def __init__(self, world: World, operation: str | None, path: str | None, scope: Scope, raw: bytes) -> None:
        self._world = world
        self._facts = {"operation": operation, "method": scope["method"], "path": path}
        self._scope = scope
        self._raw = raw

    def by(self, match: FaultMatch) -> bool:
        return match.fits(**self._facts) and (
            match.customer is None or mentions_customer(self._world, match.customer, self._ids())
        )

    def _ids(self) -> set[str]:
        """Every text of the request that may be an id: of its path, its query and its body's fields."""
        try:
            query, body = fields(self._scope["query_string"]), strict_json.parse(self._raw)
        except ApiError:
            query, body = [], {}
        texts = [*self._scope["path_params"].values(), *(text for _, text in query), *body.values()]
        return {text for text in texts if isinstance(text, str)}


async def read_ahead(receive: Receive) -> tuple[bytes, Receive]:
    """The body, as far as anyone would read it, and a receive that gives it once more from the beginning."""
    messages: list[Message] = []
    size, more = 0, True
    while more and size <= MAX_BODY:
        messages.append(message := await receive())
        size += len(message.get("body", b""))
        more = message.get("more_body", False)
    raw = b"".join(message.get("body", b"") for message in messages)

    async def again() -> Message:
        return messages.pop(0) if messages else await receive()

    return raw, again


def _made_up(status: int, body: object) -> Response:
    """An answer of the tester's own: a text as it stands, anything else as JSON, nothing as nothing."""
    if isinstance(body, str):
        return Response(status, body.encode(), media_type="text/plain; charset=utf-8")
    return Response(status, b"" if body is msgspec.UNSET else msgspec.json.encode(body))


async def cut(scope: Scope, receive: Receive) -> None:
    """End the connection here and now, and wait until it is gone."""
    if ABORT not in scope:
        raise Disconnected  # no socket, as under a test client in this process
    scope[ABORT]()
    while (await receive())["type"] != "http.disconnect":
        pass


async def _nowhere(message: Message) -> None:
    """A send that loses what it is given."""


def _garbling(send: Send) -> Send:
    """A send that turns bodies round: as long as announced, and neither JSON nor, beyond ASCII, UTF-8."""

    async def garble(message: Message) -> None:
        if message["type"] == "http.response.body":
            message = {**message, "body": message.get("body", b"")[::-1]}
        await send(message)

    return garble
