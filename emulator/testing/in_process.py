"""Forwards webhooks to an application in this process (WSGI or ASGI), to its test client, or to a URL."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol
from urllib.parse import urlsplit

import httpx

from emulator.testing.asgi_app import AsgiApp
from emulator.testing.collector import Delivery, DeliveryResult

HOP_BY_HOP = frozenset(["host", "connection", "content-length", "transfer-encoding", "accept-encoding"])
"""Headers of the connection, which are not forwarded."""

APPLICATION_URL = "http://localhost"
"""The root URL that an application in this process sees."""

ERROR_LENGTH = 500
"""Characters of the body of a failed answer that are shown."""


class AppAnswer(NamedTuple):
    """What the application answered."""

    status: int
    body: bytes


class ForwardTarget(Protocol):
    """Where deliveries are forwarded to. Called in a thread of the receiver, which may be several at once."""

    def send(self, delivery: Delivery) -> AppAnswer:
        """Forward one delivery unchanged, so that its signature stays valid. Raises what the application raises."""

    def close(self) -> None:
        """Release what forwarding needs."""


def forward(target: ForwardTarget, delivery: Delivery) -> DeliveryResult:
    """The answer of the application; 500 and the exception if it raised one."""
    try:
        answer = target.send(delivery)
    except Exception as error:  # any error of the application is a failed delivery, which the report shows
        return DeliveryResult(500, f"{type(error).__name__}: {error}{_hint(error)}", error)
    if answer.status < 500:
        return DeliveryResult(answer.status)
    said = answer.body.decode(errors="replace")[:ERROR_LENGTH]
    event = delivery.event.get("type", "a delivery")
    return DeliveryResult(answer.status, None, AssertionError(f"{event} was answered {answer.status}: {said}"))


def _hint(error: Exception) -> str:
    if not isinstance(error, RuntimeError) or "loop" not in str(error).lower():
        return ""
    return "; does a test client run the application's lifespan as well? Then give forward_to() that client"


class CallingTarget:
    """A target that a function of the URL, the body and the headers calls."""

    def __init__(self, url: str, call: Callable[[str, bytes, dict[str, str]], AppAnswer]) -> None:
        self._url = url
        self._call = call

    def send(self, delivery: Delivery) -> AppAnswer:
        """Call the function."""
        return self._call(self._url, delivery.body, _forwarded_headers(delivery))

    def close(self) -> None:
        """Nothing: each call releases what it needs."""


class Asgi:
    """An ASGI application on an event loop that lasts, with its lifespan."""

    def __init__(self, app: Any, url: str, loop: asyncio.AbstractEventLoop | None, *, lifespan: bool) -> None:
        self._url = url
        self._app = AsgiApp(app, loop, lifespan=lifespan)

    def send(self, delivery: Delivery) -> AppAnswer:
        """Call the application on its loop."""
        return self._app.run(self._post(delivery.body, _forwarded_headers(delivery)))

    def close(self) -> None:
        """Shut the application down."""
        self._app.close()

    async def _post(self, body: bytes, headers: dict[str, str]) -> AppAnswer:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(self._app.call)) as client:
            answer = await client.post(self._url, content=body, headers=headers)
        return AppAnswer(answer.status_code, answer.content)


def target_of(target: Any, path: str, loop: asyncio.AbstractEventLoop | None, *, lifespan: bool) -> ForwardTarget:
    """What forwards to ``target``: a URL, or an application or its test client, called at ``path``.

    An ASGI application runs on ``loop``, or else on one of its own. Raises ``TypeError`` if it is none of these, and
    what its lifespan raises.
    """
    if isinstance(target, str):
        return CallingTarget(target, lambda *request: _post(None, *request))
    if client := _client(target):
        return CallingTarget(path, client)
    if not callable(target):
        raise TypeError(f"{target!r}: a URL, a WSGI application, an ASGI application, or a test client")
    if inspect.iscoroutinefunction(target) or inspect.iscoroutinefunction(type(target).__call__):
        return Asgi(target, APPLICATION_URL + path, loop, lifespan=lifespan)
    return CallingTarget(APPLICATION_URL + path, lambda *request: _post(httpx.WSGITransport(target), *request))


def _client(target: Any) -> Callable[[str, bytes, dict[str, str]], AppAnswer] | None:
    """The call of a test client: that of Starlette and FastAPI (a client as of httpx), of Flask, or of Django."""
    if callable(getattr(target, "post", None)) and callable(getattr(target, "build_request", None)):
        return lambda url, body, headers: _answer(target.post(url, content=body, headers=headers))
    if callable(getattr(target, "post", None)) and callable(getattr(target, "open", None)):
        return lambda url, body, headers: _flask(target.post(url, data=body, headers=headers))
    if callable(getattr(target, "post", None)) and callable(getattr(target, "generic", None)):
        return lambda url, body, headers: _django(target, url, body, headers)
    return None


def _post(transport: httpx.BaseTransport | None, url: str, body: bytes, headers: dict[str, str]) -> AppAnswer:
    with httpx.Client(transport=transport, trust_env=False, verify=urlsplit(url).scheme == "https") as client:
        return _answer(client.post(url, content=body, headers=headers))


def _answer(response: Any) -> AppAnswer:
    return AppAnswer(response.status_code, response.content)


def _flask(response: Any) -> AppAnswer:
    return AppAnswer(response.status_code, response.data)


def _django(client: Any, url: str, body: bytes, headers: dict[str, str]) -> AppAnswer:
    response = client.post(
        url, data=body, content_type=headers.get("content-type", "application/json"), headers=headers
    )
    return AppAnswer(response.status_code, response.content)


def _forwarded_headers(delivery: Delivery) -> dict[str, str]:
    return {name: value for name, value in delivery.headers.items() if name not in HOP_BY_HOP}
