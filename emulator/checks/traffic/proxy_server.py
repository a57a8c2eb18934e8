"""The proxy's server: the API of the service, an inbox for its webhooks, and a page with what differs.

Requests go on to the service and webhooks to the application, whole and bounded; what passed is handed over.
"""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from itertools import count
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

import httpx
from starlette.types import Receive, Scope, Send

from emulator.checks.traffic import findings
from emulator.checks.traffic.findings import Findings, ProxyFinding
from emulator.checks.traffic.traffic_log import Passed, PassedRequest, PassedWebhook, of_date
from emulator.core import limits
from emulator.core.errors import ApiError
from emulator.core.ids import IdSource
from emulator.engine.redaction import has_live_key, redact_text
from emulator.server.sandbox import Options
from emulator.server.server import Uvicorn, bind, config, is_loopback, url_of
from emulator.web.context import SCOPE_KEY, RequestContext, send_response, whole_body
from emulator.web.origins import HostGuard, OriginGuard, hostname
from emulator.web.root_app import RootApp

# -- a request passed on, and its answer


PATIENCE = 60.0
"""Seconds that the service, or the application, has to answer."""

MAX_ANSWER = 16 * limits.MIB
"""Bytes of the longest answer that is passed on."""

HOP_BY_HOP = frozenset(
    (
        *("connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te"),
        *("trailer", "transfer-encoding", "upgrade", "host", "content-length", "expect"),
        *("accept-encoding", "content-encoding"),
    )
)
"""Headers of the connection, and of encodings, which are undone here."""

OWN = frozenset(("cookie", "emulator-token"))
"""Headers of a request that may open an emulator's console and its control API."""


