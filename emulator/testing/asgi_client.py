"""The test client of an ASGI application (Starlette, FastAPI, Litestar) as a target of deliveries."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError
from functools import partial
from typing import Any, TypeVar

import httpx

from emulator.server.event_loop import RealTimeLoop
from emulator.testing.asgi_app import AsgiMessage
from emulator.testing.collector import Delivery
from emulator.testing.forward_target import AppAnswer, answer_of, forwarded_headers
from emulator.testing.loop_calls import AwaitedFutures

T = TypeVar("T")

TEST_CLIENT = ("testclient", 50000)
"""The address that the application sees, which is that of these clients."""


class AsgiClient:
    """Calls the client's application on the client's loop, with the client's base URL, headers and cookies.

    The client's own ``post`` goes to its loop several times for one request. A client that is closed between two of
    them waits for the application for ever, and the application for the thread that can no longer reach it. A whole
    request that is one task of the loop ends by itself, and the client that closes waits for that.
    """

    is_running = True

    def __init__(self, client: Any, path: str) -> None:
        self._client = client
        self._path = path
        self._was_open = self._portal is not None
        self._waiting = AwaitedFutures()
        self.cancel = self._waiting.cancel

    @property
    def _portal(self) -> Any:
        """What starts tasks on the client's loop, within its ``with`` block."""
        portals = (getattr(self._client, name, None) for name in ("portal", "blocking_portal"))
        return next((each for each in portals if hasattr(each, "start_task_soon")), None)

    def send(self, delivery: Delivery) -> AppAnswer:
        """Call the application; on a loop for this call alone, as the client does, if it was not opened yet."""
        portal, post = self._portal, partial(self._post, delivery)
        if portal is not None:
            self._was_open = True
            try:
                future = portal.start_task_soon(_in_task, post)
            except RuntimeError:  # it has just been closed
                raise CancelledError from None
            answer: AppAnswer = self._waiting.result(future)
            return answer
        if self._was_open:
            raise CancelledError
        with asyncio.Runner(loop_factory=RealTimeLoop) as runner:
            return runner.run(post())

    def close(self) -> None:
        """Nothing: the client belongs to the test."""

    async def _post(self, delivery: Delivery) -> AppAnswer:
        client = self._client
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(self._call, client=TEST_CLIENT),
            base_url=str(client.base_url),
            headers=client.headers.multi_items(),
            cookies=client.cookies.jar,
            follow_redirects=client.follow_redirects,
        ) as own:
            return answer_of(await own.post(self._path, content=delivery.body, headers=forwarded_headers(delivery)))

    async def _call(self, scope: AsgiMessage, receive: Any, send: Any) -> None:
        state = getattr(self._client, "app_state", {}).copy()
        await self._client.app({**scope, "state": state}, receive, send)


async def _in_task(call: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """The result of a call, which is left alone if this is cancelled: a view in a thread may not end when it should."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:  # trio has no such tasks
        return await call()
    task = loop.create_task(call())
    try:
        await asyncio.wait([task])
    finally:
        task.cancel()
    return task.result()
