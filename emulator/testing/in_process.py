"""Forwards webhooks to an application in this process (WSGI or ASGI), its test client, or a URL.

An ASGI application runs on one event loop: its test client's, the test's own, or one that is made
for it here, on which its lifespan runs too, as a server runs it.
"""

from __future__ import annotations

import asyncio
import inspect
import sys
import warnings
from collections.abc import Callable, Coroutine, MutableMapping
from concurrent.futures import CancelledError, wait
from functools import partial
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx

from emulator.server.event_loop import RealTimeLoop
from emulator.testing.collector import (
    AppResponse,
    Delivery,
    ForwardTarget,
    forwarded_headers,
    in_thread,
    response_of,
)
from emulator.testing.database import Database

T = TypeVar("T")

AsgiMessage = MutableMapping[str, Any]

APPLICATION_URL = "http://localhost"
"""The root URL that an application in this process sees."""

LIFESPAN_SECONDS = 30
"""Seconds (real time) for the application to start, and to shut down."""


def running_loop() -> asyncio.AbstractEventLoop | None:
    """Return the event loop of asyncio that this thread runs at the moment."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def database_of_this_thread() -> Database:
    """Return the database for a test in this thread; that of a Django project may be lent."""
    conf = sys.modules.get("django.conf")
    if conf is None or not conf.settings.configured:
        return Database()
    from emulator.testing.django_connections import LentConnections

    return LentConnections()


def target_of(
    target: Any, path: str, loop: asyncio.AbstractEventLoop | None, database: Database
) -> ForwardTarget:
    """Return the forwarder to ``target``: a URL, an application or its test client, at ``path``.

    An ASGI application runs on ``loop``, or else on one of its own. Raises ``TypeError`` if it is
    none of these, and ``RuntimeError`` if its lifespan fails.
    """
    if isinstance(target, str):
        return InThread(target)
    if hasattr(
        target, "portal"
    ):  # what the test clients of Starlette and FastAPI reach their loop by
        return AsgiClient(target, path, database)
    if not callable(target):
        raise TypeError(
            f"{target!r}: a URL, a WSGI application, an ASGI application, or a test client"
        )
    if inspect.iscoroutinefunction(target) or inspect.iscoroutinefunction(type(target).__call__):
        if loop is None:
            return OwnAsgiClient(target, path, database)
        return OnLoop(database.asgi(target), path, loop)
    return InThread(APPLICATION_URL + path, httpx.WSGITransport(database.wsgi(target)))


class InThread(ForwardTarget):
    """Posts to a URL, or to a WSGI application, in the thread of the delivery."""

    def __init__(self, url: str, transport: httpx.BaseTransport | None = None) -> None:
        super().__init__()
        self._url = url
        self._transport = transport

    def send(self, delivery: Delivery) -> AppResponse:
        verify = urlsplit(self._url).scheme == "https"
        with httpx.Client(transport=self._transport, trust_env=False, verify=verify) as client:
            return response_of(
                client.post(self._url, content=delivery.body, headers=forwarded_headers(delivery))
            )


class OnLoop(ForwardTarget):
    """Calls an ASGI application on a test's loop, which also runs the lifespan, if it has one."""

    def __init__(self, app: Any, path: str, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._transport = httpx.ASGITransport(app)
        self._url = APPLICATION_URL + path
        self._loop = loop

    @property
    def is_running(self) -> bool:  # type: ignore[override]  # of the others it is an attribute
        """Whether the loop runs, and in another thread."""
        return self._loop.is_running() and self._loop is not running_loop()

    def send(self, delivery: Delivery) -> AppResponse:
        if not self._loop.is_running():
            raise CancelledError
        return self.awaited(asyncio.run_coroutine_threadsafe(self._post(delivery), self._loop))

    async def _post(self, delivery: Delivery) -> AppResponse:
        async with httpx.AsyncClient(transport=self._transport) as client:
            return response_of(
                await client.post(
                    self._url, content=delivery.body, headers=forwarded_headers(delivery)
                )
            )


# -- the test client of an ASGI application (Starlette, FastAPI)


TEST_CLIENT = ("testclient", 50000)
"""The address that the application sees, which is that of these clients."""


class AsgiClient(ForwardTarget):
    """Calls the client's application on the client's loop, with its base URL, headers and cookies.

    The client's own ``post`` goes to its loop several times for one request. A client that is
    closed between two of them waits for the application for ever, and the application for the
    thread that can no longer reach it. A whole request that is one task of the loop ends by itself,
    and the client that closes waits for that.
    """

    def __init__(self, client: Any, path: str, database: Database) -> None:
        super().__init__()
        self._database = database
        self._client = client
        self._path = path
        self._was_open = client.portal is not None

    def send(self, delivery: Delivery) -> AppResponse:
        """Call the application, on a loop for this call alone if the client was not opened yet."""
        # What starts tasks on the client's loop, within its ``with`` block.
        portal, post = self._client.portal, partial(self._post, delivery)
        if portal is not None:
            self._was_open = True
            try:
                future = portal.start_task_soon(_in_task, post)
            except RuntimeError:  # it has just been closed
                raise CancelledError from None
            return self.awaited(future)
        if self._was_open:
            raise CancelledError
        with asyncio.Runner(loop_factory=RealTimeLoop) as runner:
            return runner.run(post())

    async def _post(self, delivery: Delivery) -> AppResponse:
        client = self._client
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(self._call, client=TEST_CLIENT),
            base_url=str(client.base_url),
            headers=client.headers.multi_items(),
            cookies=client.cookies.jar,
            follow_redirects=client.follow_redirects,
        ) as own:
            return response_of(
                await own.post(
                    self._path, content=delivery.body, headers=forwarded_headers(delivery)
                )
            )

    async def _call(self, scope: AsgiMessage, receive: Any, send: Any) -> None:
        app = self._database.asgi(self._client.app)
        await app({**scope, "state": self._client.app_state.copy()}, receive, send)


