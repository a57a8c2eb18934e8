"""Forms: what a person filled in, as the body of a request to the API, which alone says whether it is right.

The name of a field is its place in the body: ``match.customer`` lies in ``match``, ``times:number`` is a number,
``currencies:list`` a list of what commas part, ``changes:json`` JSON. What is left blank is left out. Names that begin
with ``_`` are for the console itself.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from starlette.requests import Request

from emulator.console.api_client import ApiRefusal
from emulator.web import form as posted

MOST_BYTES = 3 * 1024 * 1024
"""The most a request to the API may hold, once each of its characters was written as three."""


async def read(request: Request) -> dict[str, str]:
    """The posted fields. Raises :class:`Refused` for what is no form or too large."""
    try:
        return posted.fields(await posted.body(request, MOST_BYTES), 200)
    except posted.TooLong:
        raise ApiRefusal(413, f"A form may have {MOST_BYTES} bytes.") from None
    except ValueError:
        raise ApiRefusal(400, "This is no form.") from None


def body(form: Mapping[str, str]) -> Any:
    """The body of a request, from the fields of a form; a field without a name is the body itself."""
    made: dict[str, Any] = {}
    for name, text in form.items():
        if name.startswith("_") or not text.strip():
            continue
        place, _, type = name.partition(":")
        value = _typed(place, type, text)
        if not place:
            return value
        _put(made, place.split("."), value)
    return made


def _put(made: dict[str, Any], path: list[str], value: Any) -> None:
    for part in path[:-1]:
        made = made.setdefault(part, {})
        if not isinstance(made, dict):
            raise ApiRefusal(422, f"{part} is given both as a whole and in parts.")
    made[path[-1]] = value


def _typed(name: str, type: str, text: str) -> Any:
    try:
        return TYPES[type](text.strip())
    except (KeyError, ValueError, RecursionError):
        raise ApiRefusal(422, f"{name or type}: {text.strip()[:60]!r} cannot be read as {type or 'text'}.") from None


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
"""How the text of a field is read, by what stands after the colon of its name."""
