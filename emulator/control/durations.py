"""Durations as people write them: ISO 8601 (``P1M``, ``PT90S``) or short (``31d``, ``2h``, ``90s``)."""

from __future__ import annotations

import re
from datetime import timedelta

from emulator.core import calendar
from emulator.core.calendar import Timestamp

_SHORT = re.compile(r"(\d{1,9})(w|d|h|m|s)", re.ASCII)
_UNITS = {"w": "weeks", "d": "days", "h": "hours", "m": "minutes", "s": "seconds"}


class NoDuration(ValueError):
    """A text that is no duration."""


def after(instant: Timestamp, duration: str) -> Timestamp:
    """The instant so much later; a month from a month's end is clamped (B-91).

    Raises ``ValueError`` with a sentence for what is no duration, is not positive or leads beyond the calendar.
    """
    try:
        later = calendar.stamp(calendar.parse(instant) + _span(duration))
    except NoDuration:
        raise
    except (OverflowError, ValueError):
        later = calendar.LAST
    if later <= instant:
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
        raise NoDuration("must be a duration such as 31d, 2h, 90s, P1M or PT90S") from None
    return span
