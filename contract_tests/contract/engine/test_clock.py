"""The clock alone: running, frozen and at a rate, whatever real time does (B-91)."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contract_tests.contract.engine.toys import NOW, agenda, make, toy_world, toys
from contract_tests.support.receiver import Receiver
from contract_tests.support.sandbox import Sandbox
from emulator.core import calendar
from emulator.core.jobs import Job
from emulator.core.world import World
from emulator.engine.advances import Target
from emulator.engine.outbox import WebhookSender
from emulator.engine.runtime import Runtime
from emulator.engine.world_clock import FROZEN, RUNNING, Clock
from emulator.resources.registry import JOBS, REGISTRY

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


def frozen(clock: Clock, at: str = START) -> Clock:
    clock.set(at)
    return clock.another(clock.now(), FROZEN)


def running(clock: Clock, rate: float = 1) -> Clock:
    return clock.another(clock.now(), RUNNING, rate)


def since_start(clock: Clock) -> float:
    """Seconds of the world since the start of 2026."""
    return (calendar.parse(clock.now()) - calendar.parse(START)).total_seconds()


def test_it_follows_real_time_at_its_rate_or_stands(real: RealTime) -> None:
    """A rate holds from the instant it was given; freezing takes the present instant or a later one."""
    clock = Clock()
    real.seconds += 10.5
    assert since_start(clock) == 10.5
    clock.set("2026-01-01T00:00:03.000Z")
    assert since_start(clock) == 10.5
    clock = running(clock, 60)
    real.seconds += 1
    assert since_start(clock) == 70.5
    clock = frozen(clock)
    real.seconds += 5
    assert (clock.mode, since_start(clock)) == (FROZEN, 70.5)
    for at in ("2026-01-01T00:01:20.000Z", START):
        clock = frozen(clock, at)
        assert since_start(clock) == 80
    clock.set("2026-01-01T00:01:30.000Z")
    clock = running(clock)
    real.seconds += 2
    assert (clock.mode, since_start(clock)) == (RUNNING, 92)


@pytest.mark.parametrize(("step", "rate"), [(0.0011, 1), (0.0499, 0.5)])
def test_nothing_is_lost_however_often_it_is_read(real: RealTime, step: float, rate: float) -> None:
    """Fractions of a millisecond add up: after ten real seconds it is ten times the rate later."""
    clock = running(Clock(), rate)
    start = real.seconds
    for _ in range(round(10 / step)):
        real.seconds += step
        clock.now()
    assert since_start(clock) == pytest.approx((real.seconds - start) * rate, abs=0.002)


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
            elif move == "set":
                clock.set(calendar.plus(START, seconds=amount))
            elif move == "freeze":
                clock = frozen(clock, calendar.plus(START, seconds=amount))
            elif move == "run":
                clock = running(clock, amount)
            now = clock.now()
            assert seen <= now <= calendar.END
            seen = now


# -- Work queues: what is put in while they are closed


# -- A job that fails in our own code is undone and reported, and the others run (control-api.md, B-91)


@pytest.fixture
def spoilt(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Ids of invoices whose job does all that it should and then fails. The world is opened by it."""
    spoilt: set[str] = set()

    def overdue(world: World, job: Job) -> None:
        JOBS["invoice.overdue"](world, job)
        if job.about in spoilt:
            raise ArithmeticError("does not add up")

    wiring = REGISTRY._replace(jobs={**JOBS, "invoice.overdue": overdue})
    monkeypatch.setattr("emulator.server.sandbox.REGISTRY", wiring)
    sandbox.control.get("/clock")
    return spoilt


def test_a_failed_job_is_undone_and_named_and_the_others_go_on(
    sandbox: Sandbox, receiver: Receiver, spoilt: set[str]
) -> None:
    """It does not come again; everything else comes at its time, as if it had not been."""
    sandbox.endpoint(receiver.url, "invoice.payment_overdue")
    first, broken, last, later = (sandbox.invoice(due_date=f"2026-01-{day}") for day in ("02", "02", "02", "20"))
    spoilt.add(broken["id"])
    answer = sandbox.control.post("/clock/advance", {"by": "10d"})
    (failure,) = answer["failures"]
    assert (failure["kind"], failure["object"]) == ("invoice.overdue", broken["id"])
    assert failure["error"] == "ArithmeticError: does not add up"
    assert (answer["now"], answer["jobs"]) == ("2026-01-11T00:00:00.000Z", 2)
    assert [event["data"]["object"]["id"] for event in receiver.events] == [first["id"], last["id"]]
    assert sandbox.api.get(f"/invoices/{broken['id']}/") == broken
    sandbox.advance("P1M")
    assert [event["data"]["object"]["id"] for event in receiver.events[2:]] == [later["id"]]


# -- Due jobs and advances, by themselves in worlds of toys


def later(days: float) -> str:
    return calendar.plus(NOW, days=days)


def play(world: World, job: Job) -> None:
    """A job that leaves a toy: of its number, made now."""
    make(world, size=int(job.data.get("number", "0")), created_at=world.now)


TOY_JOBS = {"play": play}


@given(st.lists(st.integers(0, 9), max_size=12), st.integers(0, 9))
def test_an_advance_runs_what_is_due_in_order_at_its_own_time(days: list[int], until: int) -> None:
    """B-91: in order of (due, creation), each seeing the clock at its own due time; what is due later waits."""
    runtime = Runtime(toy_world(TOY_JOBS), Clock(FROZEN, NOW), WebhookSender(5))
    with runtime.world.unit_of_work():
        for number, day in enumerate(days):
            runtime.world.schedule(later(day), "play", number=str(number))
    result = asyncio.run(runtime.advances.run(lambda: Target(later(until))))
    expected = sorted((day, number) for number, day in enumerate(days))
    made = [(later(day), number) for day, number in expected if day <= until]
    assert [(toy.created_at, toy.size) for toy in toys(runtime.world)] == made
    assert (result.jobs, result.start, result.failures) == (len(made), NOW, [])
    assert [job.due for job in agenda(runtime.world)] == [later(day) for day, _ in expected if day > until]
    assert runtime.clock.now() == runtime.world.now == later(until)
