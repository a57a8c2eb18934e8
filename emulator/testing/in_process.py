"""Webhooks passed on to an application of this process (WSGI or ASGI) or to any URL, whose answer is the emulator's."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

import httpx

from emulator.testing.collector import Delivery, DeliveryResult

HOP_BY_HOP = frozenset(["host", "connection", "content-length", "transfer-encoding", "accept-encoding"])
"""Headers that are about a connection and not about what is sent."""

INSIDE = "http://localhost"
"""The address an application of this process believes it was called at."""


def passing_on(target: Any, path: str) -> Callable[[Delivery], DeliveryResult]:
    """What passes deliveries on to ``target``, unchanged, so that a signature stays good.

    ``target`` is a URL, or an application that is called at ``path``. Raises ``TypeError`` if it is neither.
    """
    if isinstance(target, str):
        return lambda delivery: _told(lambda: _call(target, delivery, None))
    if not callable(target):
        raise TypeError(f"{target!r}: a URL, a WSGI application or an ASGI application")
    if _is_asgi(target):
        return lambda delivery: _told(lambda: asyncio.run(_call_asgi(target, path, delivery)))
    return lambda delivery: _told(lambda: _call(INSIDE + path, delivery, httpx.WSGITransport(target)))


def _is_asgi(target: Any) -> bool:
    return inspect.iscoroutinefunction(target) or inspect.iscoroutinefunction(type(target).__call__)


def _told(call: Callable[[], int]) -> DeliveryResult:
    """The status it answered with; 500 and the reason if it raised instead."""
    try:
        return DeliveryResult(call())
    except Exception as fault:  # the application's failure is a failed delivery, and shown to whoever looks
        return DeliveryResult(500, f"{type(fault).__name__}: {fault}")


def _call(url: str, delivery: Delivery, transport: httpx.BaseTransport | None) -> int:
    with httpx.Client(transport=transport, trust_env=False, verify=url.startswith("https:")) as client:
        return client.post(url, content=delivery.body, headers=_kept(delivery)).status_code


async def _call_asgi(app: Any, path: str, delivery: Delivery) -> int:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app)) as client:
        return (await client.post(INSIDE + path, content=delivery.body, headers=_kept(delivery))).status_code


def _kept(delivery: Delivery) -> dict[str, str]:
    return {name: value for name, value in delivery.headers.items() if name not in HOP_BY_HOP}
