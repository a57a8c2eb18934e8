"""A world whose jobs take longer than its clock allows: it lags and says so, and delays no other world."""

from __future__ import annotations

from typing import Any

import pytest

from contract_tests.support.sandbox import Sandbox

MAX_RATE = 31_536_000
DAILY = 20
END = "9999-12-31T23:59:59.998Z"


@pytest.fixture
def busy(sandbox: Sandbox) -> Sandbox:
    """A world with subscriptions that renew each day."""
    for _ in range(DAILY):
        sandbox.subscribe(unit_amount=1000, interval="day")
    return sandbox


def clock_that_lags(sandbox: Sandbox) -> Any:
    """Return the clock once its world is behind."""
    while not (clock := sandbox.control.get("/clock"))["lag"]:
        pass
    return clock


def test_a_clock_faster_than_its_jobs_lags_and_others_are_served(busy: Sandbox, other_world: Sandbox) -> None:
    """Everything is answered while the backlog is worked off; the clock shows what was reached, and never goes back."""
    busy.control.post("/clock/run", {"rate": MAX_RATE})
    behind = clock_that_lags(busy)
    assert behind["next_due_at"] == behind["now"]
    for _ in range(5):
        assert other_world.api.get("/customers/")["pagination"]["count"] == 0
        assert other_world.control.get("/clock")["lag"] == 0
        assert other_world.control.get("/health")["status"] == "ok"
    assert busy.api.get("/customers/")["pagination"]["count"] == DAILY
    assert busy.api.get("/subscriptions/")["data"][0]["created_at"] < busy.control.get("/clock")["now"]
    frozen = busy.control.post("/clock/freeze")
    assert (frozen["mode"], frozen["lag"]) == ("frozen", 0)
    assert frozen["now"] >= behind["now"]
    assert busy.control.get("/clock")["now"] == frozen["now"]


def test_a_lagging_clock_can_be_slowed_down_and_its_world_reset(busy: Sandbox) -> None:
    busy.control.post("/clock/run", {"rate": MAX_RATE})
    behind = clock_that_lags(busy)
    slow = busy.control.post("/clock/run", {"rate": 0.001})
    assert slow["now"] >= behind["now"]
    assert busy.api.get("/customers/")["pagination"]["count"] == DAILY  # what was due by then is done
    assert busy.control.get("/clock")["lag"] == 0
    busy.control.post("/clock/run", {"rate": MAX_RATE})
    clock_that_lags(busy)
    assert busy.control.post("/reset", {"clock": "frozen@2026-01-01T00:00:00Z"})["now"] == "2026-01-01T00:00:00.000Z"
    assert busy.control.get("/clock")["pending"] == 0


def test_each_renewal_of_a_lagging_world_is_at_its_own_instant(busy: Sandbox) -> None:
    busy.control.post("/clock/run", {"rate": MAX_RATE})
    clock_that_lags(busy)
    busy.control.post("/clock/freeze")
    invoices = list(busy.control.pages("/objects", kind="invoice", page_size=100))
    assert len(invoices) > DAILY
    assert {invoice["created_at"][10:] for invoice in invoices} == {"T00:00:00.000Z"}


def test_a_snapshot_with_a_late_clock_is_worked_off_in_slices(sandbox: Sandbox, other_world: Sandbox) -> None:
    """Each renewal on the way happens at its own instant; freezing stops the clock where it is."""
    sandbox.subscribe()
    sandbox.control.post("/snapshots", {"name": "late"})
    exported = sandbox.control.get("/snapshots/late")
    exported["worlds"]["1"]["now"] = END
    sandbox.control.request("PUT", "/snapshots/late", json=exported)
    sandbox.control.post("/snapshots/late/restore")
    assert other_world.api.get("/customers/")["pagination"]["count"] == 0
    assert clock_that_lags(sandbox)["mode"] == "frozen"
    assert sandbox.api.get("/customers/")["pagination"]["count"] == 1
    frozen = sandbox.control.post("/clock/freeze")
    assert frozen["now"] < END
    assert frozen["lag"] == 0
    latest = next(iter(sandbox.control.pages("/objects", kind="invoice", page_size=1)))
    assert latest["created_at"] <= frozen["now"]
