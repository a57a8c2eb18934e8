"""A runtime by itself, with a world of toys: units of work, due jobs, advances, and cancellation between them."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Generator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contract_tests.contract.engine.toys import NOW, Toy, Undone, agenda, make, toy_world, toys
from emulator.core import calendar
from emulator.core.jobs import Job, JobQueue
from emulator.core.unit_of_work import HttpResult, PingEndpoint
from emulator.core.world import World
from emulator.engine.advances import Target
from emulator.engine.clock import Scheduler
from emulator.engine.engine import Engine
from emulator.engine.outbox import WebhookSender
from emulator.engine.pubsub import ENCODED_BYTES, MAX_WAITING, EncodedMessages, Message
from emulator.engine.reference_data import ReferenceData
from emulator.engine.runtime import Runtime
from emulator.engine.world_clock import FROZEN, RUNNING, Clock
from emulator.resources.app.clients import Key
from emulator.resources.webhooks.endpoints import RetryPolicy, WebhookEndpoint

ENDPOINT = WebhookEndpoint(
    id="wh_1",
    app="app_1",
    name="Shop",
    url="http://receiver",
    events=("*",),
    security_profile="HMAC_SHA256",
    ssl_verification=True,
    retry_policy=RetryPolicy(),
    metadata={},
    livemode=False,
    created_at="2026-01-01T00:00:00.000Z",
    updated_at="2026-01-01T00:00:00.000Z",
    secret="whsec_1",
)
PING = PingEndpoint(endpoint=ENDPOINT, event="evt_1", body=b"")


class Answering(WebhookSender):
    """A sender that answers itself, after other tasks ran."""

    async def send(self, url: str, headers: dict[str, str], body: bytes, **options: Any) -> HttpResult:
        await asyncio.sleep(0)
        return HttpResult(status_code=200)


def later(days: float) -> str:
    return calendar.plus(NOW, days=days)


def play(world: World, job: Job) -> None:
    """A job that leaves a toy: of its number, made now."""
    make(world, size=int(job.data.get("number", "0")), created_at=world.now)


def again(world: World, job: Job) -> None:
    """A job that comes back each year."""
    play(world, job)
    world.schedule(calendar.step(world.now, "year", 1), "again")


JOBS = {"play": play, "again": again}


def new_runtime(mode: str = FROZEN) -> Runtime:
    return Runtime(toy_world(JOBS), Clock(mode, NOW), Answering())


MANY = 150
"""Jobs of an advance between which other tasks run."""


@pytest.fixture
def pause_after_each_job(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other tasks run after every single job, however quick it was."""
    monkeypatch.setattr("emulator.engine.time_slices.SLICE_SECONDS", -1.0)


def plan(runtime: Runtime, *jobs: tuple[float, str]) -> None:
    """Jobs, so many days ahead, each with its number."""
    with runtime.world.unit_of_work():
        for number, (days, name) in enumerate(jobs):
            runtime.world.schedule(later(days), name, number=str(number))


