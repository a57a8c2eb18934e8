"""Time in a tester's hands, by HTTP, right and wrong, and the clock alone (B-91, B-95)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from freezegun import freeze_time
from hypothesis import given
from hypothesis import strategies as st

from contract_tests.support.receiver import Receiver
from contract_tests.support.sandbox import START, RunningServer, Sandbox
from emulator.core import calendar
from emulator.core.jobs import Job
from emulator.core.world import World
from emulator.engine.clock import FROZEN, RUNNING, Clock
from emulator.engine.real_time import RealTime
from emulator.resources.registry import JOBS, REGISTRY

OVERDUE = "invoice.payment_overdue"
END = "9999-12-31T23:59:59.998Z"


def subscribe(sandbox: Sandbox, **fields: Any) -> Any:
    """Return a daily subscription without a method: one invoice a day and nothing else."""
    body = {"customer": sandbox.customer()["id"], "unit_amount": 500, "interval": "day", **fields}
    return sandbox.api.post("/subscriptions/", body)


DURATIONS = {
    "31d": "2026-02-01T00:00:00.000Z",
    "2h": "2026-02-01T02:00:00.000Z",
    "90s": "2026-02-01T02:01:30.000Z",
    "2w": "2026-02-15T02:01:30.000Z",
    "P1M": "2026-03-15T02:01:30.000Z",
    "PT0.001S": "2026-03-15T02:01:30.001Z",
    "P1Y2M3DT4H5M6S": "2027-05-18T06:06:36.001Z",
    "P100Y": "2127-05-18T06:06:36.001Z",
}


def test_durations(sandbox: Sandbox) -> None:
    """B-91: one after the other; a month from a month's end is clamped."""
    for by, now in DURATIONS.items():
        assert (sandbox.advance(by)["now"], sandbox.now) == (now, now)
    sandbox.advance_to("2128-01-31")
    assert sandbox.advance("P1M")["now"] == "2128-02-29T00:00:00.000Z"


OUTSIDE = ("2025-12-31T23:59:59.999Z", "2026-01-01T00:59:59+01:00", "9999-12-31T23:59:59.999Z")

INVALID: dict[tuple[str, str], tuple[object, ...]] = {
    ("/clock/advance", "by"): (
        *("-1d", "-P1D", "P-1D", "soon", "1", "d", "1.5d", "1D", "P", "PT", "P1", "p1d", "P1.5M"),
        *("P1H", "PT1D", "1d2h", "9999999999d", "PT0.0001S", "١d", "", "1 d"),
        *("P9999Y", "P7974Y", "P999999M", "PT999999999H", "999999999d", "999999999w"),
    ),
    ("/clock/advance", "to"): (
        *(*OUTSIDE, "tomorrow", "2026-02-01 00:00:00Z", "2026-02-30T00:00:00Z", 5, None),
        *("2099-W20", "2099-032", "20990102"),
    ),
    ("/clock/freeze", "at"): (*OUTSIDE, "2099-W20", "2099-032", "20990102"),
    ("/clock/run", "rate"): (0, -1, "fast", None, True, 31_536_001, 1e300),
}


@pytest.mark.parametrize(("path", "field"), INVALID)
def test_a_time_that_is_none_that_is_past_or_beyond_the_calendar_is_rejected(
    sandbox: Sandbox, path: str, field: str
) -> None:
    """B-91, B-95: and nothing changes, whether the clock stands or runs."""
    before = sandbox.control.get("/clock")
    for value in INVALID[path, field]:
        rejected = sandbox.control.rejected("POST", path, 422, "INVALID_FIELD", json={field: value})
        assert rejected["param"] == field, value
    assert sandbox.control.get("/clock") == before
    sandbox.control.post("/clock/run")
    sandbox.control.rejected(
        "POST", path, 422, "INVALID_FIELD", json={field: INVALID[path, field][0]}
    )
    assert sandbox.control.get("/clock")["mode"] == "running"


def test_the_present_instant_is_not_past(sandbox: Sandbox) -> None:
    """B-95: to advance to it does nothing but what is due."""
    response = sandbox.advance_to(sandbox.now)
    assert (response["from"], response["now"], response["jobs"]) == (sandbox.now, sandbox.now, 0)


