"""The emulator under simulation: one application here, whose engine starts, stops and crashes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import count
from typing import Any, NamedTuple

import msgspec

from contract_tests.simulator.surroundings import RESPONSE_TIME, Disk
from contract_tests.support.sandbox import START
from emulator.core.ids import IdSource
from emulator.engine.engine import Engine
from emulator.engine.runtime import Runtime
from emulator.resources.app.clients import Key
from emulator.server.sandbox import Options, Sandbox
from emulator.web.root_app import RootApp

MAX_WORLDS = 5
"""Worlds that may be open."""

OPTIONS = Options(
    clock_mode="frozen",
    clock_at=START,
    strict=True,
    max_worlds=MAX_WORLDS,
    response_time=RESPONSE_TIME,
)

DRAIN_SECONDS = 2.0
"""Seconds that requests under way have to end when the server stops."""


class Response(NamedTuple):
    """A response as a client gets it."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return msgspec.json.decode(self.body) if self.body else None


class CurrentEngine:
    """The running server's engine, a stand-in: building an application for each takes too long."""

    engine: Engine

    def __init__(self) -> None:
        self.when_discarded: list[Callable[[Runtime], None]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.engine, name)

    def forget(self, runtime: Runtime) -> None:
        """Pass on that an engine no longer runs this world."""
        for forget in self.when_discarded:
            forget(runtime)


@cache
def application() -> tuple[RootApp, CurrentEngine]:
    """Return the application of every server, made once."""
    current, sandbox = CurrentEngine(), Sandbox(OPTIONS)
    current.engine = sandbox.engine
    sandbox.engine = current  # type: ignore[assignment]  # it has everything that an engine has
    return sandbox.application(), current


class Worlds(dict[Key, Runtime]):
    """The open worlds of an engine; each is announced."""

    def __init__(self, opened: Callable[[Key, Runtime], None], worlds: dict[Key, Runtime]) -> None:
        super().__init__()
        self._opened = opened
        for key, runtime in worlds.items():
            self[key] = runtime

    def __setitem__(self, key: Key, runtime: Runtime) -> None:
        super().__setitem__(key, runtime)
        self._opened(key, runtime)


class Server:
    """A server on a disk. ``opened`` is called with opened worlds, ``closed`` with closed ones."""

    def __init__(
        self,
        seed: int,
        disk: Disk,
        opened: Callable[[Key, Runtime], None],
        closed: Callable[[Runtime], None],
    ) -> None:
        self._options = replace(OPTIONS, seed=seed, state=disk.url)
        self._disk = disk
        self._opened = opened
        self._closed = closed
        self._app, self._current = application()
        self._serving: set[asyncio.Task[Any] | None] = set()
        self._is_stopping = False
        ids, numbers = IdSource(f"{seed}/requests"), count(1)
        self._app._new_request_id = lambda: ids.id("req", next(numbers))

    @property
    def engine(self) -> Engine:
        return self._current.engine

    async def start(self) -> None:
        self._is_stopping = False
        engine = Sandbox(self._options).engine
        engine.when_discarded += [self._current.forget, self._closed]
        engine.runtimes = Worlds(self._opened, engine.runtimes)
        self._current.engine = engine
        await engine.start()

    async def crash(self) -> None:
        """End at once: what is under way never gets to its end, and nothing more is written."""
        self._disk.crash()
        under_way = asyncio.all_tasks() - {asyncio.current_task()}
        for task in under_way:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)
        self._forget_all()

    async def stop(self) -> str | None:
        """End as on SIGTERM: requests end or are canceled. Return confirmed, unstored changes."""
        self._is_stopping = True
        if serving := [task for task in self._serving if task]:
            _, late = await asyncio.wait(serving, timeout=DRAIN_SECONDS)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        store = self.engine.store
        await self.engine.stop()
        self._forget_all()
        return store.unsaved() if store else None

    def _forget_all(self) -> None:
        for runtime in self.engine.runtimes.values():
            self._current.forget(runtime)

    async def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        key: str,
        query: str = "",
        headers: dict[str, str] | None = None,
    ) -> Response:
        """Send a request. ``body``: bytes, or a value for JSON. A stopping server returns 503."""
        if self._is_stopping:
            return Response(503, {}, b"")
        raw = (
            body if isinstance(body, bytes) else b"" if body is None else msgspec.json.encode(body)
        )
        all_headers = {"host": "localhost", "content-type": "application/json", **(headers or {})}
        if key:
            all_headers["authorization"] = f"Bearer {key}"
        sent: list[Any] = []
        messages = [{"type": "http.request", "body": raw, "more_body": False}]

        async def receive() -> Any:
            if not messages:  # the client stays: a stream is sent to its end
                await asyncio.Event().wait()
            return messages.pop()

        async def send(message: Any) -> None:
            sent.append(message)

        scope = {
            "type": "http",
            "http_version": "1.1",
            "method": method,
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": [(name.encode(), value.encode()) for name, value in all_headers.items()],
            "scheme": "http",
            "server": ("127.0.0.1", 4747),
            "client": ("127.0.0.1", 1),
        }
        task = asyncio.current_task()
        self._serving.add(task)
        try:
            await self._app(scope, receive, send)
        finally:
            self._serving.discard(task)
        sent_headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
        return Response(
            sent[0]["status"],
            sent_headers,
            b"".join(message.get("body", b"") for message in sent[1:]),
        )
