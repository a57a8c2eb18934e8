"""Answers to the requests of a probe: references to their values, and the conditions that values are held against."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

from emulator.document.probes import REFERENCE

MISSING = object()
"""What a path leads to where nothing is."""

Answers = Mapping[str, Any]
"""What was answered, by the names of the steps: the JSON of the body, with ``http``, ``headers`` and ``error``."""


def error_of(status: int, body: Any) -> dict[str, Any] | None:
    """An error of either shape (B-10) in one form: ``code`` and ``type`` in capitals, ``shape``, ``param``, ``has``."""
    if status < 400 or not isinstance(body, dict):
        return None
    nested = isinstance(body.get("error"), dict)
    given = body["error"] if nested else body
    return {
        "shape": "nested" if nested else "flat" if "code" in given else "other",
        "code": str(given.get("code", "")).upper(),
        "type": str(given.get("type", "")).upper(),
        "param": given.get("param"),
        "message": given.get("message"),
        "has": sorted(given),
    }


def value_at(answers: Answers, path: str) -> Any:
    """The value that a dotted path leads to, or ``MISSING``."""
    value: Any = answers
    for key in path.split("."):
        try:
            value = value[int(key)] if isinstance(value, list) else value[key]
        except (LookupError, TypeError, ValueError):
            return MISSING
    return value


def resolved(value: Any, at: Callable[[str], Any]) -> Any:
    """A JSON value with its references replaced; a text that is one reference becomes the value itself."""
    if isinstance(value, dict):
        if len(value) == 1 and (word := next(iter(value))) in COMPUTED:
            return COMPUTED[word](value[word], at)
        return {key: resolved(part, at) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [resolved(part, at) for part in value]
    if not isinstance(value, str):
        return value
    if whole := REFERENCE.fullmatch(value):
        return at(whole[1])
    return REFERENCE.sub(lambda match: str(at(match[1])), value)


def _percent_of(parts: Any, at: Callable[[str], Any]) -> int | float:
    part, whole = (resolved(each, at) for each in parts)
    rate = round(100 * part / whole, 4)
    return int(rate) if rate == int(rate) else rate


COMPUTED: Mapping[str, Callable[[Any, Callable[[str], Any]], Any]] = {
    "percent_of": _percent_of,
    "succeeded": lambda names, at: [name for name, step in names.items() if at(f"{step}.http") == 201],
}
"""Values that are computed: the rate of ``[part, whole]``; the names whose step (``{NAME: step}``) succeeded."""


def holds(condition: Any, value: Any, at: Callable[[str], Any]) -> bool:
    """Whether a value is as a condition says: equal to it, or as its word (``CONDITIONS``) asks."""
    if isinstance(condition, dict) and len(condition) == 1 and (word := next(iter(condition))) in CONDITIONS:
        return CONDITIONS[word](value, resolved(condition[word], at))
    return bool(value == resolved(condition, at)) and isinstance(value, bool) == isinstance(condition, bool)


def _days_after(value: Any, given: Any) -> bool:
    start, days = given
    try:
        return _instant(value) - _instant(start) == timedelta(days=days)
    except (TypeError, ValueError):
        return False


def _instant(text: str) -> datetime:
    """An instant; of a date with a later instant only the date counts."""
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def _date_after(value: Any, given: Any) -> bool:
    start, days = given
    try:
        return datetime.fromisoformat(str(value)).date() - _instant(start).date() == timedelta(days=days)
    except (TypeError, ValueError):
        return False


CONDITIONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "any": lambda value, of: value in of,
    "not": lambda value, other: value != other,
    "present": lambda value, wanted: (value is not MISSING) == wanted,
    "matches": lambda value, pattern: isinstance(value, str) and re.fullmatch(pattern, value) is not None,
    "has": lambda value, names: isinstance(value, dict | list) and set(names) <= set(value),
    "length": lambda value, length: isinstance(value, list) and len(value) == length,
    "days_after": _days_after,
    "date_after": _date_after,
}
"""What a condition may ask of a value, by its word."""
