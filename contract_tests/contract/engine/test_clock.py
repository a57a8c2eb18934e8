"""The clock alone: running, frozen and at a rate, whatever real time does (B-91)."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contract_tests.support.receiver import Receiver
from contract_tests.support.rules_harness import RulesHarness
from contract_tests.support.sandbox import Sandbox
from emulator.core import calendar
from emulator.core.jobs import Job
from emulator.core.world import World
from emulator.engine.outbox import WorkQueues
from emulator.engine.time_slices import LOOPS_PER_PAUSE, SLICE_SECONDS, TimeSlice
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


def test_a_fast_clock_with_nothing_due_is_not_behind(real: RealTime, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is shown is one reading: a year a second goes on by hours within a thousandth of a second."""
    clock = Clock(RUNNING, START, rate=31_536_000)

    def later() -> float:
        real.seconds += 0.01
        return real.seconds

    monkeypatch.setattr(real, "time", later)
    assert clock.read(RulesHarness().world).lag == 0


# -- A time slice alone: how long work goes on before other tasks run


def test_other_tasks_run_after_a_slice_of_work_in_few_steps_or_many(monkeypatch: pytest.MonkeyPatch) -> None:
    worked = 0.0
    monkeypatch.setattr(TimeSlice, "_elapsed", lambda self: worked)
    seen: list[int] = []

    async def others() -> None:
        while True:
            await asyncio.sleep(0)
            seen.append(number)

    async def work() -> None:
        nonlocal worked, number
        watching = asyncio.create_task(others())
        await asyncio.sleep(0)
        time_slice = TimeSlice()
        for step in [0.3] * 8 + [5, 5, 0.3, 0.3]:
            worked += step * SLICE_SECONDS
            number += 1
            await time_slice.pause_if_over()
        watching.cancel()

    number = 0
    asyncio.run(work())
    assert seen == [number for number in (4, 8, 9, 10) for _ in range(LOOPS_PER_PAUSE)]


# -- Work queues: what is put in while they are closed


@pytest.mark.parametrize("rounds", range(6))
def test_what_is_put_in_while_others_are_canceled_is_handled(rounds: int) -> None:
    """At whichever moment it comes, while a rewind waits for the deliveries that it canceled."""
    handled: list[str] = []

    async def handle(item: str) -> None:
        if item == "canceled":
            await asyncio.Event().wait()
        handled.append(item)

    async def put_later(queues: WorkQueues[str]) -> None:
        for _ in range(rounds):
            await asyncio.sleep(0)
        queues.put("another key", "later")

    async def play() -> None:
        queues = WorkQueues(handle)
        queues.put("a key", "canceled")
        await asyncio.sleep(0)
        await asyncio.gather(queues.close(), put_later(queues))
        await queues.settled()

    asyncio.run(play())
    assert handled == ["later"]


def test_closing_ends_when_what_is_handled_has_been_canceled() -> None:
    """As a connection to a receiver, which is closed before the server is."""
    cleared: list[str] = []

    async def handle(item: str) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            cleared.append(item)

    async def play() -> list[str]:
        queues = WorkQueues(handle)
        queues.put("a key", "delivery")
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        await queues.close()
        return list(cleared)

    assert asyncio.run(play()) == ["delivery"]


def test_closing_cancels_again_what_swallowed_a_cancellation() -> None:
    """As ``wait_for`` of Python 3.11, when a server has just been connected to."""

    async def handle(item: str) -> None:
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        await asyncio.Event().wait()

    async def play() -> None:
        queues = WorkQueues(handle)
        queues.put("a key", "email")
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        await asyncio.wait_for(queues.close(), 30)
        assert not queues.is_working

    asyncio.run(play())


def test_items_that_wait_for_nothing_let_others_run() -> None:
    """Deliveries that a fault loses are sent nowhere: a thousand of them hold up no request of another world."""
    handled: list[int] = []
    seen: list[int] = []

    async def handle(item: int) -> None:
        until = time.perf_counter() + 2 * SLICE_SECONDS
        while time.perf_counter() < until:
            pass
        handled.append(item)

    async def another_task() -> None:
        seen.append(len(handled))

    async def play() -> None:
        queues = WorkQueues(handle)
        for item in range(20):
            queues.put("a key", item)
        other = asyncio.create_task(another_task())
        await queues.settled()
        await other

    asyncio.run(play())
    assert len(handled) == 20
    assert seen[0] < 20


