"""Errors on demand: a request fails as its tester has chosen (B-94).

By the header ``Emulator-Answer: CODE``, or by a fault that was injected before.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from urllib.parse import parse_qsl, urlencode

import msgspec
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from emulator.core.errors import CODES, ERRORS, ApiError, invalid_field
from emulator.core.limits import BODY
from emulator.core.world import World
from emulator.engine.runtime import Runtime
from emulator.resources.faults import (
    REQUEST,
    Fault,
    FaultEffect,
    FaultMatch,
    mentions_customer,
    pick_fault,
)
from emulator.web import json_text
from emulator.web.context import RequestContext, Response, disconnected, send_response
from emulator.web.operation import fields

HEADER = "Emulator-Answer"

HELPERS = "payments-emulator"
"""The ``User-Agent`` of the helpers for tests, whose lists keep their pages."""

PAGE_SIZE = "page_size"
"""The parameter with the number of objects on a page of a list."""

TOO_MANY_REQUESTS = 429
"""The status that always comes with ``Retry-After`` (Errors)."""

RETRY_AFTER = 1
"""Seconds that a forced 429 asks the client to wait."""


def asked_for(context: RequestContext) -> ApiError | None:
    """Return the error a request asks for by its header; an unknown code gives 422 (B-95)."""
    code = context.header(HEADER.lower().encode())
    if code is None:
        return None
    if code not in CODES:
        return invalid_field(HEADER, f"{code[:60]!r} is not an error code")
    return forced(code, context)


def forced(code: str, context: RequestContext) -> ApiError:
    """Return any error of the model with the table's message, about no field and no record."""
    row = ERRORS[code]
    return ApiError(
        code,
        headers={"Allow": "OPTIONS"} if row.status == 405 else {},
        retry_after=RETRY_AFTER if row.status == TOO_MANY_REQUESTS else None,
        method=context.method,
        allow="OPTIONS",
    )


# -- by an injected fault


