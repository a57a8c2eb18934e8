"""Forwards webhooks to an application in this process (WSGI or ASGI), to its test client, or to a URL."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Coroutine
from typing import Any
from urllib.parse import urlsplit

import httpx

from emulator.testing.asgi_app import AsgiApp
from emulator.testing.asgi_client import AsgiClient
from emulator.testing.collector import Delivery
from emulator.testing.forward_target import AppAnswer, ForwardTarget, answer_of, forwarded_headers
from emulator.testing.loop_calls import LoopCalls, may_wait_for

APPLICATION_URL = "http://localhost"
"""The root URL that an application in this process sees."""

SyncCall = Callable[[str, bytes, dict[str, str]], AppAnswer]
"""A function of the URL, the body and the headers."""

AsyncCall = Callable[[str, bytes, dict[str, str]], Coroutine[Any, Any, AppAnswer]]
"""The same, on an event loop."""


class InThread:
    """A target that a function calls."""

    is_running = True

    def __init__(self, url: str, call: SyncCall) -> None:
        self._url = url
        self._call = call

    def send(self, delivery: Delivery) -> AppAnswer:
        """Call the function."""
        return self._call(self._url, delivery.body, forwarded_headers(delivery))

    def cancel(self) -> None:
        """Nothing: a thread cannot be interrupted."""

    def close(self) -> None:
        """Nothing: each call releases what it needs."""


class OnLoop:
    """A target that a coroutine function calls on an event loop; ``end`` is called at last."""

    def __init__(
        self, url: str, call: AsyncCall, loop: asyncio.AbstractEventLoop, end: Callable[[], None] = lambda: None
    ) -> None:
        self._url = url
        self._call = call
        self._loop = loop
        self._end = end
        self._calls = LoopCalls(loop)
        self.cancel = self._calls.cancel

    @property
    def is_running(self) -> bool:
        """Whether its loop runs, and in another thread."""
        return may_wait_for(self._loop)

    def send(self, delivery: Delivery) -> AppAnswer:
        """Call the function on the loop."""
        return self._calls.run(lambda: self._call(self._url, delivery.body, forwarded_headers(delivery)))

    def close(self) -> None:
        """Take no more calls, and end what they needed."""
        self._calls.close()
        self._end()


def target_of(target: Any, path: str, loop: asyncio.AbstractEventLoop | None, *, lifespan: bool) -> ForwardTarget:
    """What forwards to ``target``: a URL, or an application or its test client, called at ``path``.

    An ASGI application runs on ``loop``, or else on one of its own. Raises ``TypeError`` if it is none of these, and
    what its lifespan raises.
    """
    if isinstance(target, str):
        return InThread(target, lambda *request: _post(None, *request))
    if client := _client(target, path, loop):
        return client
    if not callable(target):
        raise TypeError(f"{target!r}: a URL, a WSGI application, an ASGI application, or a test client")
    if inspect.iscoroutinefunction(target) or inspect.iscoroutinefunction(type(target).__call__):
        app = AsgiApp(target, loop, lifespan=lifespan)
        return OnLoop(APPLICATION_URL + path, lambda *request: _post_on_loop(app, *request), app.loop, app.close)
    return InThread(APPLICATION_URL + path, lambda *request: _post(httpx.WSGITransport(target), *request))


def _client(target: Any, path: str, loop: asyncio.AbstractEventLoop | None) -> ForwardTarget | None:
    """What forwards to a client: of Starlette, FastAPI and Litestar, of httpx, of Flask, or of Django."""
    post = getattr(target, "post", None)
    if not callable(post):
        return None
    if inspect.iscoroutinefunction(post):
        return _async_client(target, path, loop)
    if hasattr(target, "build_request") and hasattr(target, "portal"):
        return AsgiClient(target, path)
    calls: dict[str, SyncCall] = {
        "build_request": lambda url, body, headers: answer_of(post(url, content=body, headers=headers)),
        "open": lambda url, body, headers: _flask(target, url, body, headers),
        "generic": lambda url, body, headers: _django(target, url, body, headers),
    }
    return next((InThread(path, call) for name, call in calls.items() if hasattr(target, name)), None)


def _async_client(target: Any, path: str, loop: asyncio.AbstractEventLoop | None) -> ForwardTarget:
    if loop is None or not hasattr(target, "build_request"):
        raise TypeError(
            f"{target!r}: an asynchronous client; forward to the application itself"
            + (", or await forward_to() of an AsyncEmulator" if hasattr(target, "build_request") else "")
        )

    async def post(url: str, body: bytes, headers: dict[str, str]) -> AppAnswer:
        return answer_of(await target.post(url, content=body, headers=headers))

    return OnLoop(path, post, loop)


def _post(transport: httpx.BaseTransport | None, url: str, body: bytes, headers: dict[str, str]) -> AppAnswer:
    with httpx.Client(transport=transport, trust_env=False, verify=urlsplit(url).scheme == "https") as client:
        return answer_of(client.post(url, content=body, headers=headers))


async def _post_on_loop(app: AsgiApp, url: str, body: bytes, headers: dict[str, str]) -> AppAnswer:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app.call)) as client:
        return answer_of(await client.post(url, content=body, headers=headers))


def _flask(client: Any, url: str, body: bytes, headers: dict[str, str]) -> AppAnswer:
    # In its "with" block a client keeps the context of each request for its own thread, so another one is used here.
    if make := getattr(client.application, "test_client", None):
        client, client.environ_base = make(), client.environ_base
    response = client.post(url, data=body, headers=headers)
    return AppAnswer(response.status_code, response.data)


def _django(client: Any, url: str, body: bytes, headers: dict[str, str]) -> AppAnswer:
    response = client.post(
        url, data=body, content_type=headers.get("content-type", "application/json"), headers=headers
    )
    return answer_of(response)
