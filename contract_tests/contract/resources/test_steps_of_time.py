"""Time is the same however it is walked: many subscriptions end alike after one long step and after many short ones."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contract_tests.support.long_runs import Extent, at_once, play, randomly
from emulator.core import calendar

TWO_YEARS = Extent(subscriptions=200, days=730, acts=150)


@pytest.mark.long
@settings(max_examples=4, deadline=None)
@given(seed=st.integers(0, 10**6), other=st.integers(0, 10**6))
def test_random_steps_end_as_one_step_does(seed: int, other: int) -> None:
    """B-91: jobs run at their own time, so it does not matter where an advance stops."""
    whole = play(seed, at_once, TWO_YEARS)
    pieces = play(seed, randomly(random.Random(other)), TWO_YEARS)
    assert whole.failed_jobs() == pieces.failed_jobs() == []
    assert whole.everything() == pieces.everything()
    assert whole.world.counters == pieces.world.counters


@settings(max_examples=200)
@given(
    start=st.datetimes(min_value=calendar.parse("2020-01-01T00:00:00Z").replace(tzinfo=None)).filter(
        lambda moment: moment.year < 9000
    ),
    interval=st.sampled_from(["day", "week", "month", "year"]),
    count=st.integers(1, 24),
)
def test_boundaries_follow_the_anchor(start: object, interval: str, count: int) -> None:
    """B-42: each boundary is after the one before, on the anchor's day or its month's last, at the anchor's time."""
    anchor = f"{start:%Y-%m-%dT%H:%M:%S}.000Z"
    boundaries = [calendar.step(anchor, interval, count * number) for number in range(14)]
    assert all(first < second for first, second in pairwise(boundaries))
    for boundary in boundaries:
        assert boundary[10:] == anchor[10:]
        if interval in ("month", "year"):
            day, month_end = int(boundary[8:10]), calendar.day_plus(boundary[:10], 1)[8:] == "01"
            assert day == int(anchor[8:10]) or (month_end and day < int(anchor[8:10]))
