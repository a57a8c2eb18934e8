"""The schedule: what is planned, and the future played on a copy without touching the world."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from contract_tests.support.receiver import Receiver
from contract_tests.support.rules_harness import RulesHarness
from contract_tests.support.sandbox import CHARGED, FAILED, FAILING_PHONE, Sandbox, compare_events
from emulator.insight.names import job_texts
from emulator.resources.registry import JOBS


def schedule(sandbox: Sandbox, **query: Any) -> list[Any]:
    return list(sandbox.control.pages("/schedule", **query))


def test_what_is_planned_soonest_first(sandbox: Sandbox) -> None:
    """GET /schedule: due_at, kind, object and a summary of each job."""
    subscription = sandbox.subscribe(trial_period_days=14, ends_at="2026-01-10T00:00:00Z")["id"]
    planned = schedule(sandbox)
    assert [(job["due_at"], job["kind"], job["object"]) for job in planned] == [
        ("2026-01-10T00:00:00.000Z", "subscription.expire", subscription),
        ("2026-01-15T00:00:00.000Z", "subscription.renew", subscription),
    ]
    assert all(set(job) == {"due_at", "kind", "object", "summary"} for job in planned)


def test_every_kind_of_job_has_a_summary() -> None:
    """No kind without words, and no words without a kind."""
    assert job_texts().keys() == JOBS.keys()


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


def test_pages_of_the_future(sandbox: Sandbox) -> None:
    """B-19: the pages together are the whole list."""
    sandbox.subscribe(unit_amount=500, interval="day")
    whole = schedule(sandbox, until="30d", page_size=100)
    assert [job["due_at"][:10] for job in whole[:2]] == ["2026-01-02", "2026-01-03"]
    assert schedule(sandbox, until="30d", page_size=7) == whole
    assert len(whole) == 30
    page = sandbox.control.get("/schedule", until="30d", page=9, page_size=7)
    assert (page["data"], page["pagination"]["count"]) == ([], 30)


def test_an_invalid_horizon_is_answered_with_both_forms(sandbox: Sandbox) -> None:
    error = sandbox.control.rejected("GET", "/schedule", 422, "INVALID_FILTER_PARAM", params={"until": "yesterday"})
    assert "must be an instant such as 2026-03-01T00:00:00Z or a duration such as 31d" in error["message"]


def test_a_copy_of_a_world_goes_its_own_way() -> None:
    """What is done to a copy does not reach the world, and the other way round; both go on alike."""
    harness, other = RulesHarness(), RulesHarness()
    subscription = harness.subscribe()
    everything = harness.everything()
    other.world = harness.world.copy()
    other.do("cancelSubscription", subscription.id)
    other.subscribe()
    other.advance(days=400)
    assert harness.everything() == everything
    other.world = harness.world.copy()
    for each in (harness, other):
        each.subscribe(FAILING_PHONE)
        each.advance(days=400)
    assert harness.everything() == other.everything() != everything