class FaultInjection:
    """Stands before an ASGI application. ``paths`` are the document's, by operationId."""

    def __init__(self, app: ASGIApp, paths: Mapping[str, str]) -> None:
        self._app = app
        self._paths = paths

    async def handle(
        self, context: RequestContext, runtime: Runtime, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Pass the request on, unless a fault is to be injected."""
        if not _faults(runtime.world):
            await self._app(scope, receive, send)
            return
        raw = b""
        if any(fault.match.customer for fault in _faults(runtime.world)):
            raw, receive = await read_ahead(receive)
        fits = _fitting(runtime.world, context, self._paths.get(context.operation_id), raw)
        fault: Fault | None = await runtime.serve(
            pick_fault, {"about": REQUEST, "fits": fits}, None
        )
        if fault is not None and fault.then.page_size is not None:
            # The helpers of tests read what the application does not.
            if context.header(b"user-agent") != HELPERS and context.operation_id.startswith("list"):
                context.query_string = _paged(context.query_string, fault.then.page_size)
            fault = None
        if fault is None:
            await self._app(scope, receive, send)
        else:
            # Read whatever the fault does, so that the request log has the body.
            context.raw, receive = await read_ahead(receive)
            await self._inject(fault.then, context, scope, receive, send)

    async def _inject(
        self,
        effect: FaultEffect,
        context: RequestContext,
        scope: Scope,
        receive: Receive,
        send: Send,
    ) -> None:
        response = partial(self._response, context, scope, receive)
        if effect.repeat:
            await self._repeat(context, scope, receive, send)
            return
        if effect.executed and effect.delay_ms is not None:
            await response(_delayed(send, effect.delay_ms / 1000))
            return
        if effect.executed or effect.hang_ms is not None or effect.drop == "after":
            await response(_discard)
        if effect.code is not None:
            raise forced(effect.code, context)
        is_cut = effect.drop is not None
        if effect.hang_ms is not None:
            is_cut = await _silence(effect.hang_ms / 1000, receive) or effect.status is None
        if is_cut:
            await cut(context, receive)
        elif effect.status == TOO_MANY_REQUESTS and effect.body is msgspec.UNSET:
            raise forced("RATE_LIMIT_EXCEEDED", context)
        elif effect.status is not None:
            await send_response(_custom_response(effect.status, effect.body), send)
        elif effect.garble:
            await response(_garbling(send))
        else:
            context.hold_ms = effect.hold_ms or 0
            await asyncio.sleep((effect.delay_ms or 0) / 1000)
            await self._app(scope, receive, send)

    async def _repeat(
        self, context: RequestContext, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Do the request twice at the same moment; the client gets the first response."""
        messages: list[Message] = []
        body: Message = {"type": "http.request", "body": context.raw}

        async def keep(message: Message) -> None:
            messages.append(message)

        async def again() -> Message:
            return body

        await self._response(context, scope, receive, keep)
        await self._response(context, scope, again, _discard)
        for message in messages:
            await send(message)

    async def _response(
        self, context: RequestContext, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Respond as usual; an error is sent through ``send`` like any response."""
        try:
            await self._app(scope, receive, send)
        except ApiError as error:
            await send_response(context.error_response(error), send)


def _faults(world: World) -> list[Fault]:
    return world.table(Fault).where("about", REQUEST)


def _fitting(
    world: World, context: RequestContext, path: str | None, raw: bytes
) -> Callable[[FaultMatch], bool]:
    """Return the check of a request against a fault; ``raw`` is the body that matters."""

    def ids() -> set[str]:
        """Return all of the request's texts that may be ids: in path, query and body fields."""
        try:
            query, body = fields(context.query_string), json_text.parse(raw)
        except ApiError:
            query, body = [], {}
        texts = [*context.path_params.values(), *(text for _, text in query), *body.values()]
        return {text for text in texts if isinstance(text, str)}

    def fits(match: FaultMatch) -> bool:
        of_operation = match.fits(operation=context.operation_id, method=context.method, path=path)
        return of_operation and (
            match.customer is None or mentions_customer(world, match.customer, ids())
        )

    return fits


async def read_ahead(receive: Receive) -> tuple[bytes, Receive]:
    """Return the body, up to the usual bound, and a ``receive`` that replays it."""
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


def _paged(query: bytes, page_size: int) -> bytes:
    """Return a list's query for pages of at most this many objects."""
    parameters = parse_qsl(query.decode("latin-1"), keep_blank_values=True)
    asked = dict(parameters).get(PAGE_SIZE, "")
    # A wrong size stays wrong, and a smaller one as small.
    if PAGE_SIZE in dict(parameters) and not (asked.isdecimal() and int(asked) > page_size):
        return query
    others = [(name, value) for name, value in parameters if name != PAGE_SIZE]
    return urlencode([*others, (PAGE_SIZE, page_size)]).encode()


def _custom_response(status: int, body: object) -> Response:
    """Return a tester's own response: a text as plain text, else JSON; without a value, empty."""
    headers = {"Retry-After": str(RETRY_AFTER)} if status == TOO_MANY_REQUESTS else {}
    if isinstance(body, str):
        return Response(status, body.encode(), headers, media_type=b"text/plain; charset=utf-8")
    return Response(status, b"" if body is msgspec.UNSET else msgspec.json.encode(body), headers)


async def cut(context: RequestContext, receive: Receive) -> None:
    """Cut the connection and wait until it is gone."""
    if context.connection is None:
        raise ClientDisconnect  # no socket, as under a test client in this process
    context.connection.abort()
    await disconnected(receive)


async def _silence(seconds: float, receive: Receive) -> bool:
    """Wait these seconds (real time); return whether the client gave up before their end."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await disconnected(receive)
            return True
    return False


async def _discard(message: Message) -> None:
    """Send nothing."""


def _delayed(send: Send, seconds: float) -> Send:
    """Return a ``send`` whose first message waits these seconds (real time)."""

    async def delayed(message: Message) -> None:
        if message["type"] == "http.response.start":
            await asyncio.sleep(seconds)
        await send(message)

    return delayed


def _garbling(send: Send) -> Send:
    """Return a ``send`` that reverses bodies: same length, but no JSON nor, beyond ASCII, UTF-8."""

    async def garble(message: Message) -> None:
        if message["type"] == "http.response.body":
            message = {**message, "body": message.get("body", b"")[::-1]}
        await send(message)

    return garble
