"""How endings are compared whose runs began at another time, or in another time zone.

Dates and times count as equal, wherever they are in the result of the application's own check. In a
run that begins at another time, what is listed by date is left out: what was one day's may be two
days' there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from contextlib import suppress

from emulator.checks.app.state import Row
from emulator.checks.app.tables import EPOCH

DATE = re.compile(
    r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?(?:Z|[+-]\d\d:?\d\d))?)?"
)

LISTED = re.compile(rf"(?:\w+: \w+=)?['\"]?{DATE.pattern}")
"""The beginning of a line about a date, also of a row whose first column is a date."""

LATEST = 100_000_000_000
"""Numbers from ``EPOCH`` to here are times, in seconds."""


def undated(value: object, *, by_date: bool) -> object:
    """Return a check's result without its dates; ``by_date``: with what is listed by date."""
    if not isinstance(value, str):
        return _undated_part(value, by_date=by_date)
    if value.startswith(("{", "[")):
        with suppress(ValueError):
            return json.dumps(_undated_part(json.loads(value), by_date=by_date))
    lines = (line for line in value.splitlines() if by_date or not LISTED.match(line))
    return "\n".join(sorted(DATE.sub("{date}", line) for line in lines))


def undated_rows(rows: Iterable[Row], *, by_date: bool) -> tuple[Row, ...]:
    """Return the rows of tables without their dates, sorted; ``by_date``: with those by date."""
    kept = (row for row in rows if by_date or not LISTED.match(str(row)))
    return tuple(sorted(map(_undated_row, kept), key=str))


def _undated_row(row: Row) -> Row:
    return Row(row.table, tuple((name, undated(field, by_date=True)) for name, field in row.fields))


def _undated_part(value: object, *, by_date: bool) -> object:
    if isinstance(value, str):
        return DATE.sub("{date}", value)
    if isinstance(value, dict):
        dated = sorted(str(key) for key in value if DATE.fullmatch(str(key)))
        names = {key: f"{{date {number}}}" for number, key in enumerate(dated, 1)}
        return {
            names.get(str(key), key): _undated_part(part, by_date=by_date)
            for key, part in value.items()
            if by_date or str(key) not in names
        }
    if isinstance(value, list | tuple):
        return [_undated_part(part, by_date=by_date) for part in value]
    if isinstance(value, int | float) and EPOCH <= value < LATEST:
        return "{date}"
    return value
