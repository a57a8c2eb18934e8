"""Calendar and sums: instants as text, periods from an anchor, the end of time, rates in %."""

from __future__ import annotations

import calendar as almanac
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from math import floor

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from emulator.core import calendar
from emulator.resources.app.amounts import percent

ANY = st.datetimes(timezones=st.just(UTC))
MOMENTS = ANY.map(lambda moment: moment.replace(microsecond=moment.microsecond // 1000 * 1000))
OFFSETS = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
PRESENT = ANY.filter(lambda moment: 1970 < moment.year < 2300)


@settings(max_examples=50)
@given(MOMENTS)
def test_the_text_of_an_instant_leads_back_to_it(moment: datetime) -> None:
    """B-17: 24 characters, milliseconds, Z. The default is UTC."""
    text = calendar.stamp(moment)
    assert len(text) == 24
    assert calendar.parse(text) == moment
    assert calendar.normalise(text) == calendar.normalise(text.removesuffix("Z")) == text


@settings(max_examples=50)
@given(MOMENTS, MOMENTS)
def test_the_order_of_texts_is_that_of_their_instants(moment: datetime, other: datetime) -> None:
    """B-17."""
    assert (calendar.stamp(moment) < calendar.stamp(other)) == (moment < other)


@settings(max_examples=50)
@given(PRESENT, OFFSETS)
def test_an_instant_of_any_offset_becomes_utc(present: datetime, zone: timezone) -> None:
    """B-17."""
    assert calendar.normalise(present.astimezone(zone).isoformat()) == calendar.stamp(present)


YEARS = (2023, 2024, 2100, 2000)
"""A common year, a leap year, a century that is none and one that is."""


@pytest.mark.parametrize("interval", ["month", "year"])
def test_a_month_or_year_keeps_the_anchors_day_or_the_months_last(interval: str) -> None:
    """B-42, from the first day and the last ones of every month of the year, thirty periods on."""
    months = [(year, month) for year in YEARS for month in range(1, 13)]
    for year, month, day in [
        (*month_of_year, day)
        for month_of_year in months
        for day in (1, *range(28, almanac.monthrange(*month_of_year)[1] + 1))
    ]:
        for count in range(31):
            total = year * 12 + month - 1 + count * (12 if interval == "year" else 1)
            at_year, at_month = total // 12, total % 12 + 1
            at_day = min(day, almanac.monthrange(at_year, at_month)[1])
            at = calendar.step(f"{year}-{month:02d}-{day:02d}T10:20:30.456Z", interval, count)
            assert at == f"{at_year}-{at_month:02d}-{at_day:02d}T10:20:30.456Z"


def test_days_and_weeks_have_their_length() -> None:
    """B-42."""
    anchor = "2026-02-27T09:30:00.000Z"
    assert calendar.step(anchor, "day", 2) == "2026-03-01T09:30:00.000Z"
    assert calendar.step(anchor, "week", 2) == "2026-03-13T09:30:00.000Z"


@pytest.mark.parametrize("interval", ["day", "week", "month", "year"])
def test_beyond_the_calendar_is_its_last_instant_which_no_clock_reaches(interval: str) -> None:
    for count in (10**7, 10**24):
        assert calendar.step("2026-01-01T00:00:00.000Z", interval, count) == calendar.LAST
        assert calendar.plus("2026-01-01T00:00:00.000Z", days=float(count)) == calendar.LAST
    assert calendar.step("9999-11-30T00:00:00.000Z", "month", 1) == "9999-12-30T00:00:00.000Z"
    assert calendar.day_plus("9999-12-30T08:00:00.000Z", 2) == "9999-12-31"
    assert calendar.END < calendar.LAST


# -- rates in per cent against exact fractions


AMOUNTS = st.integers(0, 10**15)
RATES = st.one_of(
    st.decimals(0, 100, places=4).map(float),
    st.floats(0, 100),
    st.sampled_from([0, 2.9, 3.5, 2.4, 1.9, 18, 100]),
)


@given(AMOUNTS, RATES)
@example(50, 1.0)  # half a unit, which bankers would round down
def test_a_share_by_a_decimal_rate_is_rounded_half_up(amount: int, rate: float) -> None:
    """B-23. The rate is the decimal number that a reader sees, not the nearest binary one."""
    assert percent(amount, rate) == floor(
        amount * Fraction(Decimal(str(rate))) / 100 + Fraction(1, 2)
    )
