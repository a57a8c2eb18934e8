"""The schedule: what is planned, and the future played on a copy without touching the world."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from contract_tests.support.receiver import Receiver
from contract_tests.support.sandbox import CHARGED, FAILED, FAILING_PHONE, Sandbox, compare_events
from emulator.insight.names import job_texts
from emulator.resources.registry import JOBS


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


def test_pages_of_the_future(sandbox: Sandbox) -> None:
    """B-19: the pages together are the whole list."""
    sandbox.subscribe(unit_amount=500, interval="day")
    whole = schedule(sandbox, until="30d", page_size=100)
    assert [job["due_at"][:10] for job in whole[:2]] == ["2026-01-02", "2026-01-03"]
    assert (schedule(sandbox, until="30d", page_size=7), len(whole)) == (whole, 30)
    page = sandbox.control.get("/schedule", until="30d", page=9, page_size=7)
    assert (page["data"], page["pagination"]["count"]) == ([], 30)
    error = sandbox.control.rejected("GET", "/schedule", 422, "INVALID_FILTER_PARAM", params={"until": "yesterday"})
    assert "must be an instant such as 2026-03-01T00:00:00Z or a duration such as 31d" in error["message"]


@pytest.mark.parametrize("until", ["P1Y", "365d", "2027-01-01T00:00:00Z", "2027-01-01T01:00:00+01:00"])
def test_the_future_is_what_comes_true(sandbox: Sandbox, until: str) -> None:
    """until: each job that would run and the events it would send, in order; then the same happens."""
    sandbox.subscribe()
    sandbox.subscribe(FAILING_PHONE)
    before = len(sandbox.events())
    foreseen = schedule(sandbox, until=until, page_size=100)
    answer = sandbox.advance("P1Y")
    assert answer["jobs"] == len(foreseen)
    happened = [event["type"] for event in sandbox.events()[before:]]
    assert [type for job in foreseen for type in job["event_types"]] == happened
    compare_events(Counter(happened), [*CHARGED * 12, *FAILED * 4])


def test_the_world_notices_nothing(sandbox: Sandbox, receiver: Receiver) -> None:
    """No clock moved, no event, no delivery, no id used up: the same request gives the same answer."""
    sandbox.api.post("/webhooks/", {"name": "Shop", "url": receiver.url, "events": ["*"]})
    sandbox.subscribe()
    sandbox.advance("1d")
    heard, clock, invoices = len(receiver.received), sandbox.control.get("/clock"), sandbox.invoices()
    with sandbox.expect():
        first = schedule(sandbox, until="P2Y")
        assert schedule(sandbox, until="P2Y") == first
    assert (len(receiver.received), sandbox.control.get("/clock"), sandbox.invoices()) == (heard, clock, invoices)
    assert sandbox.api.get("/subscriptions/")["data"][0]["current_period_end"] == "2026-02-01T00:00:00.000Z"
    assert [each["kind"] for each in sandbox.control.get("/emails")["data"]] == ["receipt"]
