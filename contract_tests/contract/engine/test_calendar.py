"""The calendar: instants as text, periods from an anchor, and where it all ends."""

from __future__ import annotations

import calendar as almanac
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.core import calendar

ANY = st.datetimes(timezones=st.just(UTC))
MOMENTS = ANY.map(lambda moment: moment.replace(microsecond=moment.microsecond // 1000 * 1000))
OFFSETS = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
PRESENT = ANY.filter(lambda moment: 1970 < moment.year < 2300)


@given(MOMENTS)
def test_an_instant_as_text_and_back(moment: datetime) -> None:
    """B-17: 24 characters, milliseconds, Z."""
    text = calendar.stamp(moment)
    assert len(text) == 24
    assert calendar.parse(text) == moment
    assert calendar.normalise(text) == text


@given(MOMENTS, MOMENTS)
def test_as_text_instants_sort_as_they_count(one: datetime, other: datetime) -> None:
    assert (calendar.stamp(one) < calendar.stamp(other)) == (one < other)


@given(PRESENT, OFFSETS)
def test_any_offset_names_the_same_instant(moment: datetime, zone: timezone) -> None:
    """B-17."""
    assert calendar.normalise(moment.astimezone(zone).isoformat()) == calendar.stamp(moment)


@pytest.mark.parametrize(
    "text",
    [
        *("", "now", "2026-01-01 00:00:00Z", "2026-01-01T00:00Z", "2025-12-31T24:00:00Z"),
        *("2026-01-01T00:00:00,5Z", "2026-02-30T00:00:00Z", "2026-01-01T25:00:00Z", "2026-13-01T00:00:00Z"),
        *("0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59-01:00", "10000-01-01T00:00:00Z"),
    ],
)
def test_what_is_no_instant_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        calendar.normalise(text)


def test_without_an_offset_an_instant_is_utc() -> None:
    """B-17."""
    assert calendar.normalise("2026-01-31T09:30:00") == "2026-01-31T09:30:00.000Z"


@given(st.integers(0, 8 * 10**12))
def test_unix_time_in_seconds(milliseconds: int) -> None:
    """Where a float still distinguishes one millisecond from the next: until the year 2223."""
    expected = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=milliseconds)
    assert calendar.from_epoch(milliseconds / 1000) == calendar.stamp(expected)


@given(PRESENT, st.integers(0, 10**5), st.integers(0, 10**6), st.integers(0, 10**8))
def test_plus_is_plain_addition(moment: datetime, days: int, hours: int, seconds: int) -> None:
    expected = calendar.parse(calendar.stamp(moment)) + timedelta(days=days, hours=hours, seconds=seconds)
    assert calendar.plus(calendar.stamp(moment), days=days, hours=hours, seconds=seconds) == calendar.stamp(expected)


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


@given(PRESENT, st.sampled_from([("day", 1), ("week", 7)]), st.integers(0, 5000))
def test_days_and_weeks_are_of_one_length(moment: datetime, unit: tuple[str, int], count: int) -> None:
    interval, days = unit
    anchor = calendar.stamp(moment)
    assert calendar.step(anchor, interval, count) == calendar.plus(anchor, days=days * count)


@given(PRESENT, st.sampled_from(["day", "week", "month", "year"]), st.integers(1, 12), st.integers(0, 60))
def test_periods_follow_each_other_without_gap_or_overlap(moment: datetime, interval: str, each: int, n: int) -> None:
    """Every boundary is after the one before, also across the ends of short months."""
    anchor = calendar.stamp(moment)
    assert calendar.step(anchor, interval, each * n) < calendar.step(anchor, interval, each * (n + 1))


@pytest.mark.parametrize("interval", ["day", "week", "month", "year"])
@pytest.mark.parametrize("count", [10**7, 10**12, 10**24])
def test_beyond_the_calendar_is_its_last_instant_which_no_clock_reaches(interval: str, count: int) -> None:
    assert calendar.step("2026-01-01T00:00:00.000Z", interval, count) == calendar.LAST
    assert calendar.plus("2026-01-01T00:00:00.000Z", days=float(count)) == calendar.LAST
    assert calendar.END < calendar.LAST


def test_the_last_year_of_the_calendar_is_reached() -> None:
    assert calendar.step("9998-12-31T00:00:00.000Z", "year", 1) == "9999-12-31T00:00:00.000Z"
    assert calendar.step("9999-11-30T00:00:00.000Z", "month", 1) == "9999-12-30T00:00:00.000Z"
    assert calendar.step("9999-12-30T00:00:00.000Z", "month", 1) == calendar.LAST


@given(st.dates(), st.integers(0, 10**6))
def test_days_and_midnights(date: datetime, days: int) -> None:
    day = date.isoformat()
    try:
        expected = (date + timedelta(days=days)).isoformat()
    except OverflowError:
        expected = "9999-12-31"
    assert calendar.day_plus(day, days) == expected
    assert calendar.day(calendar.midnight(day)) == day
    assert calendar.normalise(calendar.midnight(day)) == calendar.midnight(day)
