"""Forwards webhooks to an application in this process (WSGI or ASGI), to its test client, or to a URL.

An ASGI application runs on one event loop, with its lifespan, as a server runs it. Calls of coroutines on loops of other
threads end with the loop or before it.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable, Coroutine, MutableMapping
from concurrent.futures import CancelledError, Future, wait
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx

from emulator.server.event_loop import RealTimeLoop
from emulator.testing.collector import AppAnswer, Delivery, ForwardTarget, answer_of, forwarded_headers

# -- calls of coroutines on event loops of other threads


T = TypeVar("T")

CoroutineFunction = Callable[[], Coroutine[Any, Any, T]]
"""Called on its loop, so that no coroutine is made that never runs there."""


class AwaitedFutures:
    """Futures that threads wait for, until ``cancel``."""

    def __init__(self) -> None:
        self._futures: set[Future[Any]] = set()

    def result(self, future: Future[T]) -> T:
        """Return or raise the result of the future; ``CancelledError`` after ``cancel``."""
        self._futures.add(future)
        try:
            return future.result()
        finally:
            self._futures.discard(future)

    def cancel(self) -> None:
        for future in self._futures.copy():
            future.cancel()


class LoopCalls:
    """Calls on a loop that runs, until it is being closed: then ``_live``, like all its tasks, is canceled."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiting = AwaitedFutures()
        self._is_over = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._host = asyncio.run_coroutine_threadsafe(self._live(), loop)

    def run(self, make: CoroutineFunction[T]) -> T:
        """Return the result of a call; for any other thread than the loop's. Raises ``CancelledError`` when it is over."""
        future: Future[T] = Future()
        try:
            self._loop.call_soon_threadsafe(self._start, make, future)
        except RuntimeError:  # the loop is closed
            raise CancelledError from None
        return self._waiting.result(future)

    def cancel(self) -> None:
        self._waiting.cancel()
        self._soon(lambda: [task.cancel() for task in self._tasks])

    def close(self) -> None:
        self._soon(self._host.cancel)

    def _soon(self, call: Callable[[], object]) -> None:
        with suppress(RuntimeError):  # the loop is closed, and all has ended with it
            self._loop.call_soon_threadsafe(call)

    async def _live(self) -> None:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            self._is_over = True
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def _start(self, make: CoroutineFunction[T], future: Future[T]) -> None:
        if self._is_over or future.cancelled():
            future.cancel()
            return
        task = self._loop.create_task(_fulfil(make, future))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _fulfil(make: CoroutineFunction[T], future: Future[T]) -> None:
    try:
        result = await make()
    except asyncio.CancelledError:
        future.cancel()
        raise
    except BaseException as error:  # raised again in the thread that waits
        if future.set_running_or_notify_cancel():
            future.set_exception(error)
    else:
        if future.set_running_or_notify_cancel():
            future.set_result(result)


def may_wait_for(loop: asyncio.AbstractEventLoop) -> bool:
    """Return whether a loop runs and this thread, which would hold it up, may wait for it."""
    try:
        return loop.is_running() and loop is not asyncio.get_running_loop()
    except RuntimeError:  # this thread runs none
        return True


# -- an ASGI application


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
        """Return the application's answer to a phase; None if it ended, or raised, without one: it knows no lifespan."""
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
    """Return a new event loop that runs in a thread until it is stopped, and is then closed."""
    loop = RealTimeLoop()

    def run() -> None:
        asyncio.set_event_loop(loop)
        loop.run_forever()
        loop.close()

    threading.Thread(target=run, name="payments-emulator-asgi", daemon=True).start()
    return loop


async def _cancel_others() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    with suppress(asyncio.CancelledError):
        await asyncio.gather(*others, return_exceptions=True)
    await asyncio.get_running_loop().shutdown_asyncgens()


# -- the test client of an ASGI application (Starlette, FastAPI)


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
        self._was_open = client.portal is not None
        self._waiting = AwaitedFutures()
        self.cancel = self._waiting.cancel

    def send(self, delivery: Delivery) -> AppAnswer:
        """Call the application; on a loop for this call alone, as the client does, if it was not opened yet."""
        # What starts tasks on the client's loop, within its ``with`` block.
        portal, post = self._client.portal, partial(self._post, delivery)
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
        """Do nothing: the client belongs to the test."""

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
        await self._client.app({**scope, "state": self._client.app_state.copy()}, receive, send)