class FetchedAnswer(NamedTuple):
    """An answer, whole; headers as they came, without those of the connection."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> str | None:
        """Return the first header of this lower-case name."""
        return next((value for each, value in self.headers if each.lower() == name), None)

    @property
    def text(self) -> str | None:
        """The body, if it is a text."""
        try:
            return self.body.decode()
        except UnicodeDecodeError:
            return None


async def fetched(
    client: httpx.AsyncClient, whom: str, url: httpx.URL, context: RequestContext, body: bytes
) -> FetchedAnswer:
    """Return the answer of ``whom`` to a request. Raises ``ApiError`` (502) if there is none, or if it is too long."""
    try:
        async with client.stream(context.method, url, headers=_forwarded(context), content=body or None) as answer:
            parts, length = [], 0
            async for part in answer.aiter_bytes():
                length += len(part)
                if length > MAX_ANSWER:
                    raise _failed(whom, f"its answer is longer than {MAX_ANSWER} bytes")
                parts.append(part)
    except httpx.TimeoutException:
        raise _failed(whom, f"it did not answer within {PATIENCE:.0f} seconds") from None
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise _failed(whom, str(error).rstrip(".") or type(error).__name__) from None
    given = [(name, value) for name, value in answer.headers.multi_items() if name.lower() not in HOP_BY_HOP]
    return FetchedAnswer(answer.status_code, given, b"".join(parts))


def _forwarded(context: RequestContext) -> list[tuple[bytes, bytes]]:
    """Return the headers of a request that are passed on."""
    named = {name.strip().lower() for name in (context.header(b"connection") or "").split(",")}
    dropped = HOP_BY_HOP | OWN | named
    given = [(name, value.strip()) for name, value in context.raw_headers if name.decode("latin-1") not in dropped]
    return [*given, (b"accept-encoding", b"identity")]


def _failed(whom: str, why: str) -> ApiError:
    return ApiError("UPSTREAM_ERROR", http_status=502, message=f"The proxy got no answer from {whom}: {why}.")


async def bounded_body(receive: Receive, most: int) -> bytes:
    """Return the body of a request, whole: half a body is passed on to no one. Raises 400 for more than ``most`` bytes."""
    if (body := await whole_body(receive, most)) is None:
        raise ApiError("VALIDATION_ERROR", http_status=400, message=f"The body has more than {most} bytes.")
    return body


async def send_fetched(answer: FetchedAnswer, send: Send) -> None:
    """Send an answer on, as ASGI messages. The request id is added by the root application."""
    given = [(n.lower().encode(), v.encode("latin-1")) for n, v in answer.headers if n.lower() != "request-id"]
    length = [] if answer.status in (204, 304) else [(b"content-length", str(len(answer.body)).encode())]
    await send({"type": "http.response.start", "status": answer.status, "headers": [*given, *length]})
    await send({"type": "http.response.body", "body": answer.body})


# -- forwarding


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
        """Return the App in whose world a request is played, and what its key was, as in :class:`PassedRequest`."""
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
        """Return the number of a request that is under way from now on."""
        await self._room.acquire()
        number = next(self.numbers)
        self._under_way[number] = asyncio.Event()
        return number

    def end(self, number: int, passed: Passed | None) -> None:
        """Record that a request was answered or, with None, was not."""
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


def _readable(context: RequestContext, body: bytes) -> str:
    """Return the body as text. Raises :class:`ApiError` for one in which a key would not be found: compressed, or no UTF-8."""
    plain = (context.header(b"content-encoding") or "identity").strip().lower() == "identity"
    with suppress(UnicodeDecodeError):
        if plain and "\0" not in (text := body.decode()):
            return text
    raise ApiError(
        "SANDBOX_ONLY",
        message="The proxy passes on bodies that are UTF-8 and not compressed: in others it finds no live key.",
    )


class ServiceForwarder:
    """Answers requests with what the service at ``upstream`` (a URL without ``/v1``) answers to them.

    Only those to ``/v1/`` are handed over. Others, such as pages, are passed on alone.
    """

    def __init__(self, client: httpx.AsyncClient, upstream: str, traffic: Traffic) -> None:
        self._client = client
        self._upstream = httpx.URL(upstream)
        self._traffic = traffic
        self._keys = Keys()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        context: RequestContext = scope[SCOPE_KEY]
        target = _target(context, scope)
        authorization = context.authorization()
        body = await bounded_body(receive, limits.BODY.most)
        headers = (part.decode("latin-1") for header in context.raw_headers for part in header)
        if has_live_key(target, *headers, _readable(context, body)):
            raise ApiError("SANDBOX_ONLY", message="The proxy passes on requests with test keys (sk_test_…) only.")
        url = self._upstream.copy_with(raw_path=self._upstream.raw_path.rstrip(b"/") + target.encode("latin-1"))
        if context.path.startswith(API):
            answer = await self._handed_over(context, url, target, authorization, body)
        else:
            answer = await fetched(self._client, "the service", url, context, body)
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


class WebhookForwarder:
    """Receives webhooks of the service, and passes each on to ``target`` as it came; without one it answers 200."""

    def __init__(self, client: httpx.AsyncClient, target: str | None, traffic: Traffic) -> None:
        self._client = client
        self._target = target
        self._traffic = traffic

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        context: RequestContext = scope[SCOPE_KEY]
        if context.method != "POST":
            raise ApiError("METHOD_NOT_ALLOWED", method=context.method, allow="POST", headers={"Allow": "POST"})
        body = await bounded_body(receive, limits.INBOX_BODY.most)
        await send_fetched(await self._answer(context, body), send)

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
    """Return path and query as they were sent. Raises ``ApiError`` for a path that leads out of the API."""
    raw: bytes = scope.get("raw_path") or context.path.encode()
    if any(unquote(part.decode("latin-1")) in (".", "..") for part in raw.split(b"/")):
        raise ApiError("NOT_FOUND", message="The path has a segment that leads out of it.")
    query = b"?" + context.query_string if context.query_string else b""
    return (raw.partition(b"?")[0] + query).decode("latin-1")


# -- the server


PAGE, INBOX = "/_proxy/", "/_proxy/webhooks"

CONNECTIONS = 256
"""Connections to the service, or to the application, at a time."""


class ProxyTargets(NamedTuple):
    """Where requests go (a URL without ``/v1``), and where webhooks go, if anywhere."""

    upstream: str
    webhooks_to: str | None = None


class ProxyOutcome(NamedTuple):
    """What takes all that passed, in a thread of its own, and what was found so far."""

    take: Callable[[Passed], None]
    findings: Findings
    last: deque[ProxyFinding]


class ProxyServer:
    """The proxy on one address; the constructor binds its socket. Raises ``CannotListen``."""

    def __init__(self, targets: ProxyTargets, outcome: ProxyOutcome, host: str, port: int) -> None:
        self.socket = bind(host, port)
        self.port: int = self.socket.getsockname()[1]
        self.url = url_of(host, self.port, Options())
        self._is_open = not is_loopback(host)
        self._targets = targets
        self._outcome = outcome
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="beside")
        self._uvicorn: Uvicorn | None = None

    def run(self, ready: Callable[[], None] = lambda: None) -> None:
        """Serve until :meth:`stop`. At the end all that passed was taken."""
        app = self._application()
        self._uvicorn = Uvicorn(config(app), ready, lambda: None)
        try:
            self._uvicorn.run(sockets=[self.socket])
        finally:
            self._thread.shutdown()
        if self._uvicorn.failure:
            raise self._uvicorn.failure

    def stop(self) -> None:
        """End :meth:`run`, from any thread."""
        if self._uvicorn:
            self._uvicorn.should_exit = True

    async def _page(self, scope: Scope, receive: Receive, send: Send) -> None:
        last = [*self._outcome.last][::-1]
        upstream = redact_text(self._targets.upstream)
        await send_response(findings.response(self._outcome.findings, last, upstream), send)

    def _application(self) -> RootApp:
        client = httpx.AsyncClient(
            timeout=PATIENCE, follow_redirects=False, limits=httpx.Limits(max_connections=CONNECTIONS)
        )
        traffic = Traffic(lambda passed: self._thread.submit(self._outcome.take, passed))
        source, numbers = IdSource("proxy"), count(1)
        names = (hostname(urlsplit(self.url).netloc),)
        service = ServiceForwarder(client, self._targets.upstream, traffic)

        async def stop() -> None:
            await traffic.settle()
            await client.aclose()

        return RootApp(
            [
                # The service calls it by the name of a tunnel.
                (INBOX, WebhookForwarder(client, self._targets.webhooks_to, traffic)),
                (
                    PAGE,
                    OriginGuard(self._page, names, pages=True),
                ),
                ("", service if self._is_open else HostGuard(service, names)),
            ],
            new_request_id=lambda: source.id("req", next(numbers)),
            start=_nothing,
            stop=stop,
            base_url=self.url,
        )


async def _nothing() -> None:
    """Accept the lifespan protocol: the proxy needs nothing to start."""
