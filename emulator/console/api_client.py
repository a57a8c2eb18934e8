"""The emulator asked by itself: the console is a client of the control API and of the service, as any other is.

So whatever a page shows is what the API answers, and whatever a form does stands in the journal as the request it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

if TYPE_CHECKING:
    import httpx

CONTROL = "/_emulator"


class ApiRefusal(Exception):
    """What was asked for was refused: its status and a sentence that says why."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status
        self.sentence = sentence


class ApiClient:
    """The emulator's faces as one application, without the lock that stands before the outer one."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    @cached_property
    def _client(self) -> httpx.AsyncClient:
        # Loaded on first use: most servers never show their console.
        import httpx

        transport = httpx.ASGITransport(app=self._app)
        return httpx.AsyncClient(transport=transport, headers={"User-Agent": "payments-emulator-console"})

    async def ask(self, key: str, method: str, url: str, *, query: Mapping[str, Any], body: Any) -> httpx.Response:
        """One request with the key of a world. Raises :class:`Refused` for an answer that is none of success."""
        wanted = {name: value for name, value in query.items() if value not in (None, "")}
        headers = {"Authorization": f"Bearer {key}"}
        answer = await self._client.request(method, url, params=wanted, json=body, headers=headers)
        if not answer.is_success:
            raise ApiRefusal(answer.status_code, sentence(answer))
        return answer

    async def hand_over(self, key: str, path: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Let an address of the emulator answer a request by itself, with the key of a world; for what never ends."""

        async def send_once(message: Message) -> None:
            # The outer edge names the request; the inner one has done so too.
            if message["type"] == "http.response.start":
                message["headers"] = [pair for pair in message["headers"] if pair[0] != b"request-id"]
            await send(message)

        headers = [(b"host", _host(scope)), (b"authorization", f"Bearer {key}".encode())]
        inner = {**scope, "path": path, "raw_path": path.encode(), "query_string": b"", "headers": headers}
        await self._app(inner, receive, send_once)


def _host(scope: Scope) -> bytes:
    return next((bytes(value) for name, value in scope["headers"] if name == b"host"), b"127.0.0.1")


def sentence(answer: httpx.Response) -> str:
    """Why something was refused: the message of the error, and what it says of single fields."""
    try:
        body = answer.json()
    except ValueError:
        return f"HTTP {answer.status_code}"
    told = body.get("error", body)
    message = str(told.get("message", answer.status_code))
    faults = [f"{name}: {', '.join(texts)}" for name, texts in (told.get("errors") or {}).items()]
    return " ".join([message, *(fault for fault in faults if fault not in message)])
