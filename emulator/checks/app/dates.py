"""How endings are compared whose runs began at another time, or in another time zone.

Times count as equal, wherever they are in the result of the application's own check. In a run that
begins at another time dates do so too, and what is listed by date is left out: what was one day's
may be two days' there. In another time zone a date must stay the same.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from contextlib import suppress

from emulator.checks.app.state import Row
from emulator.checks.app.tables import EPOCH

DAY, HOUR = r"\d{4}-\d\d-\d\d", r"[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?(?:Z|[+-]\d\d:?\d\d))?"

DATE, TIME = re.compile(f"{DAY}(?:{HOUR})?"), re.compile(f"{DAY}{HOUR}")

LISTED = re.compile(rf"(?:\w+: \w+=)?['\"]?{DATE.pattern}")
"""The beginning of a line about a date, also of a row whose first column is a date."""

LATEST = 100_000_000_000
"""Numbers from ``EPOCH`` to here are times, in seconds."""


def undated(value: object, *, same_days: bool) -> object:
    """Return a check's result without its times; unless days stay the same, without its dates."""
    if not isinstance(value, str):
        return _undated_part(value, same_days=same_days)
    if value.startswith(("{", "[")):
        with suppress(ValueError):
            return json.dumps(_undated_part(json.loads(value), same_days=same_days))
    lines = (line for line in value.splitlines() if same_days or not LISTED.match(line))
    return "\n".join(sorted(_without_dates(line, same_days=same_days) for line in lines))


def undated_rows(rows: Iterable[Row], *, same_days: bool) -> tuple[Row, ...]:
    """Return the rows of tables without their times, sorted; dates like :func:`undated`."""
    kept = (row for row in rows if same_days or not LISTED.match(str(row)))
    return tuple(sorted((_undated_row(row, same_days=same_days) for row in kept), key=str))


def _undated_row(row: Row, *, same_days: bool) -> Row:
    return Row(
        row.table,
        tuple((name, _undated_part(field, same_days=same_days)) for name, field in row.fields),
    )


def _without_dates(text: str, *, same_days: bool) -> str:
    return (TIME if same_days else DATE).sub("{date}", text)


def _undated_part(value: object, *, same_days: bool) -> object:
    if isinstance(value, str):
        return _without_dates(value, same_days=same_days)
    if isinstance(value, dict):
        return {
            key: _undated_part(part, same_days=same_days)
            for key, part in value.items()
            if same_days or not DATE.fullmatch(str(key))
        }
    if isinstance(value, list | tuple):
        return [_undated_part(part, same_days=same_days) for part in value]
    if isinstance(value, int | float) and EPOCH <= value < LATEST:
        return "{date}"
    return value
