"""The database connections of a Django test, for an application that a delivery calls.

No other connection sees the changes of a test that runs in a transaction, so the application uses
the test's own, as in Django's live server it uses that of SQLite in memory. Imported for a Django
project alone.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from asgiref.sync import ThreadSensitiveContext, sync_to_async
from django.db import connections
from django.utils.connection import ConnectionProxy

from emulator.client.api import Api
from emulator.client.messages import ApiResponse
from emulator.core.limits import RECEIVER_SECONDS
from emulator.testing.database import Database

BORROWS: ContextVar[bool] = ContextVar("BORROWS", default=False)
"""Whether the application runs here, called by a delivery."""

INTERVAL = 0.05
"""Seconds (real time) between looks at whether the test is in a transaction still."""

INTERVALS = 160
"""How many of them a delivery waits: 8 seconds, fewer than an application has to respond."""


class LentConnection(ConnectionProxy):
    """A test's connection, which stays open when the request that uses it ends."""

    def __init__(self, connection: Any) -> None:
        super().__init__({connection.alias: connection}, connection.alias)

    def close(self) -> None:
        return

    def close_if_unusable_or_obsolete(self) -> None:
        return


class LentConnections(Database):
    """The connections of the thread that creates this object, lent to one delivery at a time.

    They are lent while the test waits for the emulator: used by two threads at once, savepoints
    would end each other.
    """

    def __init__(self) -> None:
        self._own = connections.all()
        self._thread = threading.get_ident()
        self._changed = threading.Condition()
        self._waiting = 0
        self._is_lent = False

    def api(self, *options: Any) -> Api:
        return LendingApi(self, *options)

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Lend the connections while the test waits, and until the delivery under way ends."""
        if BORROWS.get():
            yield
            return
        with self._changed:
            self._waiting += 1
            self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self._changed.wait_for(lambda: not self._is_lent, RECEIVER_SECONDS)
                self._waiting -= 1

    def _take(self) -> list[Any]:
        """Return the connections that are in a transaction, when it is this thread's turn."""
        with self._changed:
            for _ in range(INTERVALS):
                lent = [connection for connection in self._own if connection.in_atomic_block]
                # An asynchronous test has its synchronous code run in its own thread, in turn.
                if not lent or threading.get_ident() == self._thread:
                    return lent
                if self._waiting and not self._is_lent:
                    self._is_lent = True
                    return lent
                self._changed.wait(INTERVAL)
        raise TimeoutError(
            "The test is in a transaction, which a webhook sees while the test waits for the"
            " emulator: call payments.settle() or another of its methods."
        )

    def _give_back(self) -> None:
        with self._changed:
            self._is_lent = False
            self._changed.notify_all()

    @contextmanager
    def _used(self) -> Iterator[None]:
        """Use the connections in this thread, whose own ones come back afterwards."""
        lent = self._take()
        before = {connection.alias: connections[connection.alias] for connection in lent}
        for connection in lent:
            connection.inc_thread_sharing()
            connections[connection.alias] = LentConnection(connection)
        try:
            yield
        finally:
            for connection in lent:
                connections[connection.alias] = before[connection.alias]
                connection.dec_thread_sharing()
            if lent and threading.get_ident() != self._thread:
                self._give_back()

    def wsgi(self, app: Any) -> Any:
        """Return the application, which uses the connections in the thread that calls it."""

        def call(environ: Any, start_response: Any) -> Iterator[bytes]:
            BORROWS.set(True)
            with self._used():
                response = app(environ, start_response)
                try:
                    yield from response
                finally:
                    getattr(response, "close", lambda: None)()

        return call

    def asgi(self, app: Any) -> Any:
        """Return the application, which uses them in the thread of its synchronous code."""

        async def call(scope: Any, receive: Any, send: Any) -> None:
            BORROWS.set(True)
            used = self._used()
            async with ThreadSensitiveContext():
                await sync_to_async(used.__enter__)()
                try:
                    await app(scope, receive, send)
                finally:
                    await sync_to_async(used.__exit__)(None, None, None)

        return call


class LendingApi(Api):
    """The client of a Django test."""

    def __init__(self, lent: LentConnections, *options: Any) -> None:
        super().__init__(*options)
        self._lent = lent

    def request(self, method: str, path: str, **options: Any) -> ApiResponse:
        with self._lent.waiting():
            return super().request(method, path, **options)
