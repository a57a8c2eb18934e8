"""Publish and subscribe: the messages about one world, whose followers cannot hold it up."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import Any, NamedTuple

from emulator.core.errors import ApiError
from emulator.core.events import Event
from emulator.core.limits import STREAMS
from emulator.core.unit_of_work import Change, UnitOfWork
from emulator.resources.simulation.emails import Email
from emulator.resources.webhooks.deliveries import WebhookDelivery

KINDS = ("request", "event", "delivery", "email", "clock", "reset")

MAX_WAITING = 1000
"""Messages that wait for one subscriber; a slow one loses the oldest."""

CLOCK_SECONDS = 0.25
"""Seconds (real time) between two messages about a clock that advances."""


class Message(NamedTuple):
    """One message. ``about`` is the record, or what is said of it; each world numbers its messages from 1."""

    number: int
    kind: str
    about: Any


class Subscriber:
    """One queue of messages of certain kinds. ``lost`` counts the messages that were too many for it."""

    def __init__(self, kinds: Collection[str]) -> None:
        self.lost: int = 0
        self._kinds = frozenset(kinds)
        self._waiting: deque[Message] = deque(maxlen=MAX_WAITING)
        self._wakeup = asyncio.Event()
        self._ended = False

    def put(self, message: Message) -> None:
        if message.kind in self._kinds:
            self.lost += len(self._waiting) == MAX_WAITING
            self._waiting.append(message)
            self._wakeup.set()

    def end(self) -> None:
        self._ended = True
        self._wakeup.set()

    async def next_batch(self, timeout: float) -> list[Message]:
        """Return all that waits, as soon as there is any; empty after ``timeout`` seconds (real time), or at the end."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                await self._wakeup.wait()
        if not self._ended:
            self._wakeup.clear()
        batch, self._waiting = list(self._waiting), deque(maxlen=MAX_WAITING)
        return batch


class Broker:
    def __init__(self) -> None:
        self._subscribers: list[Subscriber] = []
        self._is_closed = False
        self._published = 0
        self._ticked = 0.0

    @cached_property
    def closed(self) -> asyncio.Event:
        """Set when there will be no more messages. Made when it is first asked for: few worlds are followed."""
        event = asyncio.Event()
        if self._is_closed:
            event.set()
        return event

    @contextmanager
    def subscribe(self, kinds: Collection[str]) -> Iterator[Subscriber]:
        """Subscribe to messages of these kinds while the context lasts. Raises 429 if there are too many subscribers."""
        if len(self._subscribers) >= STREAMS.most:
            message = f"The world has {STREAMS.most} open streams and held polls already."
            raise ApiError("TOO_MANY_REQUESTS", message=message, retry_after=1)
        subscriber = Subscriber(kinds)
        if self._is_closed:
            subscriber.end()
        self._subscribers.append(subscriber)
        try:
            yield subscriber
        finally:
            self._subscribers.remove(subscriber)

    @property
    def is_followed(self) -> bool:
        return bool(self._subscribers)

    def publish(self, kind: str, about: Any) -> None:
        if self._subscribers:
            self._published += 1
            message = Message(self._published, kind, about)
            for subscriber in self._subscribers:
                subscriber.put(message)

    def publish_unit(self, unit: UnitOfWork) -> None:
        if self._subscribers:
            for change in unit.changes:
                if (kind := _kind(change)) is not None:
                    self.publish(kind, change.new)

    def tick(self, read: Callable[[], Any]) -> None:
        """Publish where the clock is, if the last such message is ``CLOCK_SECONDS`` old."""
        # The loop's own time, which a test that freezes the clocks of this process does not freeze.
        if self._subscribers and (now := asyncio.get_running_loop().time()) >= self._ticked + CLOCK_SECONDS:
            self._ticked = now
            self.publish("clock", read())

    def close(self) -> None:
        self._is_closed = True
        self.closed.set()
        for subscriber in self._subscribers:
            subscriber.end()


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
    """Return the message of kind ``reset``: what was known of the world no longer holds, because of ``cause``."""
    return {"cause": cause, "now": now, **more}
