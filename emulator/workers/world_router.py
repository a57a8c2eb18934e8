"""Routes requests among workers: each is answered by the worker that runs the world it is for."""

from __future__ import annotations

import re

from starlette.types import Message, Receive, Scope, Send

from emulator.control import inbox
from emulator.engine.engine import Engine
from emulator.limits import INBOX_BODY
from emulator.web.root_app import RootApp
from emulator.workers.peers import APP, FIND, OPENS, Peers, WorkerUnreachable
from emulator.workers.sharding import PAGES_WORKER, stated_key

ID = re.compile(r"[a-z]{2,8}_[0-9A-Za-z]{24}")


class WorldRouter:
    """Passes a request to the application of this process, or forwards it to the worker that it is for.

    ``inner`` routes what the console asks the APIs, which comes with a key and is behind its guards already.
    """

    def __init__(self, app: RootApp, engine: Engine, peers: Peers, *, inner: bool = False) -> None:
        self._app = app
        self._engine = engine
        self._peers = peers
        self._inner = inner

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        key = stated_key(scope["method"], scope["path"], scope["query_string"], headers)
        if key is not None:
            worker = self._engine.share.worker_of(key)
        elif self._inner:
            worker = self._engine.share.worker
        elif scope["path"].startswith(inbox.PREFIX):
            body = Replay(receive)
            worker, receive = await self._of_webhook(body), body
        else:
            worker = await self._of_page(scope, headers)
        if worker == self._engine.share.worker:
            await self._app(scope, receive, send)
        else:
            await self._forward(worker, scope, receive, send)

    async def _of_webhook(self, body: Replay) -> int:
        """The worker of the App whose id is in a webhook."""
        app = inbox.app_id(await body.start())
        if app is None or self._engine.directory.of_app(app):
            return self._engine.share.worker if app else PAGES_WORKER
        found = await self._peers.find(APP, app)
        return PAGES_WORKER if found is None else found

    async def _of_page(self, scope: Scope, headers: dict[bytes, bytes]) -> int:
        """The worker of a buyer's page, by the id in its path; of a browser's preflight, by who opens to its page."""
        own, directory = self._engine.share.worker, self._engine.directory
        found: int | None = None
        if scope["method"] == "OPTIONS" and (origin := headers.get(b"origin", b"").decode("latin-1")):
            found = own if directory.any_opens_to(origin) else await self._peers.find(OPENS, origin)
        elif (match := ID.search(scope["path"])) and not scope["path"].startswith("/_emulator/"):
            found = own if self._engine.owner_key(match[0]) else await self._peers.find(FIND, match[0])
        return PAGES_WORKER if found is None else found

    async def _forward(self, worker: int, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._peers.forward(worker, scope, receive, send, inner=self._inner)
        except WorkerUnreachable:
            message = "The process that ran this world has ended and is being replaced. Try again."
            id, body = self._app.malformed(message, 503)
            headers = [(b"content-type", b"application/json"), (b"request-id", id.encode()), (b"retry-after", b"1")]
            await send({"type": "http.response.start", "status": 503, "headers": headers})
            await send({"type": "http.response.body", "body": body})


class Replay:
    """A ``receive`` whose first messages can be read before the application reads them."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._read: list[Message] = []

    async def start(self) -> bytes:
        """The body, as far as its size allows."""
        raw: bytes = b""
        while True:
            message = await self._receive()
            self._read.append(message)
            raw += message.get("body", b"")
            if not message.get("more_body") or len(raw) > INBOX_BODY.most:
                return raw

    async def __call__(self) -> Message:
        return self._read.pop(0) if self._read else await self._receive()
