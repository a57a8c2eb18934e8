"""Forwards requests to the service and webhooks to the application, and hands over what passed."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from concurrent.futures import Future
from itertools import count
from urllib.parse import unquote

import httpx
from starlette.types import Receive, Scope, Send

from emulator.checks.traffic.fetching import FetchedAnswer, fetched, send_fetched, whole_body
from emulator.checks.traffic.passed import Passed, PassedRequest, PassedWebhook
from emulator.checks.traffic.service_time import of_date
from emulator.core import limits
from emulator.core.errors import ApiError
from emulator.engine.redaction import has_live_key
from emulator.web.context import ContextLayer, RequestContext, send_response

API = "/v1/"

PLAYED = ("content-type", "idempotency-key")
"""Headers of a request that the world beside is sent."""

MAX_APPS = 100
"""Keys that have an App of their own beside the service; further ones share one."""

MAX_WAITING = 1_000
"""Requests and webhooks that are under way or wait to be compared, at a time."""

_KEY = re.compile(r"(?i)bearer +([sp]k)_test_([\w-]+)")


class Keys:
    """The Apps beside the service, by the keys that requests carry. That of the first key is ``demo``."""

    def __init__(self) -> None:
        self._apps: dict[str, str] = {}

    def app(self, authorization: str | None) -> tuple[str, str | None]:
        """The App in whose world a request is played, and what its key was, as in :class:`PassedRequest`."""
        if not authorization:
            return "demo", None
        given = _KEY.fullmatch(authorization)
        if given is None:
            scheme, _, rest = authorization.partition(" ")
            return "demo", f"{scheme} {'x' * len(rest)}" if rest else "x" * len(scheme)
        if given[2] not in self._apps and len(self._apps) < MAX_APPS:
            self._apps[given[2]] = f"demo{len(self._apps) + 1}" if self._apps else "demo"
        return self._apps.get(given[2], f"demo{MAX_APPS + 1}"), given[1].lower()


class Traffic:
    """Numbers what passes, and hands it to ``file``, which takes a thing at a time; beyond a limit requests wait."""

    def __init__(self, file: Callable[[Passed], Future[None]]) -> None:
        self.numbers = count(1)
        self._submit = file
        self._room = asyncio.Semaphore(MAX_WAITING)
        self._under_way: dict[int, asyncio.Event] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def begin(self) -> int:
        """The number of a request that is under way from now on."""
        await self._room.acquire()
        number = next(self.numbers)
        self._under_way[number] = asyncio.Event()
        return number

    def end(self, number: int, passed: Passed | None) -> None:
        """A request was answered, or, with None, was not."""
        if passed is not None:
            self._file(passed)
        else:
            self._room.release()
        self._under_way.pop(number).set()

    async def file_later(self, webhook: PassedWebhook) -> None:
        """Hand over a webhook after the requests that are under way now: one of them may be its cause."""
        await self._room.acquire()
        task = asyncio.create_task(self._after([*self._under_way.values()], webhook))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _after(self, others: list[asyncio.Event], webhook: PassedWebhook) -> None:
        for each in others:
            await each.wait()
        self._file(webhook)

    def _file(self, passed: Passed) -> None:
        loop = asyncio.get_running_loop()
        taken = self._submit(passed)
        taken.add_done_callback(lambda _: loop.call_soon_threadsafe(self._room.release))

    async def settle(self) -> None:
        """Wait until all is taken."""
        while self._tasks:
            await asyncio.wait([*self._tasks])
        for _ in range(MAX_WAITING):
            await self._room.acquire()


class ServiceForwarder(ContextLayer):
    """Answers requests with what the service at ``upstream`` (a URL without ``/v1``) answers to them.

    Only those to ``/v1/`` are handed over. Others, such as pages, are passed on alone.
    """

    def __init__(self, client: httpx.AsyncClient, upstream: str, traffic: Traffic) -> None:
        self._client = client
        self._upstream = httpx.URL(upstream)
        self._traffic = traffic
        self._keys = Keys()

    async def handle(self, context: RequestContext, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            target = _target(context, scope)
            authorization = context.authorization()
            body = await whole_body(receive, limits.BODY.most)
            headers = (part.decode("latin-1") for header in context.raw_headers for part in header)
            if has_live_key(target, *headers, body.decode("utf-8", "replace")):
                raise ApiError("SANDBOX_ONLY", message="The proxy passes on requests with test keys (sk_test_…) only.")
            url = self._upstream.copy_with(raw_path=self._upstream.raw_path.rstrip(b"/") + target.encode("latin-1"))
            if context.path.startswith(API):
                answer = await self._handed_over(context, url, target, authorization, body)
            else:
                answer = await fetched(self._client, "the service", url, context, body)
        except ApiError as error:
            await send_response(context.error_response(error), send)
            return
        if (id := answer.header("request-id")) is not None:
            context.request_id = id
        await send_fetched(answer, send)

    async def _handed_over(
        self, context: RequestContext, url: httpx.URL, target: str, authorization: str | None, body: bytes
    ) -> FetchedAnswer:
        number, passed = await self._traffic.begin(), None
        try:
            answer = await fetched(self._client, "the service", url, context, body)
            app, key = self._keys.app(authorization)
            passed = PassedRequest(
                number=number,
                app=app,
                method=context.method,
                target=target,
                authorization=key,
                headers={name: value for name in PLAYED if (value := context.header(name.encode())) is not None},
                body=body.decode("utf-8", "replace"),
                status=answer.status,
                request_id=answer.header("request-id"),
                date=of_date(answer.header("date")),
                answer=answer.text,
            )
            return answer
        finally:
            self._traffic.end(number, passed)


class WebhookForwarder(ContextLayer):
    """Receives webhooks of the service, and passes each on to ``target`` as it came; without one it answers 200."""

    def __init__(self, client: httpx.AsyncClient, target: str | None, traffic: Traffic) -> None:
        self._client = client
        self._target = target
        self._traffic = traffic

    async def handle(self, context: RequestContext, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            if context.method != "POST":
                raise ApiError("METHOD_NOT_ALLOWED", method=context.method, allow="POST", headers={"Allow": "POST"})
            body = await whole_body(receive, limits.INBOX_BODY.most)
            answer = await self._answer(context, body)
        except ApiError as error:
            await send_response(context.error_response(error), send)
            return
        await send_fetched(answer, send)

    async def _answer(self, context: RequestContext, body: bytes) -> FetchedAnswer:
        answer, status = FetchedAnswer(200, [], b""), None
        try:
            if self._target is not None:
                answer = await fetched(self._client, "the application", httpx.URL(self._target), context, body)
                status = answer.status
        finally:
            text = body.decode("utf-8", "replace")
            await self._traffic.file_later(PassedWebhook(number=next(self._traffic.numbers), body=text, status=status))
        return answer


def _target(context: RequestContext, scope: Scope) -> str:
    """Path and query as they were sent. Raises ``ApiError`` for a path that leads out of the API."""
    raw: bytes = scope.get("raw_path") or context.path.encode()
    if any(unquote(part.decode("latin-1")) in (".", "..") for part in raw.split(b"/")):
        raise ApiError("NOT_FOUND", message="The path has a segment that leads out of it.")
    query = b"?" + context.query_string if context.query_string else b""
    return (raw.partition(b"?")[0] + query).decode("latin-1")
