"""The broker of a world: it gives each request and each event as a message to all who follow it.

Each follower has a queue of messages, and cannot hold the world up.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import Any, NamedTuple

from emulator.core.errors import ApiError
from emulator.core.limits import STREAMS
from emulator.core.unit_of_work import Change, Event
from emulator.resources.simulation.emails import Email
from emulator.resources.webhooks.deliveries import WebhookDelivery

KINDS = ("request", "event", "delivery", "email", "clock", "reset")

MAX_WAITING_MESSAGES = 1000
"""Messages that wait for one subscriber; a slow one loses the oldest."""

CLOCK_SECONDS = 0.25
"""Seconds (real time) between two messages about a clock that advances."""


class Message(NamedTuple):
    """One message. ``about`` is the record or facts of it; each world counts messages from 1."""

    number: int
    kind: str
    about: Any


class Subscriber:
    """One queue of messages of certain kinds. ``lost`` counts the messages beyond its limit."""

    def __init__(self, kinds: Collection[str]) -> None:
        self.lost: int = 0
        self._kinds = frozenset(kinds)
        self._waiting: deque[Message] = deque(maxlen=MAX_WAITING_MESSAGES)
        self.wakeup: asyncio.Event = asyncio.Event()

    def put(self, message: Message) -> None:
        if message.kind in self._kinds:
            self.lost += len(self._waiting) == MAX_WAITING_MESSAGES
            self._waiting.append(message)
            self.wakeup.set()

    async def next_batch(self, timeout: float) -> list[Message]:
        """Return all waiting messages, at once if any; empty after ``timeout`` (real seconds)."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                await self.wakeup.wait()
        self.wakeup.clear()
        batch, self._waiting = list(self._waiting), deque(maxlen=MAX_WAITING_MESSAGES)
        return batch


class Broker:
    def __init__(self) -> None:
        self.subscribers: list[Subscriber] = []
        self._published = 0
        self._ticked = 0.0

    @cached_property
    def closed(self) -> asyncio.Event:
        """Set when no more messages follow. Made on first use: few worlds are followed."""
        return asyncio.Event()

    @contextmanager
    def subscribe(self, kinds: Collection[str]) -> Iterator[Subscriber]:
        """Subscribe to these kinds while the context lasts. Raises 429 for too many subscribers."""
        if len(self.subscribers) >= STREAMS.most:
            message = f"The world has {STREAMS.most} open streams and held polls already."
            raise ApiError("TOO_MANY_REQUESTS", message=message, retry_after=1)
        subscriber = Subscriber(kinds)
        self.subscribers.append(subscriber)
        try:
            yield subscriber
        finally:
            self.subscribers.remove(subscriber)

    def publish(self, kind: str, about: Any) -> None:
        if self.subscribers:
            self._published += 1
            message = Message(self._published, kind, about)
            for subscriber in self.subscribers:
                subscriber.put(message)

    def publish_changes(self, changes: Iterable[Change]) -> None:
        for change in changes:
            if (kind := _kind(change)) is not None:
                self.publish(kind, change.new)

    def tick(self, read: Callable[[], Any]) -> None:
        """Publish where the clock is, if the last such message is ``CLOCK_SECONDS`` old."""
        # The loop's own time, which a test that freezes the clocks of this process does not freeze.
        if (
            self.subscribers
            and (now := asyncio.get_running_loop().time()) >= self._ticked + CLOCK_SECONDS
        ):
            self._ticked = now
            self.publish("clock", read())

    def close(self) -> None:
        self.closed.set()
        for subscriber in self.subscribers:
            subscriber.wakeup.set()


def _kind(change: Change) -> str | None:
    """Return the kind of message a change is published as; None for most changes."""
    match change:
        case Change(old=None, new=Event()):
            return "event"
        case Change(old=None, new=Email()):
            return "email"
        case Change(old=WebhookDelivery() as old, new=WebhookDelivery() as new):
            # An attempt has its outcome, or will never be made.
            is_over = (old.status, new.status) == ("pending", "failed")
            return "delivery" if is_over or new.attempt_count > old.attempt_count else None
    return None


def restarted(cause: str, now: str, **more: Any) -> dict[str, Any]:
    """Return the message of kind ``reset``: ``cause`` ends all that was known of the world."""
    return {"cause": cause, "now": now, **more}
