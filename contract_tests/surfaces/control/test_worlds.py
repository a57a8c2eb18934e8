"""Worlds beside each other: what one holds no other one shows, and waiting for what it is going to hold."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from contract_tests.support.sandbox import Sandbox

LISTS = (
    *("events", "emails", "requests", "faults", "outcomes", "snapshots", "inboxes", "inbox/shop", "schedule"),
    "objects?kind=customer",
)


def held(sandbox: Sandbox) -> dict[str, int]:
    """How many there are in each list."""
    return {path: sandbox.control.get(f"/{path}")["pagination"]["count"] for path in LISTS}


def test_no_other_world_shows_what_one_holds(sandbox: Sandbox, other_world: Sandbox, live: Sandbox) -> None:
    """B-01, B-02: nor is it met by what is arranged there. What is arranged and received is no object (B-07)."""
    app = sandbox.key.removeprefix("sk_test_")
    sandbox.endpoint(f"{sandbox.url}/_emulator/inbox/shop?app={app}")
    sandbox.subscribe(phone=None)
    sandbox.control.post("/snapshots", {"name": "saved"})
    sandbox.control.post("/faults", {"then": {"code": "DATABASE_ERROR"}, "match": {"path": "/customers/"}})
    sandbox.control.post("/outcomes", {"operation": "payment", "result": "failed"})
    (email,) = sandbox.control.get("/emails")["data"]
    advance = sandbox.control.request(
        "POST", "/clock/advance", json={"by": "1d"}, headers={"Prefer": "respond-async"}
    ).json()
    sandbox.settle()
    assert min(held(sandbox).values()) >= 1
    for other in (other_world, live):
        assert set(held(other).values()) == {0}
        for path in (f"/emails/{email['id']}", f"/clock/advances/{advance['id']}", "/snapshots/saved"):
            sandbox.control.get(path)
            other.control.rejected("GET", path, 404, "NOT_FOUND")
        assert other.control.get("/coverage")["request_count"] == 0
        assert other.api.http.get("/customers/").status_code == 200
        assert other.now == "2026-01-01T00:00:00.000Z"
        other.control.post("/reset")
    sandbox.api.post("/reset")
    assert {path for path, count in held(sandbox).items() if count} == {
        "requests",
        "snapshots",
        "inboxes",
        "inbox/shop",
    }
    other_world.subscribe(phone=None)
    assert other_world.api.post("/reset")["deleted"] == len(("customer", "plan", "subscription", "invoice"))


@pytest.mark.parametrize(("path", "what"), [("/events", {"type": "invoice.paid"}), ("/emails", {"kind": "receipt"})])
def test_waiting_ends_with_what_was_waited_for(sandbox: Sandbox, path: str, what: Any) -> None:
    """Others do not end it; it is over at once where there is one, and in vain after its time."""
    assert sandbox.control.get(path, **what, wait=0)["data"] == []
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(sandbox.control.get, path, **what, wait=30)
        customer = sandbox.customer(phone="+24177000000")
        assert not waiting.done()
        sandbox.api.post("/subscriptions/", {"customer": customer["id"], "unit_amount": 500, "interval": "week"})
        (found,) = waiting.result(timeout=60)["data"]
    assert sandbox.control.get(path, **what, wait=30)["data"] == [found]
