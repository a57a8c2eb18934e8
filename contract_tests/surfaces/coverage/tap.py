"""The tap: listens to every exchange of a server, those of raw sockets and browsers included."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

from contract_tests.surfaces.coverage.points import Exchange
from emulator.web.root_app import RootApp

Listener = Callable[[Exchange], None]


class Tap(RootApp):
    """The edge of a server, each exchange reported to a listener before the client has the end of it."""

    listener: Listener

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await super().__call__(scope, receive, send)
            return
        sent, head, body = bytearray(), {}, bytearray()

        async def hear() -> Any:
            message = await receive()
            sent.extend(message.get("body", b""))
            return message

        async def send_on(message: Any) -> None:
            if message["type"] == "http.response.start":
                head.update(message)
            body.extend(message.get("body", b""))
            if message["type"] == "http.response.body" and not message.get("more_body"):
                self.listener(_exchange(scope, bytes(sent), head, bytes(body)))
            await send(message)

        await super().__call__(scope, hear, send_on)


def tapped(edge: RootApp, listener: Listener) -> Tap:
    tap = Tap.__new__(Tap)
    tap.__dict__ = edge.__dict__
    tap.listener = listener
    return tap


def _exchange(scope: Any, sent: bytes, head: dict[str, Any], body: bytes) -> Exchange:
    headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in head["headers"]}
    # An encoded slash belongs to the name it stands in, so it stays encoded.
    path = unquote(re.sub("%2[Ff]", "%252F", bytes(scope["raw_path"]).decode("latin-1")))
    return Exchange(scope["method"], path, scope["query_string"], sent, head["status"], headers, body)
