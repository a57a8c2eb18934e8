"""One worker: an emulator that takes connections from the front process and requests from the other workers."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from functools import partial
from pathlib import Path
from urllib.parse import parse_qs

import msgspec
from starlette.types import Receive, Scope, Send

from emulator.control.app_settings import app_summary
from emulator.engine.engine import Engine
from emulator.engine.runtime import Runtime
from emulator.resources.app.keys import Key
from emulator.sandbox import Applications, Options, Sandbox
from emulator.server import Uvicorn, config
from emulator.web.response import Response, send_response
from emulator.web.root_app import RootApp
from emulator.workers.channel import CLOSED, OPENED, READY, ConnectionReceiver
from emulator.workers.peers import APP, APPS, CLIENT, FIND, INNER, OPENS, Peers, socket_of
from emulator.workers.world_router import WorldRouter


class Worker:
    """Runs a sandbox until a signal, or the end of the front process, ends it."""

    def __init__(self, options: Options, folder: Path, end: socket.socket) -> None:
        self.sandbox = Sandbox(options)
        self._receiver = ConnectionReceiver(end)
        self._engine = self.sandbox.engine
        self._peers = self._engine.neighbours = Peers(folder, options.share)
        applications = self.sandbox.applications(self._routed)
        doors = Doors(applications, WorldRouter(applications.served, self._engine, self._peers), self._engine)
        path = socket_of(folder, options.share.worker)
        self._config = config(doors, applications.served, path)
        self._uvicorn = Uvicorn(self._config, self._ready, self._engine.close_streams)

    def run(self) -> None:
        """Serve until the end."""
        self._uvicorn.run()
        if self._uvicorn.failure:
            raise self._uvicorn.failure

    def _routed(self, app: RootApp) -> WorldRouter:
        return WorldRouter(app, self._engine, self._peers, inner=True)

    def _ready(self) -> None:
        loop = asyncio.get_running_loop()
        loop.add_reader(self._receiver.end, self._take, loop)
        for runtime in self._engine.runtimes.values():
            self._say(OPENED, runtime)
        self._engine.when_opened.append(partial(self._say, OPENED))
        self._engine.when_discarded.append(partial(self._say, CLOSED))
        self._receiver.say(READY)

    def _say(self, what: str, runtime: Runtime) -> None:
        self._receiver.say(f"{what} {Key(runtime.world.name, runtime.world.livemode)}")

    def _take(self, loop: asyncio.AbstractEventLoop) -> None:
        connections = self._receiver.take()
        if connections is None:
            loop.remove_reader(self._receiver.end)
            self._uvicorn.should_exit = True
            return
        for connection in connections:
            connection.setblocking(False)
            loop.create_task(loop.connect_accepted_socket(self._protocol, connection))

    def _protocol(self) -> asyncio.Protocol:
        """The protocol of a connection, made as uvicorn makes it for one that it accepted itself."""
        make: Callable[..., asyncio.Protocol] = self._config.http_protocol_class
        state = self._uvicorn.lifespan.state
        return make(config=self._config, server_state=self._uvicorn.server_state, app_state=state)


class Doors:
    """The two doors of a worker: the address of the server, and the Unix socket of the other workers."""

    def __init__(self, applications: Applications, router: WorldRouter, engine: Engine) -> None:
        self._applications = applications
        self._router = router
        self._engine = engine

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or _by_address(scope):
            await self._router(scope, receive, send)
            return
        headers = dict(scope["headers"])
        if CLIENT not in headers:
            await send_response(Response(200, msgspec.json.encode(self._answer(scope))), send)
            return
        host, _, port = headers[CLIENT].decode().rpartition(" ")
        scope["client"] = (host, int(port)) if host else None
        scope["headers"] = [pair for pair in scope["headers"] if pair[0] not in (CLIENT, INNER)]
        app = self._applications.unguarded if INNER in headers else self._applications.served
        await app(scope, receive, send)

    def _answer(self, scope: Scope) -> object:
        """What another worker asks of this one."""
        value = parse_qs(scope["query_string"].decode()).get("value", [""])[0]
        directory = self._engine.directory
        answers: dict[str, Callable[[], object]] = {
            APPS: lambda: [*map(app_summary, self._engine.runtimes.values())],
            FIND: lambda: self._engine.owner_key(value) is not None,
            APP: lambda: directory.of_app(value) is not None,
            OPENS: lambda: directory.any_opens_to(value),
        }
        return answers[scope["path"]]()


def _by_address(scope: Scope) -> bool:
    """Whether a request came by the address of the server: uvicorn has no port for a Unix socket."""
    return scope["server"] is not None and scope["server"][1] is not None
