"""Time is the same however it is walked: many subscriptions end alike after one long step and after many short ones."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contract_tests.support.long_runs import Extent, at_once, play, randomly

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
