"""The clock alone: running, frozen and at a rate, whatever real time does (B-91)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from freezegun import freeze_time
from freezegun.api import FrozenDateTimeFactory
from hypothesis import given
from hypothesis import strategies as st

from contract_tests.support.rules_harness import RulesHarness
from emulator.core import calendar
from emulator.engine.world_clock import FROZEN, RUNNING, Clock

START = "2026-01-01T00:00:00.000Z"


class RealTime:
    """Stands for ``time.time``: Unix seconds that a test moves as it likes, also back."""

    def __init__(self) -> None:
        self.seconds = datetime(2026, 1, 1, tzinfo=UTC).timestamp()

    def time(self) -> float:
        return self.seconds


@pytest.fixture
def real(monkeypatch: pytest.MonkeyPatch) -> RealTime:
    real = RealTime()
    monkeypatch.setattr("emulator.engine.world_clock.time", real)
    return real


def since_start(clock: Clock) -> float:
    """Seconds of the world since the start of 2026."""
    return (calendar.parse(clock.now()) - calendar.parse(START)).total_seconds()


def test_a_running_clock_goes_with_real_time(real: RealTime) -> None:
    clock = Clock()
    assert clock.now() == START
    real.seconds += 90.5
    assert clock.now() == "2026-01-01T00:01:30.500Z"


def test_a_frozen_clock_stands_until_it_is_set(real: RealTime) -> None:
    clock = Clock(FROZEN, START)
    real.seconds += 1000
    assert clock.now() == START
    clock.set("2026-01-02T00:00:00.000Z")
    real.seconds += 1000
    assert clock.now() == "2026-01-02T00:00:00.000Z"


@pytest.mark.parametrize("step", [0.0001, 0.0007, 0.0011, 0.0015, 0.0499])
@pytest.mark.parametrize("rate", [1, 7, 0.5])
def test_nothing_is_lost_however_often_it_is_read(real: RealTime, step: float, rate: float) -> None:
    """Fractions of a millisecond add up: after ten real seconds it is ten times the rate later."""
    clock = Clock()
    clock.run(rate)
    start = real.seconds
    for _ in range(round(10 / step)):
        real.seconds += step
        clock.now()
    assert since_start(clock) == pytest.approx((real.seconds - start) * rate, abs=0.002)


def test_the_rate_holds_from_the_instant_it_was_given(real: RealTime) -> None:
    clock = Clock()
    real.seconds += 10
    clock.run(60)
    real.seconds += 1
    assert since_start(clock) == 70
    clock.run()
    real.seconds += 1
    assert since_start(clock) == 71


def test_freezing_takes_the_present_instant_or_a_later_one(real: RealTime) -> None:
    clock = Clock()
    real.seconds += 5
    clock.freeze()
    real.seconds += 5
    assert (clock.mode, since_start(clock)) == (FROZEN, 5)
    clock.freeze("2026-01-01T00:00:08.000Z")
    assert since_start(clock) == 8
    clock.freeze(START)
    assert since_start(clock) == 8
    clock.run()
    real.seconds += 2
    assert (clock.mode, since_start(clock)) == (RUNNING, 10)


def test_setting_a_running_clock_to_the_past_loses_none_of_its_time(real: RealTime) -> None:
    clock = Clock()
    real.seconds += 5
    clock.set("2026-01-01T00:00:03.000Z")
    assert since_start(clock) == 5


MOVES = st.lists(
    st.one_of(
        st.tuples(st.just("real"), st.floats(-1e6, 1e6)),
        st.tuples(st.just("set"), st.integers(-(10**6), 10**6)),
        st.tuples(st.just("freeze"), st.integers(-(10**6), 10**6)),
        st.tuples(st.just("run"), st.sampled_from([0.001, 1.0, 60.0, 31_536_000.0])),
        st.tuples(st.just("read"), st.none()),
    ),
    max_size=30,
)


@given(MOVES)
def test_it_never_goes_back(moves: list[tuple[str, float]]) -> None:
    """Whatever happens to it and to real time, in any order."""
    with pytest.MonkeyPatch.context() as patch:
        real = RealTime()
        patch.setattr("emulator.engine.world_clock.time", real)
        clock = Clock()
        seen = clock.now()
        for move, amount in moves:
            if move == "real":
                real.seconds += amount
            elif move in ("set", "freeze"):
                getattr(clock, move)(calendar.plus(START, seconds=amount))
            elif move == "run":
                clock.run(amount)
            now = clock.now()
            assert seen <= now <= calendar.END
            seen = now


def test_it_waits_for_real_time_that_went_back(real: RealTime) -> None:
    """As when the system's clock is corrected; moved by the tester it goes on at once."""
    clock = Clock()
    real.seconds += 100
    clock.now()
    real.seconds -= 60
    assert since_start(clock) == 100
    real.seconds += 61
    assert since_start(clock) == 101
    real.seconds -= 60
    clock.set("2026-01-01T00:10:00.000Z")
    real.seconds += 1
    assert since_start(clock) == 601


def test_it_stops_at_the_end_of_the_calendar(real: RealTime) -> None:
    clock = Clock()
    clock.run(1e300)
    real.seconds += 1e9
    assert clock.now() == calendar.END < calendar.LAST
    real.seconds += 1e9
    assert clock.now() == calendar.END
    assert Clock(FROZEN, calendar.LAST).now() == calendar.END


def test_frozen_time_in_this_process_freezes_a_running_clock() -> None:
    """freezegun, jumping forth and back; a clock opened under it begins there."""
    with freeze_time("2030-01-01") as frozen:
        assert isinstance(frozen, FrozenDateTimeFactory)
        clock = Clock()
        assert clock.now() == "2030-01-01T00:00:00.000Z"
        frozen.tick(timedelta(days=31))
        assert clock.now() == "2030-02-01T00:00:00.000Z"
        frozen.move_to("2020-01-01")
        assert clock.now() == "2030-02-01T00:00:00.000Z"
        frozen.move_to("2030-03-01")
        assert clock.now() == "2030-03-01T00:00:00.000Z"
    with freeze_time("2031-01-01"):
        assert clock.now() == "2031-01-01T00:00:00.000Z"


def test_a_fast_clock_with_nothing_due_is_not_behind(real: RealTime, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is shown is one reading: a year a second goes on by hours within a thousandth of a second."""
    clock = Clock(RUNNING, START, rate=31_536_000)

    def later() -> float:
        real.seconds += 0.01
        return real.seconds

    monkeypatch.setattr(real, "time", later)
    assert clock.read(RulesHarness().world).lag == 0
