"""Time that passes, at once, in the background or foreseen, and the schedule (B-91)."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import date, datetime
from typing import Any

import httpx
import pytest

from contract_tests.support.client import http_client
from contract_tests.support.receiver import Receiver, Reply
from contract_tests.support.sandbox import (
    CHARGED,
    FAILED,
    FAILING_PHONE,
    START,
    Sandbox,
    compare_events,
)
from emulator.engine.advances import MAX_ADVANCES
from emulator.engine.outbox import Outbox
from emulator.insight.names import job_texts
from emulator.resources.registry import JOBS

END = "9999-12-31T23:59:59.998Z"
"""So far that no advance gets there while a test runs: some three million jobs."""


def respond_async(sandbox: Sandbox, **body: str) -> httpx.Response:
    return sandbox.control.request(
        "POST", "/clock/advance", json=body, headers={"Prefer": "respond-async"}
    )


def begin(sandbox: Sandbox, **body: str) -> str:
    response = respond_async(sandbox, **body)
    assert response.status_code == 202
    return str(response.json()["id"])


def ask(sandbox: Sandbox, id: str) -> Any:
    return sandbox.control.get(f"/clock/advances/{id}")


def stop(sandbox: Sandbox, id: str) -> Any:
    return sandbox.control.request("DELETE", f"/clock/advances/{id}").json()


def until(look: Callable[[], Any], is_enough: Callable[[Any], bool]) -> Any:
    """What is seen as soon as it is as expected."""
    deadline = time.monotonic() + 60
    while not is_enough(state := look()):
        assert time.monotonic() < deadline, state
    return state


def ended(sandbox: Sandbox, id: str) -> Any:
    return until(lambda: ask(sandbox, id), lambda advance: advance["status"] != "running")


@pytest.fixture
def busy(sandbox: Sandbox) -> Iterator[Sandbox]:
    """A world with a daily subscription, far from the calendar's end: a long way to go."""
    sandbox.subscribe(phone=None, unit_amount=500, interval="day")
    yield sandbox
    sandbox.control.post("/reset")  # whatever came of the test, no advance goes on


@pytest.fixture
def long(busy: Sandbox) -> str:
    """An advance of the busy world that has gone some days of its way."""
    id = begin(busy, to=END)
    until(lambda: ask(busy, id), lambda advance: advance["now"] > "2026-01-05")
    return id


def test_the_response_to_an_asynchronous_advance_comes_at_once(sandbox: Sandbox) -> None:
    sandbox.subscribe()
    response = respond_async(sandbox, by="40d")
    begun = response.json()
    assert response.headers["preference-applied"] == "respond-async"
    assert (begun["status"], begun["from"], begun["now"], begun["progress"]) == (
        "running",
        START,
        START,
        0,
    )


def test_a_preference_is_read_in_any_case_and_among_others(sandbox: Sandbox) -> None:
    """RFC 7240."""
    for preference in ("Respond-Async", "RESPOND-ASYNC", "wait=10, respond-async"):
        headers = {"Prefer": preference}
        response = sandbox.control.request(
            "POST", "/clock/advance", json={"by": "1s"}, headers=headers
        )
        assert response.status_code == 202, preference


def test_an_asynchronous_advance_of_a_named_world_is_asked_for_there(sandbox: Sandbox) -> None:
    world = {"app": sandbox.key.removeprefix("sk_test_")}
    with http_client(base_url=sandbox.url) as http:
        begun = http.post(
            "/_emulator/clock/advance",
            params=world,
            json={"by": "1s"},
            headers={"Prefer": "respond-async"},
        )
        assert http.get(begun.headers["location"]).json()["id"] == begun.json()["id"]


