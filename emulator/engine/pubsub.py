"""News: what happens in one world, told at once to whoever listens; nobody who listens is waited for."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

from emulator.core.events import Event
from emulator.core.unit_of_work import Change, UnitOfWork
from emulator.resources.sandbox.emails import Email
from emulator.resources.webhooks.deliveries import WebhookDelivery

KINDS = ("request", "event", "delivery", "email", "clock", "reset")

MAX_WAITING = 1000
"""News that wait for one listener; a slow one loses the oldest."""

TICK = 0.25
"""Seconds (real time) between two pieces of news about a clock on its way."""


class Message(NamedTuple):
    """One piece of news. ``about`` is the record, or what tells of it; numbers run on in each world."""

    number: int
    kind: str
    about: Any


class Subscriber:
    """Whoever is told. ``lost`` counts the news that were too many for it."""

    def __init__(self, kinds: Collection[str]) -> None:
        self.lost = 0
        self._kinds = frozenset(kinds)
        self._waiting: deque[Message] = deque(maxlen=MAX_WAITING)
        self._wakeup = asyncio.Event()
        self._at_end = False

    def put(self, news: Message) -> None:
        """Put it with those that wait."""
        if news.kind in self._kinds:
            self.lost += len(self._waiting) == MAX_WAITING
            self._waiting.append(news)
            self._wakeup.set()

    def end(self) -> None:
        """There will be no more news."""
        self._at_end = True
        self._wakeup.set()

    async def next_batch(self, patience: float) -> list[Message]:
        """All that waits, as soon as there is any; nothing once so many seconds (real time) went by, or at the end."""
        with suppress(TimeoutError):
            async with asyncio.timeout(patience):
                await self._wakeup.wait()
        if not self._at_end:
            self._wakeup.clear()
        heard, self._waiting = list(self._waiting), deque(maxlen=MAX_WAITING)
        return heard


class Broker:
    """The listeners of one world; ``over`` is set when there will be no more news."""

    def __init__(self) -> None:
        self.closed = asyncio.Event()
        self._subscribers: set[Subscriber] = set()
        self._published = 0
        self._ticked = 0.0

    @contextmanager
    def subscribe(self, kinds: Collection[str]) -> Iterator[Subscriber]:
        """A listener who is told news of these kinds, as long as this lasts."""
        listener = Subscriber(kinds)
        if self.closed.is_set():
            listener.end()
        self._subscribers.add(listener)
        try:
            yield listener
        finally:
            self._subscribers.discard(listener)

    def publish_unit(self, kind: str, about: Any) -> None:
        """Tell everyone."""
        if self._subscribers:
            self._published += 1
            news = Message(self._published, kind, about)
            for listener in self._subscribers:
                listener.put(news)

    def publish(self, turn: UnitOfWork) -> None:
        """Tell what a turn that was kept brought about."""
        if self._subscribers:
            for change in turn.changes:
                if (kind := _kind(change)) is not None:
                    self.publish_unit(kind, change.new)

    def tick(self, read: Callable[[], Any]) -> None:
        """Tell how far the clock is on its way, now and then."""
        # The loop's own time: a test that freezes the clocks of this process does not freeze that one.
        if self._subscribers and (now := asyncio.get_running_loop().time()) >= self._ticked + TICK:
            self._ticked = now
            self.publish_unit("clock", read())

    def close(self) -> None:
        """The end for everyone who listens, now or later."""
        self.closed.set()
        for listener in self._subscribers:
            listener.end()


def _kind(change: Change) -> str | None:
    """What kind of news a change is; most are none."""
    match change:
        case Change(old=None, new=Event()):
            return "event"
        case Change(old=None, new=Email()):
            return "email"
        case Change(old=WebhookDelivery() as old, new=WebhookDelivery() as new) if _attempted(old, new):
            return "delivery"
    return None


def _attempted(old: WebhookDelivery, new: WebhookDelivery) -> bool:
    """Whether an attempt has its outcome, or will never be made."""
    return new.attempt_count > old.attempt_count or (old.status, new.status) == ("pending", "failed")


def restarted(cause: str, now: str, **more: Any) -> dict[str, Any]:
    """The news that what was known of a world is no longer so, and why."""
    return {"cause": cause, "now": now, **more}
