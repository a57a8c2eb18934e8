"""An ASGI application of this process on one event loop, with its lifespan, as a server runs it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, MutableMapping
from concurrent.futures import wait
from contextlib import suppress
from typing import Any

from emulator.server.event_loop import RealTimeLoop
from emulator.testing.loop_calls import may_wait_for

AsgiMessage = MutableMapping[str, Any]

TIME_LIMIT = 30
"""Seconds (real time) for the application to start, and to shut down."""


class AsgiApp:
    """The application runs on the loop that is given, or on one in a thread of its own, until ``close``.

    With ``lifespan`` it is started now, and what its start raises is raised here. An application that knows no lifespan
    is called without one.
    """

    def __init__(self, app: Any, loop: asyncio.AbstractEventLoop | None, *, lifespan: bool) -> None:
        self._app = app
        self._given = loop
        self.loop = loop or _loop_in_thread()
        self._state: dict[str, Any] = {}
        self._lifespan = Lifespan(app, self._state) if lifespan else None
        if self._lifespan:
            try:
                self._wait(self._lifespan.start(), "start")
            except BaseException:
                self._stop_loop()
                raise

    async def call(self, scope: AsgiMessage, receive: Any, send: Any) -> None:
        """The application, with the state that its lifespan has filled."""
        await self._app({**scope, "state": self._state.copy()}, receive, send)

    def close(self) -> None:
        """Shut the application down and stop its own loop. Raises ``TimeoutError`` if it does not end."""
        try:
            if self._lifespan and may_wait_for(self.loop):
                self._wait(self._lifespan.stop(), "shut down")
        finally:
            self._stop_loop()

    def _wait(self, coroutine: Coroutine[Any, Any, None], what: str) -> None:
        future = asyncio.run_coroutine_threadsafe(coroutine, self.loop)
        if wait([future], TIME_LIMIT).not_done:
            future.cancel()
            raise TimeoutError(f"the application did not {what} within {TIME_LIMIT} s")
        future.result()

    def _stop_loop(self) -> None:
        if self._given is None and not self.loop.is_closed():
            try:
                self._wait(_cancel_others(), "end its tasks")
            finally:
                self.loop.call_soon_threadsafe(self.loop.stop)


class Lifespan:
    """The lifespan protocol, in a task of its own, so that start and shutdown run in the same context."""

    def __init__(self, app: Any, state: dict[str, Any]) -> None:
        self._app = app
        self._state = state
        self._to_app: asyncio.Queue[AsgiMessage] = asyncio.Queue()
        self._from_app: asyncio.Queue[AsgiMessage] = asyncio.Queue()
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Start the application. Raises ``RuntimeError`` if it says that it failed."""
        self._task = asyncio.create_task(self._run())
        message = await self._exchange("startup")
        if message and message["type"] == "lifespan.startup.failed":
            raise RuntimeError(f"the application did not start: {message.get('message') or 'its lifespan failed'}")

    async def stop(self) -> None:
        """Shut the application down, if it knows a lifespan. Raises what it raises."""
        if self._task is None or self._task.done():
            return
        await self._exchange("shutdown")
        await self._task

    async def _run(self) -> None:
        scope = {"type": "lifespan", "asgi": {"version": "3.0", "spec_version": "2.0"}, "state": self._state}
        await self._app(scope, self._to_app.get, self._from_app.put)

    async def _exchange(self, phase: str) -> AsgiMessage | None:
        """The application's answer to a phase; None if it ended, or raised, without one: it knows no lifespan."""
        assert self._task
        self._to_app.put_nowait({"type": f"lifespan.{phase}"})
        answer = asyncio.ensure_future(self._from_app.get())
        await asyncio.wait([answer, self._task], return_when=asyncio.FIRST_COMPLETED)
        if answer.done():
            return answer.result()
        answer.cancel()
        # An application without a lifespan raises or returns. One whose start fails says so before it raises.
        self._task.exception()
        return None


def _loop_in_thread() -> asyncio.AbstractEventLoop:
    """A new event loop that runs in a thread until it is stopped, and is then closed."""
    loop = RealTimeLoop()

    def run() -> None:
        asyncio.set_event_loop(loop)
        loop.run_forever()
        loop.close()

    threading.Thread(target=run, name="payments-emulator-asgi", daemon=True).start()
    return loop


async def _cancel_others() -> None:
    """Cancel every other task of this loop and wait for them."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    with suppress(asyncio.CancelledError):
        await asyncio.gather(*others, return_exceptions=True)
    await asyncio.get_running_loop().shutdown_asyncgens()