def run(coroutine: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(coroutine)


def to(days: float) -> Any:
    """Return the target of an advance to so many days after the start."""
    return lambda: Target(later(days))


@given(st.lists(st.integers(0, 9), max_size=12), st.integers(0, 9))
def test_an_advance_runs_what_is_due_in_order_at_its_own_time(days: list[int], until: int) -> None:
    """B-91: in order of (due, creation), each seeing the clock at its own due time; what is due later waits."""
    runtime = new_runtime()
    plan(runtime, *((day, "play") for day in days))
    result = run(runtime.advances.run(to(until)))
    expected = sorted((day, number) for number, day in enumerate(days))
    made = [(later(day), number) for day, number in expected if day <= until]
    assert [(toy.created_at, toy.size) for toy in toys(runtime.world)] == made
    assert (result.jobs, result.start, result.failures) == (len(made), NOW, [])
    assert [job.due for job in agenda(runtime.world)] == [later(day) for day, _ in expected if day > until]
    assert runtime.clock.now() == runtime.world.now == later(until)


def test_a_job_of_an_unknown_name_fails_like_any_other() -> None:
    runtime = new_runtime()
    plan(runtime, (1, "unheard of"), (1, "play"))
    result = run(runtime.advances.run(to(1)))
    assert [failed.error for failed in result.failures] == ["KeyError: 'unheard of'"]
    assert result.jobs == 1


def test_a_target_is_computed_when_deliveries_under_way_have_their_outcome(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next job may be the retry of a delivery that has no outcome yet."""
    runtime = new_runtime()
    plan(runtime, (2, "play"))

    async def settle() -> None:
        if len(agenda(runtime.world)) == 1 and runtime.clock.now() == NOW:
            plan(runtime, (1, "play"))

    def to_the_next() -> Target:
        job = runtime.world.jobs.next()
        assert job is not None
        return Target(job.due)

    monkeypatch.setattr(runtime.outbox, "deliveries_settled", settle)
    run(runtime.advances.run(to_the_next))
    assert runtime.clock.now() == later(1)


def test_a_target_that_is_rejected_changes_nothing_and_the_next_advance_runs() -> None:
    runtime = new_runtime()

    def reject() -> Target:
        raise Undone

    with pytest.raises(Undone):
        run(runtime.advances.run(reject))
    run(runtime.advances.run(to(1)))
    assert runtime.clock.now() == later(1)


@pytest.mark.usefixtures("pause_after_each_job")
def test_a_canceled_advance_stops_between_two_jobs() -> None:
    """Nothing is half done, and the next one takes up what is left."""
    runtime = new_runtime()
    plan(runtime, *((1, "play") for _ in range(MANY)))

    async def cancel() -> None:
        advance = asyncio.create_task(runtime.advances.run(to(1)))
        while not toys(runtime.world):
            await asyncio.sleep(0)
        advance.cancel()
        with pytest.raises(asyncio.CancelledError):
            await advance
        assert len(toys(runtime.world)) + len(agenda(runtime.world)) == MANY
        assert agenda(runtime.world)
        await runtime.advances.run(to(1))

    run(cancel())
    assert [toy.size for toy in toys(runtime.world)] == list(range(MANY))


def test_a_world_that_is_closed_ends_every_advance_begun_or_not() -> None:
    runtime = new_runtime()
    plan(runtime, (1, "play"))

    async def close() -> list[str]:
        advances = [runtime.advances.begin(to(9)) for _ in range(3)]
        await runtime.close()
        return [advance.status for advance in advances]

    assert run(close()) == ["stopped"] * 3
    assert (toys(runtime.world), runtime.clock.now()) == ([], NOW)


def test_an_advance_that_fails_says_why_and_the_next_one_runs() -> None:
    runtime = new_runtime()
    plan(runtime, (1, "play"))

    async def both() -> list[tuple[str, str]]:
        broken = runtime.advances.begin(lambda: Target(later(3), lambda result: result.jobs < 1 / 0))
        sound = runtime.advances.begin(to(1))
        await asyncio.wait([broken.task, sound.task])
        return [(advance.status, repr(advance.error)) for advance in (broken, sound)]

    assert run(both()) == [("failed", "ZeroDivisionError('division by zero')"), ("completed", "None")]


@pytest.mark.usefixtures("pause_after_each_job")
def test_other_tasks_run_during_a_long_advance() -> None:
    runtime = new_runtime()
    plan(runtime, *((1, "play") for _ in range(MANY)))

    async def watch() -> set[int]:
        advance = asyncio.create_task(runtime.advances.run(to(1)))
        seen = set()
        while not advance.done():
            await asyncio.sleep(0)
            seen.add(len(toys(runtime.world)))
        return seen

    assert run(watch()) >= set(range(1, MANY + 1))


def test_an_advance_to_the_end_of_the_calendar_ends() -> None:
    """A yearly job has a last time: what would be due beyond the calendar never is."""
    runtime = new_runtime()
    plan(runtime, (0, "again"))
    result = run(runtime.advances.run(lambda: Target(calendar.LAST)))
    assert result.jobs == 9999 - 2026 + 1
    assert runtime.clock.now() == calendar.END
    assert [job.due for job in agenda(runtime.world)] == [calendar.LAST]
    runtime.run_due()
    assert len(agenda(runtime.world)) == 1


def test_a_command_that_waits_is_one_unit_of_work_for_each_stretch() -> None:
    """What it did before it asked is committed; what it did afterwards is undone if it raises."""
    runtime = new_runtime()

    def ask(world: World, rejected: bool) -> Generator[PingEndpoint, HttpResult, int | None]:
        make(world, colour="before")
        answer = yield PING
        make(world, colour="between")
        answer = yield PING
        make(world, colour="after")
        if rejected:
            raise Undone
        return answer.status_code

    with pytest.raises(Undone):
        run(runtime.serve(ask, {"rejected": True}, "req_1"))
    assert [toy.colour for toy in toys(runtime.world)] == ["before", "between"]
    assert run(runtime.serve(ask, {"rejected": False}, "req_2")) == 200
    assert len(toys(runtime.world)) == 5


def test_while_a_command_waits_the_world_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second stretch sees the world as it has become, its clock included."""
    runtime = new_runtime()
    plan(runtime, (1, "play"))

    def ask(world: World) -> Generator[PingEndpoint, HttpResult, tuple[str, int]]:
        yield PING
        return world.now, len(toys(world))

    async def both() -> Any:
        there = asyncio.Event()

        async def answer_late(self: Answering, *sent: object, **how: object) -> HttpResult:
            await there.wait()
            return HttpResult(status_code=200)

        monkeypatch.setattr(Answering, "send", answer_late)
        command = asyncio.create_task(runtime.serve(ask, {}, None))
        await runtime.advances.run(to(1))
        there.set()
        return await command

    assert run(both()) == (later(1), 1)


def test_a_rejected_command_leaves_only_its_request_id_used() -> None:
    """B-93: ids go on after the one in the error."""
    runtime, twin = new_runtime(), new_runtime()

    def reject(world: World) -> None:
        make(world)
        raise Undone

    runtime.request_id()
    with pytest.raises(Undone):
        run(runtime.serve(reject, {}, "req_1"))
    twin.request_id()
    assert runtime.request_id() == twin.request_id()


async def hear(runtime: Runtime, *kinds: str, timeout: float = 60) -> list[Message]:
    with runtime.broker.subscribe(kinds) as subscriber:
        return await subscriber.next_batch(timeout)


def emit(runtime: Runtime, **toy: Any) -> None:
    """Commit a command that emits an event."""
    runtime.commit(lambda world: world.emit("toy.made", make(world, **toy)), {})


def test_waiting_for_messages_ends_with_the_first_event_or_the_timeout() -> None:
    runtime = new_runtime()

    async def wait() -> None:
        waiting = [asyncio.create_task(hear(runtime, "event")) for _ in range(3)]
        await asyncio.sleep(0)
        await runtime.serve(make, {}, None)
        assert not any(task.done() for task in waiting)
        emit(runtime)
        assert [[message.about.type for message in heard] for heard in await asyncio.gather(*waiting)] == [
            ["toy.made"]
        ] * 3
        assert await hear(runtime, "event", timeout=0.001) == []
        waiting[0] = asyncio.create_task(hear(runtime, "event"))
        await asyncio.sleep(0)
        waiting[0].cancel()
        await asyncio.wait(waiting[:1])

    run(wait())
    assert not runtime.broker.is_followed


def test_messages_that_are_not_fetched_are_bounded_and_the_oldest_are_lost() -> None:
    runtime = new_runtime()

    async def fall_behind() -> None:
        with runtime.broker.subscribe(["event"]) as listener:
            for _ in range(MAX_WAITING + 3):
                emit(runtime)
            heard = await listener.next_batch(60)
        assert listener.lost == 3
        assert [message.number for message in heard] == list(range(4, MAX_WAITING + 4))

    run(fall_behind())


def test_a_message_is_encoded_once_and_few_of_them_are_held() -> None:
    encoded, messages = EncodedMessages(), [Message(number, "event", None) for number in range(20)]
    calls: list[int] = []

    def encode(message: Message) -> bytes:
        calls.append(message.number)
        return bytes(ENCODED_BYTES // 10)

    for message in messages:
        assert encoded.of(message, encode) is encoded.of(message, encode)
    assert calls == list(range(20))
    encoded.of(messages[10], encode)
    encoded.of(messages[9], encode)
    assert calls == [*range(20), 9]


def test_the_end_of_a_world_is_the_end_of_its_messages() -> None:
    runtime = new_runtime()

    async def end() -> None:
        waiting = asyncio.create_task(hear(runtime, "event"))
        await asyncio.sleep(0)
        await runtime.close()
        assert await waiting == await hear(runtime, "event") == []

    run(end())


def test_a_long_advance_reports_the_clock_now_and_then() -> None:
    """Of a thousand jobs in a moment not a thousand times, and the last word is where it arrived."""
    runtime = new_runtime()

    async def advance() -> None:
        with runtime.broker.subscribe(["clock"]) as listener:
            await runtime.advances.run(lambda: Target(later(500)))
            heard = await listener.next_batch(60)
        assert 1 <= len(heard) < 50
        assert heard[-1].about.now == later(500)

    with runtime.world.unit_of_work():
        for number in range(1000):
            runtime.world.schedule(later(number / 2), "play")
    run(advance())


def test_running_clocks_run_their_jobs_by_themselves_whatever_happens_to_other_worlds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runtimes: dict[str, Runtime] = {}

    def build(key: Key) -> tuple[World, Clock]:
        world = toy_world(JOBS)
        with world.unit_of_work():
            world.schedule(NOW, "play")
        return world, Clock(RUNNING, NOW)

    async def go() -> None:
        engine = Engine(build, ReferenceData(), Answering())
        for name in ("broken", "sound"):
            runtimes[name] = await engine.open(Key(name, livemode=False))
        broken, next_job = runtimes["broken"].world.jobs, JobQueue.next
        monkeypatch.setattr(JobQueue, "next", lambda jobs: 1 / 0 if jobs is broken else next_job(jobs))
        await engine.start()
        while not runtimes["sound"].world.table(Toy):
            await asyncio.sleep(0.001)
        await engine.stop()

    run(asyncio.wait_for(go(), 10))


@pytest.mark.usefixtures("pause_after_each_job")
def test_worlds_with_a_backlog_alternate_and_nothing_is_visited_that_is_not_due() -> None:
    """Two worlds are a job apart at most; a third one, whose clock is frozen, is never asked for a slice."""
    scheduler, runtimes = Scheduler(), []
    for mode in (RUNNING, RUNNING, FROZEN):
        runtime = Runtime(toy_world(JOBS), Clock(mode, NOW), Answering(), scheduler=scheduler)
        plan(runtime, *((0 if mode == RUNNING else 1, "play") for _ in range(MANY)))
        scheduler.plan(runtime)
        runtimes.append(runtime)
    first, second, frozen = runtimes

    async def watch() -> None:
        scheduler.look()
        while any(len(toys(runtime.world)) < MANY for runtime in (first, second)):
            await asyncio.sleep(0)
            assert abs(len(toys(first.world)) - len(toys(second.world))) <= 1
        assert not scheduler.is_working_on(frozen)
        await scheduler.close()

    run(asyncio.wait_for(watch(), 10))
    assert not toys(frozen.world)


@pytest.mark.usefixtures("pause_after_each_job")
def test_an_overloaded_world_answers_at_the_instant_it_has_reached_and_can_be_frozen_there() -> None:
    runtime = new_runtime(RUNNING)
    plan(runtime, *((number / 24, "play") for number in range(MANY)))
    runtime.clock = Clock(RUNNING, later(MANY))

    async def freeze() -> None:
        runtime.run_due()
        behind = runtime.clock_state()
        assert (behind.now, behind.lag > 0) == (later(1 / 24), True)
        runtime.freeze_here()
        assert (runtime.clock_state().now, runtime.clock_state().lag) == (later(1 / 24), 0)
        await runtime.catch_up()
        await runtime.scheduler.close()

    run(freeze())
    assert len(toys(runtime.world)) == 2  # what is due at that very instant has run, and nothing after it


@pytest.mark.usefixtures("pause_after_each_job")
def test_a_backlog_is_run_in_slices_so_that_others_are_served() -> None:
    runtime = new_runtime(RUNNING)
    plan(runtime, *((0, "play") for _ in range(MANY)))

    async def watch() -> set[int]:
        work = asyncio.create_task(runtime.scheduler.catch_up(runtime, None))
        seen = set()
        while not work.done():
            await asyncio.sleep(0)
            seen.add(len(toys(runtime.world)))
        return seen

    assert run(watch()) >= set(range(1, MANY + 1))
    assert len(toys(runtime.world)) == MANY