def test_of_the_alternatives_exactly_one_is_given(sandbox: Sandbox) -> None:
    """control-api.md: else 422."""
    two = {"by": "1d", "to": "2027-01-01T00:00:00Z"}
    four = two | {"until": "next", "until_event": "invoice.paid"}
    missing = {"by": ["one of by, to, until, until_event is required"]}
    wrong = {"zz": ["unknown field"]}
    some = {name: ["only one of by, to can be given"] for name in two}
    all = {name: ["only one of by, to, until, until_event can be given"] for name in four}
    for body, code, errors in (
        ({}, "MISSING_FIELD", missing),
        ({"zz": 1}, "VALIDATION_ERROR", missing | wrong),
        (two, "VALIDATION_ERROR", some),
        (two | {"zz": 1}, "VALIDATION_ERROR", some | wrong),
        (four, "VALIDATION_ERROR", all),
    ):
        rejected = sandbox.control.rejected("POST", "/clock/advance", 422, code, json=body)
        assert (rejected["errors"], sandbox.now) == (errors, START)
    rejected = sandbox.control.rejected(
        "POST", "/rewind", 422, "VALIDATION_ERROR", json={"steps": 1, "to": "req_1", "zz": 1}
    )
    assert rejected["errors"].keys() == {"steps", "to", "zz"}


def test_until_next_goes_from_job_to_job(sandbox: Sandbox) -> None:
    """And runs all that is due then; with nothing planned it stays."""
    assert sandbox.control.post("/clock/advance", {"until": "next"})["now"] == START
    for _ in range(2):
        sandbox.invoice(due_date="2026-01-01")
        sandbox.invoice(due_date="2026-01-02")
    for day in ("02", "03"):
        due = sandbox.control.get("/clock")["next_due_at"]
        response = sandbox.control.post("/clock/advance", {"until": "next"})
        assert (response["now"], response["jobs"]) == (f"2026-01-{day}T00:00:00.000Z", 2)
        assert response["now"] == due


def test_until_an_event_goes_to_its_instant_or_a_year_at_most_or_as_far_as_by_says(
    sandbox: Sandbox,
) -> None:
    response = sandbox.control.post("/clock/advance", {"until_event": "invoice.paid"})
    assert (response["now"], response["events"]) == ("2027-01-01T00:00:00.000Z", {})
    response = sandbox.control.post("/clock/advance", {"until_event": "invoice.paid", "by": "2d"})
    assert response["now"] == "2027-01-03T00:00:00.000Z"
    subscribe(sandbox, trial_period_days=10)
    response = sandbox.control.post(
        "/clock/advance", {"until_event": "subscription.trial_will_end", "by": "P30D"}
    )
    assert (response["now"], response["events"]) == (
        "2027-01-10T00:00:00.000Z",
        {"subscription.trial_will_end": 1},
    )


@pytest.mark.long
def test_at_the_end_of_time(sandbox: Sandbox) -> None:
    """The last instant can be reached; then nothing is due, and everything still responds."""
    subscribe(sandbox, interval="year")
    response = sandbox.control.post("/clock/advance", {"to": END})
    assert (response["now"], response["failures"]) == (END, [])
    subscribe(sandbox)
    assert sandbox.control.post("/clock/advance", {"until": "next"})["now"] == END
    assert sandbox.control.post("/clock/advance", {"until_event": "invoice.paid"})["now"] == END
    sandbox.control.rejected("POST", "/clock/advance", 422, "INVALID_FIELD", json={"by": "1s"})


def test_worlds_share_nothing(sandbox: Sandbox, other_world: Sandbox, live: Sandbox) -> None:
    """B-01, B-02: no objects, ids, events, clock or schedule; nor do the sides of an App."""
    subscribe(sandbox)
    sandbox.advance("3d")
    [mine] = sandbox.api.get("/customers/")["data"]
    for neighbour in (other_world, live):
        assert (neighbour.now, neighbour.events(), neighbour.control.get("/clock")["pending"]) == (
            START,
            [],
            0,
        )
        assert neighbour.api.get("/invoices/")["pagination"]["count"] == 0
        theirs = neighbour.customer(email=mine["email"])
        assert (mine["id"] == theirs["id"], mine["app"] == theirs["app"]) == (False, False)
        neighbour.api.rejected("GET", f"/customers/{mine['id']}/", 404, "CUSTOMER_NOT_FOUND")
        neighbour.advance("1d")
    assert sandbox.api.get("/customers/")["data"] == [mine]
    assert (sandbox.now, live.now) == ("2026-01-04T00:00:00.000Z", "2026-01-02T00:00:00.000Z")


