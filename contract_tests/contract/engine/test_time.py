"""Time as a tester moves it, over HTTP: advance, freeze and run, each alternative and each wrong one (B-91, B-95)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from freezegun import freeze_time

from contract_tests.support.sandbox import START, RunningServer, Sandbox

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
    ("/clock/advance", "to"): (*OUTSIDE, "tomorrow", "2026-02-01 00:00:00Z", "2026-02-30T00:00:00Z", 5, None),
    ("/clock/freeze", "at"): OUTSIDE,
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
    sandbox.control.rejected("POST", path, 422, "INVALID_FIELD", json={field: INVALID[path, field][0]})
    assert sandbox.control.get("/clock")["mode"] == "running"


ALTERNATIVES: list[tuple[dict[str, str], str]] = [
    ({}, "one of by, to, until, until_event is required"),
    ({"by": "1d", "to": "2027-01-01T00:00:00Z"}, "only one of by, to can be given"),
    (
        {"by": "1d", "to": "2027-01-01T00:00:00Z", "until": "next", "until_event": "invoice.paid"},
        "only one of by, to, until, until_event can be given",
    ),
]


def test_of_the_alternatives_exactly_one_is_given(sandbox: Sandbox) -> None:
    """control-api.md: else 422."""
    for body, sentence in ALTERNATIVES:
        rejected = sandbox.control.rejected("POST", "/clock/advance", 422, "VALIDATION_ERROR", json=body)
        assert (rejected["message"], sandbox.now) == (sentence, START)


def test_until_next_goes_from_job_to_job(sandbox: Sandbox) -> None:
    """And runs all that is due then; with nothing planned it stays."""
    assert sandbox.control.post("/clock/advance", {"until": "next"})["now"] == START
    for _ in range(2):
        sandbox.invoice(due_date="2026-01-01")
        sandbox.invoice(due_date="2026-01-02")
    for day in ("02", "03"):
        due = sandbox.control.get("/clock")["next_due_at"]
        answer = sandbox.control.post("/clock/advance", {"until": "next"})
        assert (answer["now"], answer["jobs"]) == (f"2026-01-{day}T00:00:00.000Z", 2)
        assert answer["now"] == due


def test_until_an_event_goes_to_its_instant_or_a_year_at_most_or_as_far_as_by_says(sandbox: Sandbox) -> None:
    answer = sandbox.control.post("/clock/advance", {"until_event": "invoice.paid"})
    assert (answer["now"], answer["events"]) == ("2027-01-01T00:00:00.000Z", {})
    answer = sandbox.control.post("/clock/advance", {"until_event": "invoice.paid", "by": "2d"})
    assert answer["now"] == "2027-01-03T00:00:00.000Z"
    subscribe(sandbox, trial_period_days=10)
    answer = sandbox.control.post("/clock/advance", {"until_event": "subscription.trial_will_end", "by": "P30D"})
    assert (answer["now"], answer["events"]) == ("2027-01-10T00:00:00.000Z", {"subscription.trial_will_end": 1})


@pytest.mark.long
def test_at_the_end_of_time(sandbox: Sandbox) -> None:
    """The last instant can be reached; there nothing is due any more and everything still answers."""
    subscribe(sandbox, interval="year")
    answer = sandbox.control.post("/clock/advance", {"to": END})
    assert (answer["now"], answer["failures"]) == (END, [])
    subscribe(sandbox)
    assert sandbox.control.post("/clock/advance", {"until": "next"})["now"] == END
    assert sandbox.control.post("/clock/advance", {"until_event": "invoice.paid"})["now"] == END
    sandbox.control.rejected("POST", "/clock/advance", 422, "INVALID_FIELD", json={"by": "1s"})


def test_worlds_share_nothing(sandbox: Sandbox, other_world: Sandbox, live: Sandbox) -> None:
    """B-01, B-02: neither objects, nor ids, nor events, nor the clock or the schedule; nor do the sides of an App."""
    subscribe(sandbox)
    sandbox.advance("3d")
    [mine] = sandbox.api.get("/customers/")["data"]
    for neighbour in (other_world, live):
        assert (neighbour.now, neighbour.events(), neighbour.control.get("/clock")["pending"]) == (START, [], 0)
        assert neighbour.api.get("/invoices/")["pagination"]["count"] == 0
        theirs = neighbour.customer(email=mine["email"])
        assert (mine["id"] == theirs["id"], mine["app"] == theirs["app"]) == (False, False)
        neighbour.api.rejected("GET", f"/customers/{mine['id']}/", 404, "CUSTOMER_NOT_FOUND")
        neighbour.advance("1d")
    assert sandbox.api.get("/customers/")["data"] == [mine]
    assert (sandbox.now, live.now) == ("2026-01-04T00:00:00.000Z", "2026-01-02T00:00:00.000Z")


def test_freezing_at_a_later_instant_runs_what_is_due_until_then_and_stands_just_there(sandbox: Sandbox) -> None:
    for day in ("01", "02", "03", "04", "05"):
        sandbox.invoice(due_date=f"2026-01-{day}")
    for mode, at in (("frozen", "2026-01-03T12:00:00.000Z"), ("running", "2026-01-05T12:00:00.000Z")):
        assert sandbox.control.get("/clock")["mode"] == mode
        clock = sandbox.control.post("/clock/freeze", {"at": at})
        assert (clock["now"], clock["mode"], sandbox.now) == (at, "frozen", at)
        sandbox.control.post("/clock/run")
    assert [each["created_at"][8:10] for each in sandbox.events() if each["type"] == OVERDUE] == [
        "02",
        "03",
        "04",
        "05",
    ]


def test_a_running_clock_runs_what_falls_due_by_itself(sandbox: Sandbox) -> None:
    """B-91: no request causes it; a wait for the event ends, and the event is dated when it was due."""
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
        assert [each["created_at"][8:10] for each in running.events() if each["type"] == OVERDUE] == ["02", "03", "04"]
        frozen.move_to("2029-01-01")
        assert running.now == "2030-01-04T00:00:00.000Z"
        frozen.move_to("2030-01-05")
        assert running.now == "2030-01-05T00:00:00.000Z"
        assert running.control.get("/events", type="invoice.paid", wait=1)["data"] == []
        assert running.advance("1d")["now"] == "2030-01-06T00:00:00.000Z"
