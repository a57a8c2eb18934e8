"""Steps of the system's clock, which running clocks ignore; set time, which they follow (B-91)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import time_machine
from freezegun import freeze_time

from contract_tests.support.sandbox import START, RunningServer, Sandbox
from emulator.core import calendar
from emulator.core.calendar import Timestamp
from emulator.engine.clock import Clock
from emulator.engine.real_time import RealTime

Shift = Callable[[timedelta], object]
Stop = Callable[[str], AbstractContextManager[Shift]]


class Machine:
    """The clocks of a machine: a test may set ``time``; only what passes moves ``elapsed``."""

    def __init__(self) -> None:
        self.step = 0.0
        self.passed = 0.0

    def time(self) -> float:
        return calendar.parse(START).timestamp() + self.step + self.passed

    def elapsed(self) -> float:
        return self.passed


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    machine = Machine()
    monkeypatch.setattr("emulator.engine.real_time.time", machine)
    monkeypatch.setattr("emulator.engine.real_time.elapsed", machine.elapsed)
    return machine


def after(seconds: float) -> Timestamp:
    return calendar.plus(START, seconds=seconds)


def running_server(**options: Any) -> RunningServer:
    return RunningServer(clock_mode="running", clock_at=None, **options)


@pytest.mark.parametrize("rate", [1, 60])
@pytest.mark.parametrize("step", [-3600, 86400, -1_000_000_000])
def test_a_step_of_the_systems_clock_neither_stops_nor_moves_a_world(
    machine: Machine, step: float, rate: float
) -> None:
    """Its jobs are done as time passes, without a request."""
    with running_server() as server, server.world("stepped") as sandbox:
        sandbox.control.post("/clock/run", {"rate": rate})
        trial = {
            "customer": sandbox.customer()["id"],
            "unit_amount": 500,
            "interval": "day",
            "trial_period_days": 4,
        }
        sandbox.api.post("/subscriptions/", trial)
        machine.passed += 100
        assert sandbox.now == after(100 * rate)
        machine.step += step
        assert sandbox.now == after(100 * rate)
        machine.passed += 2 * 86400 / rate
        (event,) = sandbox.control.get("/events", type="subscription.trial_will_end", wait=30)[
            "data"
        ]
        assert event["created_at"] == "2026-01-02T00:00:00.000Z"
        assert sandbox.now == after(100 * rate + 2 * 86400)


def test_a_new_world_begins_at_the_real_time_of_its_server(machine: Machine) -> None:
    with running_server() as server:
        machine.step += 86400
        machine.passed += 10
        with server.world("late") as sandbox:
            assert sandbox.now == after(10)


def test_a_stored_clock_that_the_same_server_reads_counts_what_passed(machine: Machine) -> None:
    clock = Clock(real_time=RealTime())
    now, since = clock.now(), clock.wall()
    machine.step -= 3600
    machine.passed += 10
    again = clock.another(now)
    again.resume_from(now, since)
    assert (again.now(), clock.now()) == (after(10), after(10))


@pytest.mark.parametrize(("step", "start"), [(-3600.0, 60.0), (86400.0, 86400.0 + 60 + 30)])
def test_a_world_goes_on_from_the_systems_clock_at_a_start(
    machine: Machine, tmp_path: Path, step: float, start: float
) -> None:
    """Set back, the clock counts no time between the two servers; either way it runs."""
    place = f"sqlite:{tmp_path}/worlds.db"
    with (
        running_server(state=place) as server,
        closing(Sandbox(server.url, "sk_test_stored")) as stored,
    ):
        machine.passed += 60
        stored.customer()
        machine.step += step
    machine.passed += 30
    with (
        running_server(state=place) as server,
        closing(Sandbox(server.url, "sk_test_stored")) as stored,
    ):
        assert stored.now == after(start)
        machine.passed += 5
        assert stored.now == after(start + 5)


@contextmanager
def frozen(instant: str) -> Iterator[Shift]:
    """Freeze time by freezegun, and give the function that moves it on."""
    with freeze_time(instant) as time:
        yield time.tick


@contextmanager
def traveled(instant: str) -> Iterator[Shift]:
    """Stop time by time-machine, and give the function that moves it on."""
    with time_machine.travel(instant, tick=False) as time:
        yield time.shift


@pytest.mark.parametrize("stop", [frozen, traveled])
def test_a_running_clock_follows_the_time_that_a_test_sets(stop: Stop) -> None:
    with (
        running_server() as server,
        server.world("followed") as sandbox,
        stop("2040-01-01T00:00:00+00:00") as shift,
    ):
        assert sandbox.now == "2040-01-01T00:00:00.000Z"
        shift(timedelta(days=31))
        assert sandbox.now == "2040-02-01T00:00:00.000Z"


@pytest.mark.parametrize("stop", [frozen, traveled])
def test_a_server_that_starts_at_the_time_of_a_test_has_that_time(stop: Stop) -> None:
    with (
        stop("2001-01-01T00:00:00+00:00") as shift,
        running_server() as server,
        server.world("early") as sandbox,
    ):
        assert sandbox.now == "2001-01-01T00:00:00.000Z"
        shift(timedelta(seconds=1))
        assert sandbox.now == "2001-01-01T00:00:01.000Z"
