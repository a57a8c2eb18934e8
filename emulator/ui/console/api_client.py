"""The console's in-process client of the control API and the service; forms as request bodies.

The API validates what a form was filled in with.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from emulator.client import within
from emulator.client.messages import ApiRequest, ApiResponse
from emulator.core.limits import CONSOLE_FORM
from emulator.presentation import typed_text
from emulator.ui.base import pages as posted

# -- the client


CONTROL = "/_emulator"


class ApiRequestError(Exception):
    """An API error: status, message, the id of the request if it was sent, and the wrong fields."""

    def __init__(
        self, status: int, message: str, request_id: str | None = None, fields: tuple[str, ...] = ()
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.request_id = request_id
        self.fields = fields


class ApiClient:
    """Calls service and control API as one ASGI application, behind the control token's check."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def call(
        self,
        key: str,
        base_url: str,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any],
        body: Any,
    ) -> ApiResponse:
        """Return the response with a world's key. Raises :class:`ApiRequestError` for an error."""
        given = {name: value for name, value in query.items() if value not in (None, "")}
        headers = {"user-agent": "payments-emulator-console", "authorization": f"Bearer {key}"}
        request = ApiRequest.of(method, path, query=given, json=body, headers=headers)
        response = await within.exchange(self._app, base_url, request)
        if not response.is_success:
            raise api_error(response)
        return response

    async def forward(
        self, key: str, path: str, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Have the API respond directly, with a world's key: for a stream, which never ends."""

        async def send_without_id(message: Message) -> None:
            # The outer application adds the id of the request; the inner one has added its own.
            if message["type"] == "http.response.start":
                message["headers"] = [
                    pair for pair in message["headers"] if pair[0] != b"request-id"
                ]
            await send(message)

        headers = [(b"host", _host(scope)), (b"authorization", f"Bearer {key}".encode())]
        inner = {
            **scope,
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "headers": headers,
        }
        await self._app(inner, receive, send_without_id)


def _host(scope: Scope) -> bytes:
    return next((bytes(value) for name, value in scope["headers"] if name == b"host"), b"127.0.0.1")


def api_error(response: ApiResponse) -> ApiRequestError:
    """Return a response's error: its message with those of fields, and the fields' names."""
    error = response.error()
    message = (
        str(error.get("message", response.status_code)) if error else f"HTTP {response.status_code}"
    )
    texts = [f"{name}: {', '.join(texts)}" for name, texts in (error.get("errors") or {}).items()]
    message = " ".join([message, *(text for text in texts if text not in message)])
    fields = tuple(error.get("errors") or filter(None, [error.get("param")]))
    return ApiRequestError(
        response.status_code, message, response.headers.get("request-id"), fields
    )


# -- forms


async def read_form(request: Request) -> dict[str, str]:
    """Return posted fields. Raises :class:`ApiRequestError` if too long or malformed."""
    try:
        return posted.fields(await posted.body(request, CONSOLE_FORM.most), 200)
    except posted.BodyTooLong:
        raise ApiRequestError(413, f"A form may have at most {CONSOLE_FORM.most} bytes.") from None
    except ValueError:
        raise ApiRequestError(400, "The form cannot be read.") from None


def body_of(form: Mapping[str, str]) -> Any:
    """Return a form's request body. A field whose name is only a type is the whole body."""
    result: dict[str, Any] = {}
    for name, text in form.items():
        path, _, type = name.partition(":")
        if name.startswith("_") or not (text or type in EMPTIED):
            continue
        value = _typed(path, type, text)
        if not path:
            return value
        _put(result, path.split("."), value)
    return result


def _put(result: dict[str, Any], path: list[str], value: Any) -> None:
    for part in path[:-1]:
        result = result.setdefault(part, {})
        if not isinstance(result, dict):
            raise ApiRequestError(422, f"{part} is given both as a whole and in parts.")
    result[path[-1]] = value


def _typed(name: str, type: str, text: str) -> Any:
    try:
        return TYPES[type](typed_text.plain(text) if type in NUMBERS else text)
    except (KeyError, ValueError, RecursionError):
        raise ApiRequestError(
            422, f"{name or type}: {text[:60]!r} cannot be read as {type or 'text'}."
        ) from None


def _number(text: str) -> int | float:
    number = int(text) if text.lstrip("-").isdecimal() else float(text)
    if not math.isfinite(number):
        raise ValueError("JSON has no such number")
    return number


def json_value(text: str) -> Any:
    """Return a text's JSON value. Raises ``ValueError`` for NaN, infinity, half a character."""
    value = json.loads(text)
    json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    return value


def _list(text: str) -> list[Any]:
    parts = [part.strip() for part in text.split(",") if part.strip()]
    return [int(part) if part.isdecimal() else part for part in parts]


TYPES: Mapping[str, Callable[[str], Any]] = {
    "": str,
    "number": _number,
    "flag": {"true": True, "false": False}.__getitem__,
    "list": _list,
    "json": json_value,
    "limit": lambda text: _number(text) if text else None,
    "text": lambda text: text or None,
    "rate": lambda text: (
        dict(zip(("per_second", "burst"), _list(text), strict=True)) if text else None
    ),
    "lines": lambda text: [line.strip() for line in text.splitlines() if line.strip()],
}
"""How the text of a field is read, by the type in its name."""

NUMBERS = ("number", "limit", "rate", "list")
"""The types of fields whose digits may be of any script."""

EMPTIED = ("limit", "rate", "text", "lines")
"""The types of fields that say something when they are empty: no limit, no text, no lines."""
