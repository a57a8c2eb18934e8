"""The calendar: instants as text, periods from an anchor, and where it all ends."""

from __future__ import annotations

import calendar as almanac
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.core import calendar

ANY = st.datetimes(timezones=st.just(UTC))
MOMENTS = ANY.map(lambda moment: moment.replace(microsecond=moment.microsecond // 1000 * 1000))
OFFSETS = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
PRESENT = ANY.filter(lambda moment: 1970 < moment.year < 2300)


@settings(max_examples=50)
@given(MOMENTS, MOMENTS, PRESENT, OFFSETS)
def test_an_instant_as_text_and_back(moment: datetime, other: datetime, present: datetime, zone: timezone) -> None:
    """B-17: 24 characters, milliseconds, Z; in the order of time, and of any offset. Without an offset it is UTC."""
    text = calendar.stamp(moment)
    assert len(text) == 24
    assert calendar.parse(text) == moment
    assert calendar.normalise(text) == calendar.normalise(text.removesuffix("Z")) == text
    assert (text < calendar.stamp(other)) == (moment < other)
    assert calendar.normalise(present.astimezone(zone).isoformat()) == calendar.stamp(present)


YEARS = (2023, 2024, 2100, 2000)
"""A common year, a leap year, a century that is none and one that is."""


@pytest.mark.parametrize("year", YEARS)
@pytest.mark.parametrize("day", range(1, 32))
@pytest.mark.parametrize("interval", ["month", "year"])
def test_months_and_years_keep_the_anchors_day_or_the_months_last(year: int, day: int, interval: str) -> None:
    """B-42, from every day of every month of the year, thirty periods on."""
    for month in range(1, 13):
        if day > almanac.monthrange(year, month)[1]:
            continue
        anchor = f"{year}-{month:02d}-{day:02d}T10:20:30.456Z"
        for count in range(31):
            total = year * 12 + month - 1 + count * (12 if interval == "year" else 1)
            at_year, at_month = total // 12, total % 12 + 1
            at_day = min(day, almanac.monthrange(at_year, at_month)[1])
            assert calendar.step(anchor, interval, count) == f"{at_year}-{at_month:02d}-{at_day:02d}T10:20:30.456Z"


@given(PRESENT, st.sampled_from(["day", "week", "month", "year"]), st.integers(1, 12), st.integers(0, 60))
def test_periods_follow_each_other_without_gap_or_overlap(moment: datetime, interval: str, each: int, n: int) -> None:
    """Every boundary is after the one before, also across the ends of short months; days and weeks are of one length."""
    anchor = calendar.stamp(moment)
    here, after = (calendar.step(anchor, interval, each * number) for number in (n, n + 1))
    assert here < after
    if interval in ("day", "week"):
        assert after == calendar.plus(here, days=each * (7 if interval == "week" else 1))


@pytest.mark.parametrize("interval", ["day", "week", "month", "year"])
def test_beyond_the_calendar_is_its_last_instant_which_no_clock_reaches(interval: str) -> None:
    for count in (10**7, 10**24):
        assert calendar.step("2026-01-01T00:00:00.000Z", interval, count) == calendar.LAST
        assert calendar.plus("2026-01-01T00:00:00.000Z", days=float(count)) == calendar.LAST
    assert calendar.step("9999-11-30T00:00:00.000Z", "month", 1) == "9999-12-30T00:00:00.000Z"
    assert calendar.END < calendar.LAST