def test_worlds_draw_ids_of_their_own(
    sandbox: Sandbox, other_world: Sandbox, live: Sandbox
) -> None:
    """B-01: the same requests give each world, and each side of an App, other ids."""
    drawn = [
        world.api.request("GET", "/customers/").headers["request-id"]
        for world in (sandbox, other_world, live)
        for _ in range(20)
    ]
    assert len(set(drawn)) == len(drawn)


MODES = pytest.mark.parametrize("mode", ["frozen", "running"])


@MODES
def test_freezing_at_a_later_instant_runs_what_is_due_until_then(
    sandbox: Sandbox, mode: str
) -> None:
    for day in ("01", "02", "03", "04", "05"):
        sandbox.invoice(due_date=f"2026-01-{day}")
    if mode == "running":
        sandbox.control.post("/clock/run")
    sandbox.control.post("/clock/freeze", {"at": "2026-01-05T12:00:00.000Z"})
    days = [event["created_at"][8:10] for event in sandbox.events() if event["type"] == OVERDUE]
    assert days == ["02", "03", "04", "05"]


@MODES
def test_freezing_at_a_later_instant_stands_just_there(sandbox: Sandbox, mode: str) -> None:
    if mode == "running":
        sandbox.control.post("/clock/run")
    assert sandbox.control.get("/clock")["mode"] == mode
    at = "2026-01-03T12:00:00.000Z"
    clock = sandbox.control.post("/clock/freeze", {"at": at})
    assert (clock["now"], clock["mode"], sandbox.now) == (at, "frozen", at)


def test_a_running_clock_runs_what_falls_due_by_itself(sandbox: Sandbox) -> None:
    """B-91: without any request; a wait for the event ends, and its date is the due instant."""
    subscribe(sandbox, trial_period_days=10)
    sandbox.control.post("/clock/run", {"rate": 31_536_000})
    (event,) = sandbox.control.get("/events", type="subscription.trial_will_end", wait=30)["data"]
    assert event["created_at"] == "2026-01-08T00:00:00.000Z"


@pytest.fixture
def running() -> Iterator[Sandbox]:
    """A world of a server whose clocks run with real time."""
    with (
        RunningServer(clock_mode="running", clock_at=None) as server,
        server.world("running") as sandbox,
    ):
        yield sandbox


def test_under_freezegun_a_running_clock_follows_the_frozen_time(running: Sandbox) -> None:
    """control-api.md: in the same process; due jobs run, and it does not go back with it."""
    with freeze_time("2030-01-01") as frozen:
        assert running.now == "2030-01-01T00:00:00.000Z"
        for day in ("01", "02", "03", "04"):
            running.invoice(due_date=f"2030-01-{day}")
        frozen.move_to("2030-01-04")
        assert [
            event["created_at"][8:10] for event in running.events() if event["type"] == OVERDUE
        ] == ["02", "03", "04"]
        frozen.move_to("2029-01-01")
        assert running.now == "2030-01-04T00:00:00.000Z"
        frozen.move_to("2030-01-05")
        assert running.now == "2030-01-05T00:00:00.000Z"
        assert running.control.get("/events", type="invoice.paid", wait=1)["data"] == []
        assert running.advance("1d")["now"] == "2030-01-06T00:00:00.000Z"


# -- the clock alone: running, frozen and at a rate, whatever real time does


class MovedTime(RealTime):
    """Real time that a test moves as it likes, also back."""

    def __init__(self) -> None:
        self.seconds = datetime(2026, 1, 1, tzinfo=UTC).timestamp()
        super().__init__()

    def now(self) -> float:
        return self.seconds


@pytest.fixture
def real() -> MovedTime:
    return MovedTime()


def stopped(clock: Clock, at: str = START) -> Clock:
    clock.set(at)
    return clock.another(clock.now(), FROZEN)


def gone_on(clock: Clock, rate: float = 1) -> Clock:
    return clock.another(clock.now(), RUNNING, rate)


def since_start(clock: Clock) -> float:
    """Seconds of the world since the start of 2026."""
    return (calendar.parse(clock.now()) - calendar.parse(START)).total_seconds()