def test_an_asynchronous_advance_says_where_to_ask(sandbox: Sandbox) -> None:
    sandbox.subscribe()
    response = respond_async(sandbox, by="40d")
    begun = response.json()
    done = ended(sandbox, begun["id"])
    assert sandbox.control.get(response.headers["location"].removeprefix("/_emulator")) == done
    expected = {
        "id": begun["id"],
        "status": "completed",
        "from": START,
        "to": begun["to"],
        "now": begun["to"],
    }
    expected |= {
        "progress": 1,
        "jobs": 1,
        "events": dict.fromkeys(CHARGED, 1),
        "failures": [],
        "error": None,
    }
    assert done == {**expected, "deliveries": {"succeeded": 0, "failed": 0}}
    assert sandbox.now == done["now"] == "2026-02-10T00:00:00.000Z"
    assert stop(sandbox, begun["id"]) == done


def test_an_asynchronous_advance_until_an_event_completes_at_that_event(sandbox: Sandbox) -> None:
    sandbox.subscribe()
    done = ended(sandbox, begin(sandbox, until_event="invoice.paid"))
    assert (done["status"], done["now"], done["progress"]) == (
        "completed",
        "2026-02-01T00:00:00.000Z",
        1,
    )
    assert done["to"] == "2027-01-01T00:00:00.000Z"


def test_a_stopped_advance_ends_between_two_jobs(busy: Sandbox, long: str) -> None:
    stopped = stop(busy, long)
    assert stopped["status"] == "stopped"
    assert stopped == ask(busy, long) == stop(busy, long)
    assert busy.now == stopped["now"] <= busy.control.get("/clock")["next_due_at"]


def test_the_progress_of_an_advance_is_the_share_of_its_way(busy: Sandbox, long: str) -> None:
    """B-92."""
    stopped = stop(busy, long)
    start, now, to = (datetime.fromisoformat(stopped[name]) for name in ("from", "now", "to"))
    assert 0 < stopped["progress"] == (now - start) / (to - start) < 1