async def _in_task(call: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Return a call's result. If cancelled, leave it alone: a view in a thread may not end then."""
    task = asyncio.create_task(call())
    try:
        await asyncio.wait([task])
    finally:
        task.cancel()
    return task.result()


class OwnAsgiClient(AsgiClient):
    """A test client made for an application: runs its lifespan and loop until ``close``."""

    def __init__(self, app: Any, path: str, database: Database) -> None:
        # Imported here: few tests forward to an ASGI application. Starlette warns where its other
        # HTTP client is missing.
        with warnings.catch_warnings(action="ignore"):
            from starlette.testclient import TestClient

        client = TestClient(
            with_optional_lifespan(app),
            APPLICATION_URL,
            backend_options={"loop_factory": RealTimeLoop},
        )
        started = in_thread(client.__enter__)
        if wait([started], LIFESPAN_SECONDS).not_done:
            raise TimeoutError(f"the application did not start within {LIFESPAN_SECONDS} s")
        if error := started.exception():
            raise RuntimeError(
                f"the application did not start: {type(error).__name__}: {error}"
            ) from error
        super().__init__(client, path, database)

    def close(self) -> None:
        """Shut the application down. Raises its error, or ``TimeoutError`` if it does not end."""
        stopped = in_thread(self._client.__exit__)
        if wait([stopped], LIFESPAN_SECONDS).not_done:
            raise TimeoutError(f"the application did not shut down within {LIFESPAN_SECONDS} s")
        stopped.result()


def with_optional_lifespan(app: Any) -> Any:
    """Return the application, called without its lifespan if it ends or fails silently there."""

    async def called(scope: AsgiMessage, receive: Any, send: Any) -> None:
        if scope["type"] != "lifespan":
            await app(scope, receive, send)
            return
        messages: list[AsgiMessage] = []

        async def send_noted(message: AsgiMessage) -> None:
            messages.append(message)
            await send(message)

        try:
            await app(
                {**scope, "asgi": {"version": "3.0", "spec_version": "2.0"}}, receive, send_noted
            )
        except Exception:
            if messages:
                raise
        if not messages:
            await send({"type": "lifespan.startup.complete"})
            while (await receive())["type"] != "lifespan.shutdown":
                pass
            await send({"type": "lifespan.shutdown.complete"})

    return called
