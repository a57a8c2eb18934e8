"""The network: webhook receivers that succeed, fail, answer late, lie or call back, as the story sets them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from emulator.engine.http_client import RequestFailed

STATUSES = {"succeeds": 200, "accepts": 202, "fails": 503, "rejects": 404, "answers late": 200, "calls back": 200}
BEHAVIOURS = (*STATUSES, "hangs", "is down")

WAY = 0.003
"""Seconds for a request there and back."""

LATE = 0.4
ANSWER_TIME = 1.0
"""Seconds that receivers have to answer."""

MOST_CALLS = 200
"""Times that receivers call back in one story. What they cause is delivered to them again: it might never end."""


class Network:
    """Stands in the place of the HTTP client that sends webhooks.

    ``received`` are the ids of the deliveries that were answered 200; ``call_back`` is what a receiver does that calls
    the emulator while it handles a delivery.
    """

    def __init__(self) -> None:
        self.behaviours: dict[str, str] = {}
        self.received: set[str] = set()
        self.call_back: Callable[[str], Awaitable[object]]
        self._calls = 0

    async def send(self, url: str, headers: dict[str, str], body: Any, **others: Any) -> tuple[int, str]:
        """As :meth:`HttpClient.send` does; requests of the same moment need not wait for each other here."""
        behaviour = self.behaviours.get(url, "succeeds")
        await asyncio.sleep(LATE if behaviour == "answers late" else WAY)
        if behaviour == "hangs":
            await asyncio.sleep(1000 * ANSWER_TIME)
        if behaviour == "is down":
            raise RequestFailed("cannot connect")
        if behaviour == "calls back" and self._calls < MOST_CALLS:
            self._calls += 1
            # A request of its own, which goes on if the delivery does not wait for it.
            await asyncio.shield(asyncio.ensure_future(self.call_back(url)))
        status = STATUSES[behaviour]
        if status == 200:
            self.received.add(headers.get("Emulator-Delivery", ""))
        return status, "{}"
