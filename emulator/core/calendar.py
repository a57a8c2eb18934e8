"""Calendar arithmetic on instants and days, which are text.

An instant is always 24 characters, ``YYYY-MM-DDTHH:MM:SS.mmmZ`` (B-17). As text it sorts in order
of time and is sent as it is, without encoding; it becomes a ``datetime`` only for arithmetic.
"""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import MAXYEAR, UTC, date, datetime, time, timedelta
from functools import lru_cache

Timestamp = str
"""An instant, UTC, ``YYYY-MM-DDTHH:MM:SS.mmmZ``."""

Date = str
"""A day, ``YYYY-MM-DD``."""

LAST: Timestamp = "9999-12-31T23:59:59.999Z"
"""The last instant of the calendar. It means "never": no clock reaches it."""

END: Timestamp = "9999-12-31T23:59:59.998Z"
"""The last instant a clock can show (B-91)."""

_DAYS = {"day": 1, "week": 7}

_MONTHS = {"month": 1, "year": 12}


def parse(instant: Timestamp) -> datetime:
    """Return the ``datetime`` (UTC, years 1 to 9999). Raises ``ValueError``, also for no offset."""
    moment = datetime.fromisoformat(instant)
    if moment.tzinfo is None:
        raise ValueError(f"{instant!r} has no UTC offset")
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise ValueError(f"{instant!r} is outside the calendar") from None


def stamp(moment: datetime) -> Timestamp:
    """Return the timestamp of a UTC ``datetime``, cut to milliseconds."""
    return moment.isoformat(timespec="milliseconds")[:-6] + "Z"


# Hours end with 23: Python 3.14 also reads 24:00:00, which RFC 3339 does not have.
_DATE_TIME = re.compile(
    r"\d{4}-\d\d-\d\dT([01]\d|2[0-3]):\d\d:\d\d(\.\d+)?(?P<offset>Z|[+-]\d\d:[0-5]\d)?", re.ASCII
)
_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)


def normalise(instant: str) -> Timestamp:
    """Return an instant as clients write it: a day (its midnight) or an RFC 3339 date-time (B-17).

    Without an offset it is UTC. Raises ``ValueError`` for other text, other forms of ISO 8601
    included, and for an instant outside the years 1 to 9999.
    """
    text = instant.upper()
    if _DAY.fullmatch(text):
        return midnight(date.fromisoformat(text).isoformat())
    date_time = _DATE_TIME.fullmatch(text)
    if date_time is None:
        raise ValueError(f"{instant!r} is no day and no date-time of RFC 3339")
    return stamp(parse(text if date_time["offset"] else text + "Z"))


def from_epoch(seconds: float) -> Timestamp:
    return stamp(datetime.fromtimestamp(seconds, UTC))


@lru_cache(maxsize=4096)  # objects made at one instant have their later instants in common
def plus(instant: Timestamp, *, days: float = 0, hours: float = 0, seconds: float = 0) -> Timestamp:
    """Return a later instant, or :data:`LAST` if the calendar ends before."""
    try:
        return stamp(parse(instant) + timedelta(days=days, hours=hours, seconds=seconds))
    except OverflowError:
        return LAST


@lru_cache(maxsize=4096)
def seconds_between(start: Timestamp, end: Timestamp) -> float:
    return (parse(end) - parse(start)).total_seconds()


@lru_cache(maxsize=4096)
def step(anchor: Timestamp, interval: str, count: int) -> Timestamp:
    """Return the instant ``count`` intervals after the anchor, clamped to the month's end (B-42).

    Always computed from the anchor, never from the last result: 31 January gives 28 February and
    then 31 March.
    """
    if interval in _DAYS:
        return plus(anchor, days=_DAYS[interval] * count)
    moment = parse(anchor)
    year, month = divmod(moment.year * 12 + moment.month - 1 + _MONTHS[interval] * count, 12)
    if year > MAXYEAR:
        return LAST
    return stamp(
        moment.replace(
            year=year, month=month + 1, day=min(moment.day, monthrange(year, month + 1)[1])
        )
    )


def business_days_after(instant: Timestamp, count: int) -> Timestamp:
    """Return the instant ``count`` business days (Monday to Friday, UTC) later, at the same time.

    Days are counted from Monday 00:00 if the instant is on a weekend (B-57).
    """
    moment = parse(instant)
    if moment.weekday() >= _SATURDAY:
        moment = datetime.combine(moment + timedelta(days=7 - moment.weekday()), time.min, UTC)
    weeks, rest = divmod(count, _SATURDAY)
    over_weekend = 2 if moment.weekday() + rest >= _SATURDAY else 0
    return plus(stamp(moment), days=weeks * 7 + rest + over_weekend)


_SATURDAY = 5
"""``weekday()`` of the first day after the five business days."""


def day(instant: Timestamp) -> Date:
    return instant[:10]


@lru_cache(maxsize=4096)
def day_plus(day: Date, days: int) -> Date:
    """Return the day ``days`` after a day or an instant's day, at most the calendar's last day."""
    try:
        return (date.fromisoformat(day[:10]) + timedelta(days=days)).isoformat()
    except OverflowError:
        return LAST[:10]


def midnight(day: Date) -> Timestamp:
    return f"{day}T00:00:00.000Z"
