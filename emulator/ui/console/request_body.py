"""Forms: the fields of a form become the body of a request to the API, which validates it.

The name of a field says where its value goes and what it is: ``match.customer`` is a member of ``match``,
``times:number`` a number, ``currencies:list`` a list separated by commas, ``changes:json`` JSON. Blank fields are left
out. Names that begin with ``_`` are for the console itself.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from starlette.requests import Request

from emulator.core.limits import CONSOLE_FORM
from emulator.ui.base import forms as posted
from emulator.ui.console.api_client import ApiRequestError


async def read(request: Request) -> dict[str, str]:
    """The posted fields. Raises :class:`ApiRequestError` for one that is too long or malformed."""
    try:
        return posted.fields(await posted.body(request, CONSOLE_FORM.most), 200)
    except posted.BodyTooLong:
        raise ApiRequestError(413, f"A form may have at most {CONSOLE_FORM.most} bytes.") from None
    except ValueError:
        raise ApiRequestError(400, "The form cannot be read.") from None


def body(form: Mapping[str, str]) -> Any:
    """The body of a request from the fields of a form. A field whose name is only a type is the whole body."""
    result: dict[str, Any] = {}
    for name, text in form.items():
        if name.startswith("_") or not text.strip():
            continue
        path, _, type = name.partition(":")
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
        return TYPES[type](text.strip())
    except (KeyError, ValueError, RecursionError):
        raise ApiRequestError(
            422, f"{name or type}: {text.strip()[:60]!r} cannot be read as {type or 'text'}."
        ) from None


def _number(text: str) -> int | float:
    return int(text) if text.lstrip("-").isdecimal() else float(text)


def _list(text: str) -> list[Any]:
    parts = [part.strip() for part in text.split(",") if part.strip()]
    return [int(part) if part.isdecimal() else part for part in parts]


TYPES: Mapping[str, Callable[[str], Any]] = {
    "": str,
    "number": _number,
    "flag": {"true": True, "false": False}.__getitem__,
    "list": _list,
    "json": json.loads,
}
"""How the text of a field is read, by the type in its name."""