async def _in_task(call: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Return the result of a call, which is left alone if this is cancelled: a view in a thread may not end when it should."""
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


# -- targets


APPLICATION_URL = "http://localhost"
"""The root URL that an application in this process sees."""

SyncCall = Callable[[str, bytes, dict[str, str]], AppAnswer]
"""A function of the URL, the body and the headers."""

AsyncCall = Callable[[str, bytes, dict[str, str]], Coroutine[Any, Any, AppAnswer]]
"""The same, on an event loop."""


class InThread:
    is_running = True

    def __init__(self, url: str, call: SyncCall) -> None:
        self._url = url
        self._call = call

    def send(self, delivery: Delivery) -> AppAnswer:
        return self._call(self._url, delivery.body, forwarded_headers(delivery))

    def cancel(self) -> None:
        """Do nothing: a thread cannot be interrupted."""

    def close(self) -> None:
        """Do nothing: each call releases what it needs."""


class OnLoop:
    """A target that a coroutine function calls on an event loop; ``end`` is called at last."""

    def __init__(
        self, url: str, call: AsyncCall, loop: asyncio.AbstractEventLoop, end: Callable[[], None] = lambda: None
    ) -> None:
        self._url = url
        self._call = call
        self._loop = loop
        self._end = end
        self._calls = LoopCalls(loop)
        self.cancel = self._calls.cancel

    @property
    def is_running(self) -> bool:
        """Whether its loop runs, and in another thread."""
        return may_wait_for(self._loop)

    def send(self, delivery: Delivery) -> AppAnswer:
        return self._calls.run(lambda: self._call(self._url, delivery.body, forwarded_headers(delivery)))

    def close(self) -> None:
        """Take no more calls, and end what they needed."""
        self._calls.close()
        self._end()


def target_of(target: Any, path: str, loop: asyncio.AbstractEventLoop | None, *, lifespan: bool) -> ForwardTarget:
    """Return the forwarder to ``target``: a URL, or an application or its test client, called at ``path``.

    An ASGI application runs on ``loop``, or else on one of its own. Raises ``TypeError`` if it is none of these, and
    what its lifespan raises.
    """
    if isinstance(target, str):
        return InThread(target, lambda *request: _post(None, *request))
    if client := _client(target, path, loop):
        return client
    if not callable(target):
        raise TypeError(f"{target!r}: a URL, a WSGI application, an ASGI application, or a test client")
    if inspect.iscoroutinefunction(target) or inspect.iscoroutinefunction(type(target).__call__):
        app = AsgiApp(target, loop, lifespan=lifespan)
        return OnLoop(APPLICATION_URL + path, lambda *request: _post_on_loop(app, *request), app.loop, app.close)
    return InThread(APPLICATION_URL + path, lambda *request: _post(httpx.WSGITransport(target), *request))


def _client(target: Any, path: str, loop: asyncio.AbstractEventLoop | None) -> ForwardTarget | None:
    """Return the forwarder to a client: of Starlette and FastAPI, of httpx, of Flask, or of Django."""
    post = getattr(target, "post", None)
    if not callable(post):
        return None
    if inspect.iscoroutinefunction(post):
        return _async_client(target, path, loop)
    if hasattr(target, "build_request") and hasattr(target, "portal"):
        return AsgiClient(target, path)
    calls: dict[str, SyncCall] = {
        "build_request": lambda url, body, headers: answer_of(post(url, content=body, headers=headers)),
        "open": lambda url, body, headers: _flask(target, url, body, headers),
        "generic": lambda url, body, headers: _django(target, url, body, headers),
    }
    return next((InThread(path, call) for name, call in calls.items() if hasattr(target, name)), None)


def _async_client(target: Any, path: str, loop: asyncio.AbstractEventLoop | None) -> ForwardTarget:
    if loop is None or not hasattr(target, "build_request"):
        raise TypeError(
            f"{target!r}: an asynchronous client; forward to the application itself"
            + (", or await forward_to() of an AsyncEmulator" if hasattr(target, "build_request") else "")
        )

    async def post(url: str, body: bytes, headers: dict[str, str]) -> AppAnswer:
        return answer_of(await target.post(url, content=body, headers=headers))

    return OnLoop(path, post, loop)


def _post(transport: httpx.BaseTransport | None, url: str, body: bytes, headers: dict[str, str]) -> AppAnswer:
    with httpx.Client(transport=transport, trust_env=False, verify=urlsplit(url).scheme == "https") as client:
        return answer_of(client.post(url, content=body, headers=headers))


async def _post_on_loop(app: AsgiApp, url: str, body: bytes, headers: dict[str, str]) -> AppAnswer:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app.call)) as client:
        return answer_of(await client.post(url, content=body, headers=headers))


def _flask(client: Any, url: str, body: bytes, headers: dict[str, str]) -> AppAnswer:
    # In its "with" block a client keeps the context of each request for its own thread, so another one is used here.
    if make := getattr(client.application, "test_client", None):
        client, client.environ_base = make(), client.environ_base
    response = client.post(url, data=body, headers=headers)
    return AppAnswer(response.status_code, response.data)


def _django(client: Any, url: str, body: bytes, headers: dict[str, str]) -> AppAnswer:
    response = client.post(
        url, data=body, content_type=headers.get("content-type", "application/json"), headers=headers
    )
    return answer_of(response)
