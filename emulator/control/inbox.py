"""Inboxes, the built-in webhook receivers: store any request, respond as arranged; a GET lists."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import urlsplit

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from emulator.core.errors import ApiError, invalid_field
from emulator.core.limits import INBOX_BODY
from emulator.core.lists import Page, Query, select
from emulator.core.world import World
from emulator.engine.engine import Engine
from emulator.engine.inbox import PREFIX, InboxRequest, ResponseRule
from emulator.engine.runtime import Runtime
from emulator.resources.app import clients
from emulator.resources.app.clients import DEFAULT_APP, Key
from emulator.resources.webhooks.endpoints import WebhookEndpoint
from emulator.web.context import RequestContext, context_of, whole_body
from emulator.web.operation import fields

# -- the world of a request: of a call of the control API, or of a webhook sent to an inbox


async def world_of_caller(engine: Engine, context: RequestContext) -> Runtime:
    """Return the world of the key, or of ``app=NAME``, or the default one."""
    value = context.authorization()
    return await engine.open(
        clients.read_key(value)
        if value is not None
        else Key(_named(context) or DEFAULT_APP, livemode=False)
    )


async def world_of_sender(engine: Engine, context: RequestContext, app: str | None) -> Runtime:
    """Return a webhook's world: of its key, of ``app=NAME``, or of the App with the id ``app``.

    ``Authorization`` may hold the signature of a webhook instead of a key.
    """
    try:
        return await engine.open(clients.read_key(context.authorization()))
    except ApiError:
        named = _named(context)
    known = engine.of_app(app) if named is None else None
    return await engine.open(known or Key(named or DEFAULT_APP, livemode=False))


def _named(context: RequestContext) -> str | None:
    name = dict(fields(context.query_string)).get("app")
    if name is not None and not clients.NAME.fullmatch(name):
        raise invalid_field(
            "app", "must be an App's name: 1 to 64 of A-Z a-z 0-9 _ -", "INVALID_FILTER_PARAM"
        )
    return name


# -- inboxes


NAME = re.compile(r"[A-Za-z0-9._~-]{1,64}")
RESPONSE = re.compile(re.escape(PREFIX) + r"[^/]*/response")
"""The paths below the prefix that set how an inbox responds."""

RANGES = {"status": (200, 599), "delay_ms": (0, 60_000)}


async def index(runtime: Runtime, name: str, query: Query) -> Page[InboxRequest]:
    """GET /inbox/{name}: requests, newest first. A URL's ``status`` and ``delay_ms`` do nothing."""
    inbox = runtime.inbox
    inbox.check_pending(runtime.world)
    paging = {"page": query["page"], "page_size": query["page_size"]}
    return select(inbox.table, {**paging, "inbox": name}).page()


async def inboxes(runtime: Runtime, query: Query) -> Page[Any]:
    """GET /inboxes: those with requests, with an endpoint, or with a response set; by name."""
    # Imported here: every server receives in inboxes, few are asked for their list.
    from emulator.control.objects import page_of

    table = runtime.inbox.table
    received = {name: table.where("inbox", name) for name in table.index("inbox").all_keys()}
    names = sorted({*received, *runtime.inbox.rules, *_addressed(runtime.world)})
    return page_of(names, query, lambda name: _summary(runtime, name, received.get(name, [])))


def _addressed(world: World) -> Iterator[str]:
    """Return the names of the inboxes that endpoints of the world send to."""
    paths = (urlsplit(endpoint.url).path for endpoint in world.table(WebhookEndpoint))
    return (
        path.removeprefix(PREFIX)
        for path in paths
        if path.startswith(PREFIX) and NAME.fullmatch(path[len(PREFIX) :])
    )


def _summary(runtime: Runtime, name: str, received: Sequence[InboxRequest]) -> dict[str, Any]:
    rule = runtime.inbox.response_rule(name)
    last = received[-1].created_at if received else None
    return {
        "name": name,
        "requests_count": len(received),
        "last_at": last,
        "status": rule.status,
        "delay_ms": rule.delay_ms,
    }


async def set_response(runtime: Runtime, name: str, body: Query) -> ResponseRule:
    """PUT /inbox/{name}/response: the later requests' response, unless their URL has another."""
    _check_name(name)
    rule = ResponseRule(**body)
    runtime.inbox.set_response_rule(name, rule)
    return rule


async def clear_response(runtime: Runtime, name: str) -> None:
    """DELETE /inbox/{name}/response: later requests get 200 at once."""
    runtime.inbox.set_response_rule(name, None)


def receiving(engine: Engine, control: ASGIApp) -> ASGIApp:
    """Return the inboxes' app: it stores requests, but ``control`` gets GET and ``…/response``."""

    async def receive_any(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] == "GET" or RESPONSE.fullmatch(scope["path"]):
            await control(scope, receive, send)
            return
        request = Request(scope, receive)
        try:
            response = await _store(engine, request)
        except ApiError as error:
            response = Response(
                context_of(scope).body_of(error), error.status, media_type="application/json"
            )
        await response(scope, receive, send)

    return receive_any


async def _store(engine: Engine, request: Request) -> Response:
    name = request.url.path.removeprefix(PREFIX)
    _check_name(name)
    if (raw := await whole_body(request.receive, INBOX_BODY.most)) is None:
        message = f"The body is larger than {INBOX_BODY.most} bytes."
        raise ApiError("VALIDATION_ERROR", http_status=400, message=message)
    runtime = await world_of_sender(engine, context_of(request.scope), app_id(raw))
    with runtime.in_use():
        rule = msgspec.structs.replace(runtime.inbox.response_rule(name), **_numbers(request))
        runtime.inbox.add(
            runtime.world,
            dict(request.headers),
            raw,
            inbox=name,
            method=request.method,
            url=str(request.url),
            answered=rule.status,
            created_at=runtime.now(),
        )
        await asyncio.sleep(rule.delay_ms / 1000)
    return _response(rule)


def _check_name(name: str) -> None:
    if not NAME.fullmatch(name):
        raise ApiError(
            "NOT_FOUND", message="An inbox has a name of 1 to 64 of A-Z a-z 0-9 . _ ~ -."
        )


def _response(rule: ResponseRule) -> Response:
    if rule.status in (204, 205, 304):
        return Response(status_code=rule.status)
    return Response(b'{"received":true}', rule.status, media_type="application/json")


def app_id(raw: bytes) -> str | None:
    """Return the id of the App that a webhook names in its body."""
    try:
        app: str | None = msgspec.json.decode(raw, type=_EventOrigin).app
    except (msgspec.DecodeError, RecursionError):
        return None
    return app


class _EventOrigin(msgspec.Struct):
    """The part of an event that names its App (B-80)."""

    app: str | None = None


def _numbers(request: Request) -> dict[str, int]:
    """Return the query parameters ``status`` and ``delay_ms``; 422 for an invalid value (B-12)."""
    numbers = {}
    for name, (least, most) in RANGES.items():
        text = request.query_params.get(name)
        if text is not None:
            if not re.fullmatch(r"\d{1,6}", text, re.ASCII) or not least <= int(text) <= most:
                raise invalid_field(
                    name, f"must be an integer from {least} to {most}", "INVALID_FILTER_PARAM"
                )
            numbers[name] = int(text)
    return numbers


OPERATIONS = {
    "listInboxes": inboxes,
    "listInboxRequests": index,
    "setInboxResponse": set_response,
    "clearInboxResponse": clear_response,
}
