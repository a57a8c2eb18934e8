"""Forwards webhooks to an application in this process (WSGI or ASGI) or to a URL, and returns its status."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

import httpx

from emulator.testing.collector import Delivery, DeliveryResult

HOP_BY_HOP = frozenset(["host", "connection", "content-length", "transfer-encoding", "accept-encoding"])
"""Headers of the connection, which are not forwarded."""

APPLICATION_URL = "http://localhost"
"""The root URL that an application in this process sees."""


def forwarder(target: Any, path: str) -> Callable[[Delivery], DeliveryResult]:
    """A function that forwards deliveries to ``target`` unchanged, so that their signatures stay valid.

    ``target`` is a URL, or an application that is called at ``path``. Raises ``TypeError`` if it is neither.
    """
    if isinstance(target, str):
        return lambda delivery: _result(lambda: _call(target, delivery, None))
    if not callable(target):
        raise TypeError(f"{target!r}: a URL, a WSGI application or an ASGI application")
    if _is_asgi(target):
        return lambda delivery: _result(lambda: asyncio.run(_call_asgi(target, path, delivery)))
    return lambda delivery: _result(lambda: _call(APPLICATION_URL + path, delivery, httpx.WSGITransport(target)))


def _is_asgi(target: Any) -> bool:
    return inspect.iscoroutinefunction(target) or inspect.iscoroutinefunction(type(target).__call__)


def _result(call: Callable[[], int]) -> DeliveryResult:
    """The status of the application; 500 and the error if it raised one."""
    try:
        return DeliveryResult(call())
    except Exception as error:  # any error of the application is a failed delivery, which the report shows
        return DeliveryResult(500, f"{type(error).__name__}: {error}")


def _call(url: str, delivery: Delivery, transport: httpx.BaseTransport | None) -> int:
    with httpx.Client(transport=transport, trust_env=False, verify=url.startswith("https:")) as client:
        return client.post(url, content=delivery.body, headers=_forwarded_headers(delivery)).status_code


async def _call_asgi(app: Any, path: str, delivery: Delivery) -> int:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app)) as client:
        return (
            await client.post(APPLICATION_URL + path, content=delivery.body, headers=_forwarded_headers(delivery))
        ).status_code


def _forwarded_headers(delivery: Delivery) -> dict[str, str]:
    return {name: value for name, value in delivery.headers.items() if name not in HOP_BY_HOP}
