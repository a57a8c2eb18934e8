"""The boundaries where ``test app`` kills an application: around a request or a delivery."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from emulator.checks.app.cases import DELIVERY, REQUEST, Case, title_of
from emulator.core.unit_of_work import HttpResult
from emulator.engine.http_client import WebhookSender
from emulator.server.sandbox import Parts
from emulator.web.context import context_of
from emulator.web.errors_on_demand import cut, read_ahead

BEFORE_KILL_SECONDS = 0.25
"""The most seconds (real time) that the application has to act before it is killed."""

ALMOST = 0.7
"""The part of an event's usual time after which the kill comes: most have marked it as seen."""


class Killer:
    """Calls ``kill`` once, at the place of ``case``."""

    def __init__(self, case: Case, kill: Callable[[], object]) -> None:
        self.case = case
        self._kill = kill
        self._seen: set[str] = set()
        self._lock = threading.Lock()
        self._is_over = False
        self.is_due = False
        """Whether the application's next request is not executed any more, but kills it."""
        self.has_struck = False

    def parts(self) -> Parts:
        return Parts(
            sender=lambda response_time: WatchedSender(self, response_time), app=self.watched
        )

    def is_at(self, about: str, title: str, id: str) -> bool:
        """Return whether the kill is at this request or delivery, given by its id."""
        place = self.case.place
        if self.has_struck or (about, title) != (place.about, place.title):
            return False
        self._seen.add(id)
        return len(self._seen) == int(place.match["nth"])

    def strike(self) -> bool:
        """Kill the application unless it has ended already; return whether this call did."""
        with self._lock:
            if self._is_over or self.has_struck:
                return False
            self.has_struck = True
        self._kill()
        return True

    def end(self) -> None:
        """Kill nothing any more: the application has ended by itself."""
        with self._lock:
            self._is_over = True

    def watched(self, app: ASGIApp) -> ASGIApp:
        """Return the application that kills at one of its requests, but executes all of them."""

        async def handle(scope: Scope, receive: Receive, send: Send) -> None:
            async def to_nobody(message: Message) -> None:
                with suppress(OSError):  # the client may be gone
                    await send(message)

            context = context_of(scope)
            if self.is_due and self.strike():
                await cut(context, receive)
                return
            if not self.is_at(REQUEST, title_of(context.method, context.path), context.request_id):
                await app(scope, receive, send)
                return
            _, receive = await read_ahead(receive)
            if self.case.kind.name == "killed-sent":
                self.strike()
                await app(scope, receive, to_nobody)
                return
            await app(scope, receive, send)
            # Whatever the application does next, the world stays as it is: its next request kills
            # it, or BEFORE_KILL_SECONDS ends.
            self.is_due = True
            await asyncio.sleep(BEFORE_KILL_SECONDS)
            self.strike()

        return handle


class WatchedSender(WebhookSender):
    def __init__(self, killer: Killer, response_time: float) -> None:
        super().__init__(response_time)
        self._killer = killer

    async def send(
        self, url: str, headers: dict[str, str], body: bytes, **options: Any
    ) -> HttpResult:
        """Send one attempt; do not acknowledge it if the kill comes before the response."""
        event = json.loads(body) if body else {"type": "", "id": ""}
        sending = asyncio.create_task(super().send(url, headers, body, **options))
        if not self._killer.is_at(DELIVERY, event["type"], event["id"]):
            return await sending
        place, kind = self._killer.case.place, self._killer.case.kind.name
        if kind == "killed-acknowledged":
            result = await sending
            self._killer.strike()
            return result
        if kind == "killed-reading":
            # Its next request kills the application, as long as it handles this delivery.
            self._killer.is_due = True
        else:
            is_at_work = kind == "killed-working"
            _, working = await asyncio.wait(
                [sending], timeout=ALMOST * place.takes if is_at_work else BEFORE_KILL_SECONDS
            )
            if working or not is_at_work:
                self._killer.strike()
        result = await sending
        self._killer.is_due = False
        killed = HttpResult(
            status_code=None, error="the application was killed before it acknowledged"
        )
        return killed if self._killer.has_struck else result
