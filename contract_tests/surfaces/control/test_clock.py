"""The clock ahead: advances in the background (B-92), and the schedule, with the future played on a copy."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import date
from typing import Any

import httpx
import pytest

from contract_tests.support.receiver import Receiver, Reply
from contract_tests.support.sandbox import CHARGED, FAILED, FAILING_PHONE, START, Sandbox, compare_events
from emulator.engine.advances import MAX_ADVANCES
from emulator.insight.names import job_texts
from emulator.resources.registry import JOBS

END = "9999-12-31T23:59:59.998Z"
"""So far that no advance gets there while a test runs: some three million jobs."""


def respond_async(sandbox: Sandbox, **body: str) -> httpx.Response:
    return sandbox.control.request("POST", "/clock/advance", json=body, headers={"Prefer": "respond-async"})


def begin(sandbox: Sandbox, **body: str) -> str:
    answer = respond_async(sandbox, **body)
    assert answer.status_code == 202
    return str(answer.json()["id"])


def ask(sandbox: Sandbox, id: str) -> Any:
    return sandbox.control.get(f"/clock/advances/{id}")


def stop(sandbox: Sandbox, id: str) -> Any:
    return sandbox.control.request("DELETE", f"/clock/advances/{id}").json()


def until(look: Callable[[], Any], found: Callable[[Any], bool]) -> Any:
    """What is seen as soon as it is as expected."""
    deadline = time.monotonic() + 60
    while not found(seen := look()):
        assert time.monotonic() < deadline, seen
    return seen


def ended(sandbox: Sandbox, id: str) -> Any:
    return until(lambda: ask(sandbox, id), lambda advance: advance["status"] != "running")


@pytest.fixture
def busy(sandbox: Sandbox) -> Iterator[Sandbox]:
    """A world with a daily subscription, for which the way to the end of the calendar is very long."""
    sandbox.subscribe(phone=None, unit_amount=500, interval="day")
    yield sandbox
    sandbox.control.post("/reset")  # whatever came of the test, no advance goes on


@pytest.fixture
def long(busy: Sandbox) -> str:
    """An advance of the busy world that has gone some days of its way."""
    id = begin(busy, to=END)
    until(lambda: ask(busy, id), lambda advance: advance["now"] > "2026-01-05")
    return id


def test_it_is_answered_at_once_and_says_where_to_ask(sandbox: Sandbox) -> None:
    sandbox.subscribe()
    answer = respond_async(sandbox, by="40d")
    begun = answer.json()
    assert answer.headers["preference-applied"] == "respond-async"
    assert (begun["status"], begun["from"], begun["now"], begun["progress"]) == ("running", START, START, 0)
    done = ended(sandbox, begun["id"])
    assert sandbox.control.get(answer.headers["location"].removeprefix("/_emulator")) == done
    expected = {"id": begun["id"], "status": "completed", "from": START, "to": begun["to"], "now": begun["to"]}
    expected |= {"progress": 1, "jobs": 1, "events": dict.fromkeys(CHARGED, 1), "failures": [], "error": None}
    assert done == {**expected, "deliveries": {"succeeded": 0, "failed": 0}}
    assert sandbox.now == done["now"] == "2026-02-10T00:00:00.000Z"
    assert stop(sandbox, begun["id"]) == done
    done = ended(sandbox, begin(sandbox, until_event="invoice.paid"))
    assert (done["status"], done["now"], done["progress"]) == ("completed", "2026-03-01T00:00:00.000Z", 1)
    assert done["to"] == "2027-02-10T00:00:00.000Z"


def test_stopped_it_ends_between_two_jobs_and_nothing_is_lost(busy: Sandbox, long: str) -> None:
    """Each day until then has its invoice; what was due later is still to come."""
    stopped = stop(busy, long)
    assert stopped["status"] == "stopped"
    assert stopped == ask(busy, long) == stop(busy, long)
    assert busy.now == stopped["now"] <= busy.control.get("/clock")["next_due_at"]
    now = busy.advance("3d")["now"]
    days = [date.fromisoformat(at[:10]) for at in busy.invoices("created_at")]
    assert days == sorted(set(days))
    assert (days[0], days[-1]) == (date(2026, 1, 1), date.fromisoformat(now[:10]))
    assert len(days) == (days[-1] - days[0]).days + 1


@pytest.mark.parametrize("back", ["stop", "restore", "rewind"])
def test_what_ends_it_while_a_delivery_hangs(busy: Sandbox, receiver: Receiver, back: str) -> None:
    """It waits at the first event it has to deliver, so that there are not too many units of work to be undone."""
    busy.endpoint(receiver.url)
    busy.control.post("/snapshots", {"name": "before"})
    made = busy.api.request("POST", "/products/", json={"name": "Tea", "unit_amount": 500, "currency": "XAF"})
    receiver.reply = lambda received: Reply(held=True)
    id = begin(busy, to=END)
    until(lambda: ask(busy, id), lambda advance: "invoice.payment_overdue" in advance["events"])
    if back == "rewind":
        busy.control.post("/rewind", {"to": made.headers["request-id"]})
    elif back == "restore":
        busy.control.post("/snapshots/before/restore")
    else:
        stop(busy, id)
    end = ask(busy, id)
    assert (end["status"], end["now"] > START, busy.now > START) == ("stopped", True, back == "stop")
    receiver.release()
    assert busy.advance("1d")["jobs"] >= 1


def test_so_many_are_remembered_and_no_more_can_be_under_way(sandbox: Sandbox, receiver: Receiver) -> None:
    """The oldest that has ended makes room. The first waits for a delivery, and all others for the first."""
    sandbox.endpoint(receiver.url)
    receiver.reply = lambda received: Reply(held=True)
    sandbox.customer()
    advances = [begin(sandbox, by="1d") for _ in range(MAX_ADVANCES)]
    rejected = respond_async(sandbox, by="1d")
    assert (rejected.status_code, rejected.json()["retry_after"]) == (429, 1)
    stop(sandbox, advances[5])
    another = begin(sandbox, by="1d")
    sandbox.control.rejected("GET", f"/clock/advances/{advances.pop(5)}", 404, "NOT_FOUND")
    for id in (another, *advances[::-1]):
        assert ask(sandbox, id)["status"] == "running"
        stop(sandbox, id)
    receiver.release()


# -- the schedule


def schedule(sandbox: Sandbox, **query: Any) -> list[Any]:
    return list(sandbox.control.pages("/schedule", **query))


def test_what_is_planned_soonest_first(sandbox: Sandbox) -> None:
    """GET /schedule: due_at, kind, object and a summary of each job; no kind is without words."""
    subscription = sandbox.subscribe(trial_period_days=14, ends_at="2026-01-10T00:00:00Z")["id"]
    planned = schedule(sandbox)
    assert [(job["due_at"], job["kind"], job["object"]) for job in planned] == [
        ("2026-01-10T00:00:00.000Z", "subscription.expire", subscription),
        ("2026-01-15T00:00:00.000Z", "subscription.renew", subscription),
    ]
    assert all(set(job) == {"due_at", "kind", "object", "summary"} for job in planned)
    assert job_texts().keys() == JOBS.keys()


def test_pages_and_kinds_of_the_future(sandbox: Sandbox) -> None:
    """B-19: the pages together are the whole list."""
    sandbox.subscribe(unit_amount=500, interval="day")
    whole = schedule(sandbox, until="30d", page_size=100)
    assert [job["due_at"][:10] for job in whole[:2]] == ["2026-01-02", "2026-01-03"]
    assert (schedule(sandbox, until="30d", page_size=7), len(whole)) == (whole, 30)
    assert schedule(sandbox, until="30d", kind="subscription.renew", page_size=100) == whole
    assert schedule(sandbox, kind="subscription.retry") == []
    page = sandbox.control.get("/schedule", until="30d", page=9, page_size=7)
    assert (page["data"], page["pagination"]["count"]) == ([], 30)
    error = sandbox.control.rejected("GET", "/schedule", 422, "INVALID_FILTER_PARAM", params={"until": "yesterday"})
    assert "must be an instant such as 2026-03-01T00:00:00Z or a duration such as 31d" in error["message"]


def test_the_future_is_what_comes_true_and_the_world_notices_nothing(sandbox: Sandbox, receiver: Receiver) -> None:
    """until: each job that would run and the events it would send, in order; then the same happens. No clock moved, no
    event, no delivery, no id used up: the same request gives the same answer.
    """
    sandbox.endpoint(receiver.url)
    sandbox.subscribe()
    sandbox.subscribe(FAILING_PHONE)
    sandbox.settle()
    before, clock, emails = len(sandbox.events()), sandbox.control.get("/clock"), sandbox.control.get("/emails")
    foreseen = schedule(sandbox, until="P1Y", page_size=100)
    for until in ("365d", "2027-01-01T00:00:00Z", "2027-01-01T01:00:00+01:00"):
        assert schedule(sandbox, until=until, page_size=100) == foreseen
    assert (len(sandbox.events()), len(receiver.events)) == (before, before)
    assert (sandbox.control.get("/clock"), sandbox.control.get("/emails")) == (clock, emails)
    assert sandbox.advance("P1Y")["jobs"] == len(foreseen)
    happened = [event["type"] for event in sandbox.events()[before:]]
    assert [type for job in foreseen for type in job["event_types"]] == happened
    compare_events(Counter(happened), [*CHARGED * 12, *FAILED * 4])