def test_an_advance_that_fails_inside_shows_no_details(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(outbox: Outbox) -> None:
        raise ArithmeticError("the details")

    monkeypatch.setattr(Outbox, "settled", fail)
    done = ended(sandbox, begin(sandbox, by="1d"))
    assert done["status"] == "failed"
    assert done["error"] == "ArithmeticError; the server's log says more."


def test_a_stopped_advance_loses_no_job(busy: Sandbox, long: str) -> None:
    """B-92: each day until then has its invoice; what was due later is still to come."""
    stop(busy, long)
    now = busy.advance("3d")["now"]
    days = [date.fromisoformat(at[:10]) for at in busy.invoices("created_at")]
    assert days == sorted(set(days))
    assert (days[0], days[-1]) == (date(2026, 1, 1), date.fromisoformat(now[:10]))
    assert len(days) == (days[-1] - days[0]).days + 1


@pytest.mark.parametrize("back", ["stop", "restore", "rewind"])
def test_what_ends_it_while_a_delivery_hangs(busy: Sandbox, receiver: Receiver, back: str) -> None:
    """It waits at its first event to deliver, so that few units of work have to be undone."""
    busy.endpoint(receiver.url)
    busy.control.post("/snapshots", {"name": "before"})
    made = busy.api.request(
        "POST", "/products/", json={"name": "Tea", "unit_amount": 500, "currency": "XAF"}
    )
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
    assert (end["status"], end["now"] > START, busy.now > START) == (
        "stopped",
        True,
        back == "stop",
    )
    receiver.release()
    assert busy.advance("1d")["jobs"] >= 1


@pytest.fixture
def waiting(sandbox: Sandbox, receiver: Receiver) -> Iterator[list[str]]:
    """As many advances as there may be: the first waits for a delivery, the others for it."""
    sandbox.endpoint(receiver.url)
    receiver.reply = lambda received: Reply(held=True)
    sandbox.customer()
    advances = [begin(sandbox, by="1d") for _ in range(MAX_ADVANCES)]
    yield advances
    for id in advances:
        sandbox.control.request("POST", f"/clock/advances/{id}/stop")
    receiver.release()


@pytest.mark.usefixtures("waiting")
def test_no_more_than_so_many_advances_can_be_under_way(sandbox: Sandbox) -> None:
    rejected = respond_async(sandbox, by="1d")
    assert (rejected.status_code, rejected.json()["retry_after"]) == (429, 1)


def test_an_advance_that_waited_counts_from_where_the_ones_before_it_end(
    sandbox: Sandbox, waiting: list[str], receiver: Receiver
) -> None:
    """B-92."""
    receiver.release()
    assert ended(sandbox, waiting[2])["now"] == "2026-01-04T00:00:00.000Z"


def test_the_oldest_ended_advance_makes_room(sandbox: Sandbox, waiting: list[str]) -> None:
    stop(sandbox, waiting[5])
    another = begin(sandbox, by="1d")
    sandbox.control.rejected("GET", f"/clock/advances/{waiting.pop(5)}", 404, "NOT_FOUND")
    waiting.append(another)
    for id in waiting:
        assert ask(sandbox, id)["status"] == "running"


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


def test_the_pages_of_the_schedule_together_are_the_whole_list(sandbox: Sandbox) -> None:
    """B-19: the pages together are the whole list."""
    sandbox.subscribe(unit_amount=500, interval="day")
    whole = schedule(sandbox, until="30d", page_size=100)
    assert [job["due_at"][:10] for job in whole[:2]] == ["2026-01-02", "2026-01-03"]
    assert (schedule(sandbox, until="30d", page_size=7), len(whole)) == (whole, 30)


def test_the_schedule_is_filtered_by_kind(sandbox: Sandbox) -> None:
    sandbox.subscribe(unit_amount=500, interval="day")
    whole = schedule(sandbox, until="30d", page_size=100)
    assert schedule(sandbox, until="30d", kind="subscription.renew", page_size=100) == whole
    assert schedule(sandbox, kind="subscription.retry") == []


def test_a_page_after_the_last_of_the_schedule_is_empty(sandbox: Sandbox) -> None:
    sandbox.subscribe(unit_amount=500, interval="day")
    page = sandbox.control.get("/schedule", until="30d", page=9, page_size=7)
    assert (page["data"], page["pagination"]["count"]) == ([], 30)


def test_a_wrong_end_of_the_schedule_is_rejected(sandbox: Sandbox) -> None:
    error = sandbox.control.rejected(
        "GET", "/schedule", 422, "INVALID_FILTER_PARAM", params={"until": "yesterday"}
    )
    assert (
        "must be an instant such as 2026-03-01T00:00:00Z or a duration such as 31d"
        in error["message"]
    )


@pytest.fixture
def two_lives(sandbox: Sandbox, receiver: Receiver) -> int:
    """A subscription that renews, and one whose payments fail; return the number of events."""
    sandbox.endpoint(receiver.url)
    sandbox.subscribe()
    sandbox.subscribe(FAILING_PHONE)
    sandbox.settle()
    return len(sandbox.events())


def test_the_schedule_comes_true(sandbox: Sandbox, two_lives: int) -> None:
    """until: each job that would run and its events, in order; then the same happens."""
    foreseen = schedule(sandbox, until="P1Y", page_size=100)
    assert sandbox.advance("P1Y")["jobs"] == len(foreseen)
    happened = [event["type"] for event in sandbox.events()[two_lives:]]
    assert [type for job in foreseen for type in job["event_types"]] == happened
    compare_events(Counter(happened), [*CHARGED * 12, *FAILED * 4])


def test_the_schedule_changes_nothing(sandbox: Sandbox, receiver: Receiver, two_lives: int) -> None:
    """No clock moved, no event, no delivery, no id used up: the same request has the same response.

    That holds in each form of the end.
    """
    clock, emails = sandbox.control.get("/clock"), sandbox.control.get("/emails")
    foreseen = schedule(sandbox, until="P1Y", page_size=100)
    for until in ("365d", "2027-01-01T00:00:00Z", "2027-01-01T01:00:00+01:00"):
        assert schedule(sandbox, until=until, page_size=100) == foreseen
    assert (len(sandbox.events()), len(receiver.events)) == (two_lives, two_lives)
    assert (sandbox.control.get("/clock"), sandbox.control.get("/emails")) == (clock, emails)
