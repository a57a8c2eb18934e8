"""Durations: ISO 8601 (``P1M``, ``PT90S``) or the short form (``31d``, ``2h``, ``90s``)."""

from __future__ import annotations

import re
from datetime import timedelta

from emulator.core import calendar
from emulator.core.calendar import Timestamp

_SHORT = re.compile(r"(\d{1,9})(w|d|h|m|s)", re.ASCII)
_UNITS = {"w": "weeks", "d": "days", "h": "hours", "m": "minutes", "s": "seconds"}


class InvalidDuration(ValueError):
    """A text that is not a duration."""


def after(instant: Timestamp, duration: str, *, may_be_zero: bool = False) -> Timestamp:
    """The instant a duration later; a month from the end of a month is clamped to the next month's end (B-91).

    Raises ``ValueError`` with a message for an invalid or negative duration, for one of zero unless it ``may_be_zero``,
    and for one beyond the year 9999.
    """
    try:
        later = calendar.stamp(calendar.parse(instant) + _span(duration))
    except InvalidDuration:
        raise
    except (OverflowError, ValueError):
        later = calendar.LAST
    if later < instant or (later == instant and not may_be_zero):
        raise ValueError("must be longer than nothing")
    if later > calendar.END:
        raise ValueError(f"{duration} leads beyond the year 9999")
    return later


def _span(duration: str) -> timedelta:
    if short := _SHORT.fullmatch(duration):
        return timedelta(**{_UNITS[short[2]]: int(short[1])})
    # Loaded on first use: most tests use the short form.
    import isodate

    try:
        span: timedelta = isodate.parse_duration(duration)
    except (isodate.ISO8601Error, TypeError):
        raise InvalidDuration("must be a duration such as 31d, 2h, 90s, P1M or PT90S") from None
    return span
