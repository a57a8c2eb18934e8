"""A reset by the tester: a fresh world, settings and clock included."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from contract_tests.support.receiver import Receiver, Reply
from contract_tests.support.sandbox import START, Sandbox


def everything(sandbox: Sandbox) -> Any:
    sandbox.control.post("/snapshots", {"name": "look"})
    return sandbox.control.get("/snapshots/look")


def test_a_world_is_as_it_was_at_the_very_beginning(sandbox: Sandbox) -> None:
    """Ids begin again as well (B-93)."""
    before = everything(sandbox)
    first = sandbox.customer()
    sandbox.settings(tax_rate=18)
    sandbox.control.post("/clock/run")
    sandbox.subscribe()
    sandbox.control.post("/outcomes", {"operation": "payment", "result": "failed"})
    sandbox.advance("40d")
    answer = sandbox.control.post("/reset")
    own = sandbox.control.get("/app")
    assert answer == {"object": "reset", "app": own["id"], "settings": own["settings"], "now": START, "mode": "frozen"}
    assert own["settings"]["tax_rate"] == 0
    clock = sandbox.control.get("/clock")
    assert (clock["now"], clock["mode"], clock["pending"]) == (START, "frozen", 0)
    assert everything(sandbox) == before
    assert sandbox.customer() == first


def test_inboxes_and_journal_are_empty_and_snapshots_stay(sandbox: Sandbox) -> None:
    sandbox.customer()
    sandbox.control.post("/snapshots", {"name": "saved"})
    sandbox.control.http.post("/inbox/shop", json={})
    sandbox.control.post("/reset")
    assert sandbox.control.get("/inbox/shop")["data"] == []
    assert [row["operation"] for row in sandbox.control.get("/requests")["data"]] == ["resetWorld"]
    sandbox.control.rejected("POST", "/rewind", 422, "INVALID_FIELD", json={"steps": 1})
    sandbox.control.post("/snapshots/saved/restore")
    assert sandbox.api.get("/customers/")["pagination"]["count"] == 1


def test_a_reset_says_how_the_world_starts(sandbox: Sandbox) -> None:
    """Fixtures come on top of the server's, as in files: those of every App, then those of this one."""
    made = []
    for seed in (41, 42, 41):
        sandbox.control.post("/reset", {"seed": seed})
        made.append(sandbox.customer())
    assert (made[0] == made[2], made[0]["id"] != made[1]["id"]) == (True, True)
    at = sandbox.control.post("/reset", {"clock": "frozen@2020-02-29T12:00:00+02:00"})
    assert (at["mode"], at["now"]) == ("frozen", "2020-02-29T10:00:00.000Z")
    assert sandbox.control.post("/reset", {"clock": "running"})["mode"] == "running"
    name = sandbox.key.removeprefix("sk_test_")
    apps = {name: {"settings": {"pricing_plan": "starter"}}, "other": {"settings": {"tax_rate": 1}}}
    body = {"fixtures": {"settings": {"tax_rate": 18, "pricing_plan": "business"}, "apps": apps}}
    settings = sandbox.control.post("/reset", body)["settings"]
    assert (settings["tax_rate"], settings["pricing_plan"]) == (18, "starter")
    assert sandbox.control.post("/reset")["settings"]["tax_rate"] == 0


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"clock": "frozen@noon"}, "frozen@ and an instant"),
        ({"clock": "stopped"}, ""),
        ({"seed": "7"}, ""),
        ({"fixtures": {"settings": {"tax": 18}}}, "tax is not a setting"),
        ({"fixtures": {"settings": {"tax_rate": "much"}}}, "tax_rate"),
        ({"fixtures": {"settings": {"main_currency": "GBP"}}}, "not among currencies"),
        ({"fixtures": {"keys": ["sk_test_shop"]}}, "leave them out"),
        ({"fixtures": {"objects": []}}, "objects"),
        ({"fixtures": []}, ""),
        ({"now": "2026-01-01T00:00:00Z"}, "unknown field"),
    ],
    ids=str,
)
def test_an_invalid_start_is_rejected_and_nothing_is_lost(sandbox: Sandbox, body: Any, says: str) -> None:
    customer = sandbox.customer()
    rejected = sandbox.control.rejected("POST", "/reset", 422, "INVALID_FIELD", json=body)
    assert says in rejected["message"]
    assert rejected["param"] == next(iter(body))
    assert sandbox.api.get(f"/customers/{customer['id']}/") == customer


def test_deliveries_under_way_are_given_up(sandbox: Sandbox, receiver: Receiver) -> None:
    """What a receiver of the old world answers does not concern the new one."""
    sandbox.endpoint(receiver.url)
    arrived = threading.Event()
    receiver.reply = lambda received: Reply(held=True)
    receiver.react = lambda received: arrived.set()
    sandbox.customer()
    assert arrived.wait(30)
    sandbox.control.post("/reset")
    receiver.release()
    assert sandbox.settle()["deliveries"] == {"succeeded": 0, "failed": 0}
    assert sandbox.api.get("/webhooks/")["data"] == []
