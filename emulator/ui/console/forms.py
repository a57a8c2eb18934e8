"""The forms of the console: posted fields, and the body of a request to the API that they fill in.

The API validates the values of a form.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

from starlette.requests import Request

from emulator.core.limits import CONSOLE_FORM
from emulator.presentation import typed_text
from emulator.ui.base import pages as posted
from emulator.ui.console.request import ApiRequestError


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