def test_it_follows_real_time_at_its_rate_or_stands(real: MovedTime) -> None:
    """A rate holds from the instant it was given; freezing takes this instant or a later one."""
    clock = Clock(real_time=real)
    real.seconds += 10.5
    assert since_start(clock) == 10.5
    clock.set("2026-01-01T00:00:03.000Z")
    assert since_start(clock) == 10.5
    clock = gone_on(clock, 60)
    real.seconds += 1
    assert since_start(clock) == 70.5
    clock = stopped(clock)
    real.seconds += 5
    assert (clock.mode, since_start(clock)) == (FROZEN, 70.5)
    for at in ("2026-01-01T00:01:20.000Z", START):
        clock = stopped(clock, at)
        assert since_start(clock) == 80
    clock.set("2026-01-01T00:01:30.000Z")
    clock = gone_on(clock)
    real.seconds += 2
    assert (clock.mode, since_start(clock)) == (RUNNING, 92)


@pytest.mark.parametrize(("step", "rate"), [(0.0011, 1), (0.0499, 0.5)])
def test_nothing_is_lost_however_often_it_is_read(
    real: MovedTime, step: float, rate: float
) -> None:
    """Fractions of a millisecond add up: after ten real seconds it is ten times the rate later."""
    clock = gone_on(Clock(real_time=real), rate)
    start = real.seconds
    for _ in range(round(10 / step)):
        real.seconds += step
        clock.now()
    assert since_start(clock) == pytest.approx((real.seconds - start) * rate, abs=0.002)


MOVES = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["real", "set", "freeze", "read"]), st.floats(-1e6, 1e6)),
        st.tuples(st.just("run"), st.sampled_from([0.001, 1.0, 60.0, 31_536_000.0])),
    ),
    max_size=30,
)


@given(MOVES)
def test_it_never_goes_back(moves: list[tuple[str, float]]) -> None:
    """Whatever happens to it and to real time, in any order."""
    real = MovedTime()
    clock = Clock(real_time=real)
    latest = clock.now()
    for move, amount in moves:
        if move == "real":
            real.seconds += amount
        elif move == "set":
            clock.set(calendar.plus(START, seconds=amount))
        elif move == "freeze":
            clock = stopped(clock, calendar.plus(START, seconds=amount))
        elif move == "run":
            clock = gone_on(clock, amount)
        now = clock.now()
        assert latest <= now <= calendar.END
        latest = now


# -- A job that fails in our own code is undone and reported; the others run (control-api.md, B-91)


@pytest.fixture
def spoilt(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Ids of invoices whose job fails after all its work. The fixture opens the world."""
    spoilt: set[str] = set()

    def overdue(world: World, job: Job) -> None:
        JOBS["invoice.overdue"](world, job)
        if job.about in spoilt:
            raise ArithmeticError("does not add up")

    wiring = REGISTRY._replace(jobs={**JOBS, "invoice.overdue": overdue})
    monkeypatch.setattr("emulator.server.sandbox.REGISTRY", wiring)
    sandbox.control.get("/clock")
    return spoilt


@pytest.fixture
def broken(sandbox: Sandbox, spoilt: set[str]) -> Any:
    """An invoice whose job fails."""
    invoice = sandbox.invoice(due_date="2026-01-02")
    spoilt.add(invoice["id"])
    return invoice


def test_a_failed_job_is_undone(sandbox: Sandbox, broken: Any) -> None:
    """It does not come again."""
    assert sandbox.control.post("/clock/advance", {"by": "10d"})["failures"]
    assert sandbox.shown(broken) == broken
    sandbox.advance("P1M")
    assert sandbox.shown(broken) == broken
    assert OVERDUE not in [event["type"] for event in sandbox.events()]


def test_a_failed_job_is_named(sandbox: Sandbox, broken: Any) -> None:
    (failure,) = sandbox.control.post("/clock/advance", {"by": "10d"})["failures"]
    assert (failure["kind"], failure["object"]) == ("invoice.overdue", broken["id"])
    assert failure["error"] == "ArithmeticError: does not add up"


def test_the_other_jobs_go_on_after_a_failed_one(
    sandbox: Sandbox, receiver: Receiver, spoilt: set[str]
) -> None:
    """Everything else comes at its time, as if the failed one had not been."""
    sandbox.endpoint(receiver.url, "invoice.payment_overdue")
    first, broken, last, later = (
        sandbox.invoice(due_date=f"2026-01-{day}") for day in ("02", "02", "02", "20")
    )
    spoilt.add(broken["id"])
    response = sandbox.control.post("/clock/advance", {"by": "10d"})
    assert (response["now"], response["jobs"]) == ("2026-01-11T00:00:00.000Z", 2)
    assert [event["data"]["object"]["id"] for event in receiver.events] == [first["id"], last["id"]]
    sandbox.advance("P1M")
    assert [event["data"]["object"]["id"] for event in receiver.events[2:]] == [later["id"]]
