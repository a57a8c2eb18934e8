"""Query strings: their parameters in order, each cast to the type of its schema."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import parse_qsl

from emulator.core import calendar
from emulator.core.errors import ApiError
from emulator.core.limits import DIGITS, QUERY


def fields(raw: bytes) -> list[tuple[str, str]]:
    """The parameters in order; bytes that are not UTF-8 become replacement characters. Raises 422 for too many."""
    try:
        return parse_qsl(raw.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=QUERY.most)
    except ValueError:
        raise ApiError("INVALID_FILTER_PARAM", message=f"The query has more than {QUERY.most} parameters.") from None


def grouped(given: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """The values of each parameter, in order."""
    values: dict[str, list[str]] = {}
    for name, text in given:
        values.setdefault(name, []).append(text)
    return values


def cast(text: str, schema: Mapping[str, Any]) -> Any:
    """A parameter's text as the type of its schema; text that cannot be cast stays text and fails validation."""
    match schema.get("type"):
        case "integer":
            return _integer(text)
        case "boolean":
            return {"true": True, "false": False}.get(text, text)
        case "array":
            return cast_each(text.split(","), schema)
    return _instant(text) if schema.get("format") == "date-time" else text


def _instant(text: str) -> str:
    """An instant as a timestamp, which filters compare as text; any other text stays as it is and is rejected."""
    try:
        return calendar.normalise(text)
    except ValueError:
        return text


def cast_each(texts: Iterable[str], schema: Mapping[str, Any]) -> list[Any]:
    """The values of a parameter that is an array: ``?expect=a&expect=b`` (``explode: true``), or parts of one text."""
    return [cast(text, schema["items"]) for text in texts]


def unknown_parameter(known: Iterable[str]) -> str:
    """What is wrong with a parameter that the operation does not have: the message names those that it has."""
    names = ", ".join(known)
    return f"unknown parameter; must be one of {names}" if names else "unknown parameter"


def explain(message: str, text: str, schema: Mapping[str, Any]) -> str:
    """What a parameter must be; for an instant, with a hint where a ``+`` was sent unencoded and became a space."""
    hint = schema.get("format") == "date-time" and " " in text
    return f"{message}; a + in a URL is written %2B" if hint else message


def _integer(text: str) -> int | str:
    digits = text.removeprefix("-")
    return int(text) if digits.isascii() and digits.isdigit() and len(digits) <= DIGITS.most else text
