"""Query strings: their parameters in order, each cast to the type of its schema."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any
from urllib.parse import parse_qsl

from emulator.core import calendar
from emulator.errors import ApiError
from emulator.limits import DIGITS, QUERY


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


def cast_each(texts: Iterable[str], schema: Mapping[str, Any]) -> list[Any]:
    """The values of a parameter that is an array: ``?expect=a&expect=b`` (``explode: true``), or parts of one text."""
    return [cast(text, schema["items"]) for text in texts]


def unknown_parameter(known: Iterable[str]) -> str:
    """What is wrong with a parameter that the operation does not have: the message names those that it has."""
    names = ", ".join(known)
    return f"unknown parameter; must be one of {names}" if names else "unknown parameter"


def explain(message: str, text: str, schema: Mapping[str, Any]) -> str:
    """What a parameter must be; for an instant, with a hint where a ``+`` was sent unencoded and became a space."""
    if schema.get("format") != "date-time":
        return message
    message = "must be an ISO 8601 date or instant, such as 2026-01-31 or 2026-01-31T09:30:00Z"
    return f"{message}; a + in a URL is written %2B" if " " in text else message


def _integer(text: str) -> int | str:
    digits = text.removeprefix("-")
    return int(text) if digits.isascii() and digits.isdigit() and len(digits) <= DIGITS.most else text


END_OF_DAY = re.compile(r"(?<=T)24(?=(:?00){0,2}([.,]0+)?(Z|[+-]|$))")
ORDINAL_DATE = re.compile(r"^(\d{4})-?(\d{3})(?=T|$)", re.ASCII)
"""Forms of ISO 8601 that ``datetime.fromisoformat`` does not read: 24:00, and a date by the number of its day."""


def _date_of(ordinal: re.Match[str]) -> str:
    year, day = int(ordinal[1]), int(ordinal[2])
    found = date(year, 1, 1) + timedelta(days=day - 1)
    return found.isoformat() if found.year == year else ordinal[0]


def _instant(text: str) -> str:
    """Any ISO 8601 date or instant as a timestamp: a date is its midnight, without an offset it is UTC (B-17)."""
    normal, ends_day = END_OF_DAY.subn("00", text.upper())
    try:
        moment = datetime.fromisoformat(ORDINAL_DATE.sub(_date_of, normal)) + timedelta(days=ends_day)
    except (ValueError, OverflowError):
        return text
    try:
        return calendar.stamp((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC))
    except OverflowError:
        return text
