"""Query strings: their parameters in order, each cast to the type of its schema."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
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


def cast(text: str, schema: Mapping[str, Any]) -> Any:
    """A parameter's text as the type of its schema; text that cannot be cast stays text and fails validation."""
    match schema.get("type"):
        case "integer":
            return _integer(text)
        case "boolean":
            return {"true": True, "false": False}.get(text, text)
        case "array":
            return [cast(part, schema["items"]) for part in text.split(",")]
    return _instant(text) if schema.get("format") == "date-time" else text


def explain(message: str, text: str, schema: Mapping[str, Any]) -> str:
    """What a parameter must be; for an instant, with a hint where a ``+`` was sent unencoded and became a space."""
    if schema.get("format") != "date-time":
        return message
    message = "must be an ISO 8601 date or instant, such as 2026-01-31 or 2026-01-31T09:30:00Z"
    return f"{message}; a + in a URL is written %2B" if " " in text else message


def _integer(text: str) -> int | str:
    digits = text.removeprefix("-")
    return int(text) if digits.isascii() and digits.isdigit() and len(digits) <= DIGITS.most else text


def _instant(text: str) -> str:
    """Any ISO 8601 date or instant as a timestamp: a date is its midnight, without an offset it is UTC (B-17)."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return text
    try:
        return calendar.stamp((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC))
    except OverflowError:
        return text
