"""Advances in the background: begun, asked about, stopped, and ended by what happens to their world (B-92)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import date
from typing import Any

import httpx
import pytest

from contract_tests.support.client import Client
from contract_tests.support.receiver import Receiver, Reply
from contract_tests.support.sandbox import START, RunningServer, Sandbox
from emulator.engine.advances import MAX_ADVANCES

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


@pytest.fixture
def busy(sandbox: Sandbox) -> Iterator[Sandbox]:
    """A world with a daily subscription, for which the way to the end of the calendar is very long."""
    sandbox.subscribe(phone=None, unit_amount=500, interval="day")
    yield sandbox
    sandbox.control.post("/reset")  # whatever came of the test, no advance goes on


@pytest.fixture
def long(busy: Sandbox) -> Iterator[str]:
    """An advance of the busy world that has gone some days of its way."""
    id = begin(busy, to=END)
    until(lambda: ask(busy, id), lambda advance: advance["now"] > "2026-01-05")
    yield id
    busy.control.request("DELETE", f"/clock/advances/{id}")


def test_it_is_answered_at_once_and_says_where_to_ask(sandbox: Sandbox) -> None:
    sandbox.subscribe()
    answer = respond_async(sandbox, by="40d")
    begun = answer.json()
    assert answer.headers["preference-applied"] == "respond-async"
    assert (begun["status"], begun["from"], begun["now"], begun["progress"]) == ("running", START, START, 0)
    assert begun["to"] == "2026-02-10T00:00:00.000Z"
    path = answer.headers["location"].removeprefix("/_emulator")
    done = until(lambda: sandbox.control.get(path), lambda advance: advance["status"] != "running")
    assert done == {
        "id": begun["id"],
        "status": "completed",
        "from": START,
        "to": begun["to"],
        "now": begun["to"],
        "progress": 1,
        "jobs": 1,
        "events": {"payment_intent.succeeded": 1, "transaction.succeeded": 1, "invoice.paid": 1},
        "deliveries": {"succeeded": 0, "failed": 0},
        "failures": [],
        "error": None,
    }
    assert sandbox.now == done["now"]
    assert stop(sandbox, begun["id"]) == done


@pytest.mark.parametrize(
    ("prefer", "status"),
    [
        (["respond-async"], 202),
        (["Respond-Async"], 202),
        (["wait=10, respond-async"], 202),
        (["respond-async,return=minimal"], 202),
        (["wait=10", "respond-async"], 202),
        (["wait=10"], 200),
        (["respond-asynchronously"], 200),
        ([""], 200),
    ],
    ids=str,
)
def test_the_preference_may_stand_among_others(sandbox: Sandbox, prefer: list[str], status: int) -> None:
    """RFC 7240; of several headers each counts."""
    headers = [("Prefer", each) for each in prefer]
    answer = sandbox.control.request("POST", "/clock/advance", json={"by": "1d"}, headers=headers)
    assert answer.status_code == status


def test_a_request_that_names_the_app_gets_an_address_that_names_it_too(sandbox: Sandbox) -> None:
    name = sandbox.key.removeprefix("sk_test_")
    keyless = Client(sandbox.url, sandbox.control.contract, None)
    answer = keyless.request(
        "POST", f"/clock/advance?app={name}", json={"by": "1d"}, headers={"Prefer": "respond-async"}
    )
    followed = keyless.http.get(sandbox.url + answer.headers["location"])
    keyless.close()
    assert followed.json()["id"] == answer.json()["id"] == ask(sandbox, answer.json()["id"])["id"]


@pytest.mark.parametrize(
    "body",
    [
        *({}, {"to": "2020-01-01T00:00:00Z"}, {"by": "-1d"}, {"by": "1d", "until": "next"}),
        {"by": "0s", "until_event": "invoice.paid"},
    ],
)
def test_what_is_wrong_is_rejected_at_once(sandbox: Sandbox, body: dict[str, str]) -> None:
    assert respond_async(sandbox, **body).status_code == 422


def test_until_an_event_it_ends_there_with_the_whole_way_behind_it(sandbox: Sandbox) -> None:
    sandbox.subscribe(trial_period_days=10)
    id = begin(sandbox, until_event="subscription.trial_will_end")
    done = until(lambda: ask(sandbox, id), lambda advance: advance["status"] != "running")
    assert (done["status"], done["now"], done["progress"]) == ("completed", "2026-01-08T00:00:00.000Z", 1)
    assert done["to"] == "2027-01-01T00:00:00.000Z"


def test_on_its_way_it_reports_its_progress_and_others_are_served(
    busy: Sandbox, long: str, server: RunningServer
) -> None:
    """Its own world too: a request finds it at the instant the clock has come to."""
    before = ask(busy, long)
    with server.world("a-neighbour-of-an-advance", busy.api.contract, busy.control.contract) as neighbour:
        assert neighbour.subscribe()["status"] == "active"
        assert neighbour.now == START
    assert busy.customer()["created_at"] >= before["now"]
    after = ask(busy, long)
    assert (after["status"], after["from"], after["to"]) == ("running", START, END)
    assert START < before["now"] < after["now"] < END
    assert 0 < before["progress"] < after["progress"] < 1
    assert before["jobs"] < after["jobs"]


def test_stopped_it_ends_between_two_jobs_and_nothing_is_lost(busy: Sandbox, long: str) -> None:
    """Each day until then has its invoice; what was due later is still to come."""
    stopped = stop(busy, long)
    assert stopped["status"] == "stopped"
    assert stopped == ask(busy, long) == stop(busy, long)
    assert busy.now == stopped["now"]
    assert busy.control.get("/clock")["next_due_at"] >= stopped["now"]
    answer = busy.control.post("/clock/advance", {"until": "next"})
    assert answer["from"] == stopped["now"]
    answer = busy.advance("3d")
    made = list(busy.api.pages("/invoices/", ordering="created_at", page_size=100))
    days = [invoice["created_at"][:10] for invoice in made]
    assert days == sorted(set(days))
    assert (days[0], days[-1]) == (START[:10], answer["now"][:10])
    assert len(days) == _days(START, answer["now"]) + 1


def _days(start: str, end: str) -> int:
    return (date.fromisoformat(end[:10]) - date.fromisoformat(start[:10])).days


def waited(pool: ThreadPoolExecutor, sandbox: Sandbox, **body: str) -> Future[Any]:
    other = Client(sandbox.url, sandbox.control.contract, sandbox.key)

    def wait() -> Any:
        try:
            return other.post("/clock/advance", body)
        finally:
            other.close()

    return pool.submit(wait)


def test_others_wait_for_it_and_can_be_stopped_before_they_began(busy: Sandbox, long: str) -> None:
    """One that waits is running and has not begun; so it is with one that somebody waits for."""
    with ThreadPoolExecutor() as pool:
        waiting, never = begin(busy, by="1d"), begin(busy, by="1d")
        later = waited(pool, busy, by="1s")
        seen, stopped = ask(busy, waiting), stop(busy, never)
        assert (seen["status"], stopped["status"]) == ("running", "stopped")
        for each in (seen, stopped):
            assert (each["progress"], each["jobs"]) == (0, 0)
        assert ask(busy, long)["status"] == "running"
        ended = stop(busy, long)
        done = until(lambda: ask(busy, waiting), lambda advance: advance["status"] != "running")
        assert (done["status"], done["from"]) == ("completed", ended["now"])
        assert done["jobs"] > 0
        assert later.result()["from"] == done["now"]


def test_a_goal_that_others_have_gone_past_is_a_failure(sandbox: Sandbox, receiver: Receiver) -> None:
    """It would have been rejected, had it been given when it began: the clock never goes back (B-95)."""
    sandbox.endpoint(receiver.url)
    receiver.reply = lambda received: Reply(held=True)
    sandbox.customer()
    first, second = begin(sandbox, by="2d"), begin(sandbox, to="2026-01-02T00:00:00.000Z")
    assert ask(sandbox, second)["status"] == "running"
    receiver.release()
    failed = until(lambda: ask(sandbox, second), lambda advance: advance["status"] != "running")
    assert ask(sandbox, first)["status"] == "completed"
    assert (failed["status"], failed["jobs"]) == ("failed", 0)
    assert failed["error"].endswith("2026-01-03T00:00:00.000Z; the clock never goes back")


def test_a_reset_ends_it_and_the_clock_stays(busy: Sandbox, long: str) -> None:
    """B-07."""
    busy.api.post("/reset")
    ended = ask(busy, long)
    assert (ended["status"], ended["now"]) == ("stopped", busy.now)
    assert busy.control.get("/clock")["pending"] == 0


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
    ended = ask(busy, id)
    assert (ended["status"], ended["now"] > START, busy.now > START) == ("stopped", True, back == "stop")
    receiver.release()
    assert busy.advance("1d")["jobs"] >= 1


def test_one_that_is_waited_for_reports_its_progress_when_a_reset_ends_it(busy: Sandbox) -> None:
    with ThreadPoolExecutor() as pool:
        waiting = waited(pool, busy, to=END)
        until(lambda: busy.now, lambda now: bool(now > START))
        busy.api.post("/reset")
        result = waiting.result()
    assert START < result["now"] == busy.now
    assert result["jobs"] > 0


def test_a_world_that_is_thrown_away_takes_it_along(
    world_name: str, server: RunningServer, busy: Sandbox, long: str
) -> None:
    server.server.discard(f"sk_test_{world_name}")
    assert busy.now == START
    busy.control.rejected("GET", f"/clock/advances/{long}", 404, "NOT_FOUND")
    assert busy.now == START


def test_so_many_are_remembered_and_no_more_can_be_under_way(sandbox: Sandbox, receiver: Receiver) -> None:
    """The oldest that has ended makes room. The first waits for a delivery, and all others for the first."""
    sandbox.endpoint(receiver.url)
    receiver.reply = lambda received: Reply(held=True)
    sandbox.customer()
    first, *waiting = (begin(sandbox, by="1d") for _ in range(MAX_ADVANCES))
    rejected = sandbox.control.rejected(
        "POST", "/clock/advance", 429, "TOO_MANY_REQUESTS", json={"by": "1d"}, headers={"Prefer": "respond-async"}
    )
    assert rejected["retry_after"] == 1
    stop(sandbox, waiting[5])
    another = begin(sandbox, by="1d")
    sandbox.control.rejected("GET", f"/clock/advances/{waiting[5]}", 404, "NOT_FOUND")
    assert ask(sandbox, another)["status"] == ask(sandbox, first)["status"] == "running"
    for id in (*waiting[:5], *waiting[6:], another, first):
        stop(sandbox, id)
    receiver.release()