# -- A job that fails in our own code is undone and reported, and the others run (control-api.md, B-91)


@pytest.fixture
def spoilt(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Ids of subscriptions whose renewal does all that it should and then fails. The world is opened by it."""
    spoilt: set[str] = set()

    def renew(world: World, job: Job) -> None:
        JOBS["subscription.renew"](world, job)
        if job.about in spoilt:
            raise ArithmeticError("does not add up")

    wiring = REGISTRY._replace(jobs={**JOBS, "subscription.renew": renew})
    monkeypatch.setattr("emulator.server.sandbox.REGISTRY", wiring)
    sandbox.control.get("/clock")
    return spoilt


def subscribe(sandbox: Sandbox) -> Any:
    customer = sandbox.customer(phone="+24177000000")
    return sandbox.api.post("/subscriptions/", {"customer": customer["id"], "unit_amount": 500, "interval": "month"})


def test_a_failed_job_is_undone_and_named_and_the_others_go_on(
    sandbox: Sandbox, receiver: Receiver, spoilt: set[str]
) -> None:
    sandbox.api.post("/webhooks/", {"name": "Shop", "url": receiver.url, "events": ["transaction.succeeded"]})
    first, broken, last = (subscribe(sandbox) for _ in range(3))
    spoilt.add(broken["id"])
    before = sandbox.api.get(f"/subscriptions/{broken['id']}/")
    totals = sandbox.api.get(f"/customers/{broken['customer']}/")

    answer = sandbox.control.post("/clock/advance", {"by": "31d"})

    (failure,) = answer["failures"]
    assert (failure["kind"], failure["object"]) == ("subscription.renew", broken["id"])
    assert failure["error"] == "ArithmeticError: does not add up"
    assert (answer["now"], answer["jobs"]) == ("2026-02-01T00:00:00.000Z", 2)
    assert answer["events"]["transaction.succeeded"] == 2
    assert sandbox.api.get(f"/subscriptions/{broken['id']}/") == before
    assert sandbox.api.get(f"/customers/{broken['customer']}/") == totals
    assert sandbox.api.get("/transactions/", customer=broken["customer"])["pagination"]["count"] == 1
    for subscription in (first, last):
        renewed = sandbox.api.get(f"/subscriptions/{subscription['id']}/")
        assert renewed["current_period_end"] == "2026-03-01T00:00:00.000Z"
    assert len(receiver.events) == 3 + 2


def test_after_a_failure_the_schedule_is_whole(sandbox: Sandbox, spoilt: set[str]) -> None:
    """What failed does not come again; everything else comes at its time, as if it had not been."""
    first, broken, last = (subscribe(sandbox) for _ in range(3))
    spoilt.add(broken["id"])
    assert len(sandbox.control.post("/clock/advance", {"by": "31d"})["failures"]) == 1
    assert sandbox.control.get("/clock")["next_due_at"] == "2026-03-01T00:00:00.000Z"
    answer = sandbox.advance("P3M")
    assert answer["events"]["invoice.paid"] == 2 * 3
    assert {event["data"]["object"]["subscription"] for event in sandbox.events() if "intent" in event["type"]} == {
        first["id"],
        broken["id"],
        last["id"],
    }


def test_a_failure_stops_neither_requests_nor_other_worlds(sandbox: Sandbox, spoilt: set[str]) -> None:
    """Where no advance is under way, the next request meets the world as it would be without the job."""
    broken = subscribe(sandbox)
    spoilt.add(broken["id"])
    sandbox.control.post("/clock/run", {"rate": 31_536_000})
    while sandbox.now < "2026-03-01T00:00:00.000Z":
        assert (
            sandbox.api.get(f"/subscriptions/{broken['id']}/")["current_period_start"] == broken["current_period_start"]
        )
    assert sandbox.control.post("/clock/freeze")["next_due_at"] is None
