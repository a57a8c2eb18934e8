"""A job that fails in our own code is undone and reported, and the others run (control-api.md, B-91)."""

from __future__ import annotations

from typing import Any

import pytest

from contract_tests.support.receiver import Receiver
from contract_tests.support.sandbox import Sandbox
from emulator.core.jobs import Job
from emulator.core.world import World
from emulator.resources.registry import JOBS, REGISTRY


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
