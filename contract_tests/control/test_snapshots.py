"""Snapshots: whole worlds under a name, restored, exported, brought into another world."""

from __future__ import annotations

import json
from typing import Any

import pytest

from contract_tests.client import Client
from contract_tests.sandbox import RunningServer, Sandbox


def test_a_restored_world_is_the_one_that_was_kept(sandbox: Sandbox) -> None:
    """Its clock included; what happens afterwards happens as it did before (B-93)."""
    subscription = sandbox.subscribe()
    kept = sandbox.control.post("/snapshots", {"name": "start"})
    assert kept["now"] == sandbox.now
    sandbox.advance("40d")
    first = sandbox.api.get("/invoices/")
    sandbox.control.post("/snapshots/start/restore")
    assert sandbox.now == kept["now"]
    assert sandbox.api.get("/invoices/")["pagination"]["count"] == 1
    assert sandbox.api.get(f"/subscriptions/{subscription['id']}/")["current_period_end"] == "2026-02-01T00:00:00.000Z"
    sandbox.advance("40d")
    again = sandbox.api.get("/invoices/")
    assert [invoice["invoice_number"] for invoice in again["data"]] == [row["invoice_number"] for row in first["data"]]


def test_snapshots_are_listed_replaced_and_deleted(sandbox: Sandbox) -> None:
    sandbox.control.post("/snapshots", {"name": "a"})
    sandbox.control.post("/snapshots", {"name": "b"})
    sandbox.customer()
    sandbox.control.post("/snapshots", {"name": "a"})
    assert [(row["name"], row["objects"]) for row in sandbox.control.get("/snapshots")["data"]] == [("a", 1), ("b", 0)]
    assert sandbox.control.delete("/snapshots/b") is None
    assert [row["name"] for row in sandbox.control.get("/snapshots")["data"]] == ["a"]
    for method, path in (("GET", ""), ("DELETE", ""), ("POST", "/restore")):
        sandbox.control.refused(method, f"/snapshots/b{path}", 404, "NOT_FOUND")


def test_an_exported_world_lives_on_elsewhere(sandbox: Sandbox, server: RunningServer) -> None:
    """Its jobs, events, idempotency answers and counters go with it."""
    subscription = sandbox.subscribe()
    body = {"email": "once@example.com", "name": "Once"}
    sandbox.api.request("POST", "/customers/", json=body, headers={"Idempotency-Key": "k"})
    sandbox.control.post("/snapshots", {"name": "mine"})
    exported = json.loads(json.dumps(sandbox.control.get("/snapshots/mine")))
    other = Sandbox(server.url, f"{sandbox.key}-other", sandbox.api.contract, sandbox.control.contract)
    assert other.control.request("PUT", "/snapshots/theirs", json=exported).json()["objects"] == 9
    other.control.post("/snapshots/theirs/restore")
    assert other.api.get(f"/subscriptions/{subscription['id']}/") == sandbox.api.get(
        f"/subscriptions/{subscription['id']}/"
    )
    assert other.events() == sandbox.events()
    replay = other.api.request("POST", "/customers/", json=body, headers={"Idempotency-Key": "k"})
    assert replay.headers["idempotent-replayed"] == "true"
    assert other.advance("31d")["events"] == sandbox.advance("31d")["events"]
    assert other.api.get("/invoices/")["data"][0]["invoice_number"] == "INV-2026-000002"
    other.close()


def test_a_world_of_any_size_is_brought_in(sandbox: Sandbox) -> None:
    """What was exported goes back in, though no other body may be as large."""
    big = {f"key{number}": "x" * 500 for number in range(50)}
    for _ in range(25):
        sandbox.customer(metadata=big)
    sandbox.control.post("/snapshots", {"name": "big"})
    exported = sandbox.control.request("GET", "/snapshots/big").content
    assert len(exported) > 1024 * 1024
    json_type = {"Content-Type": "application/json"}
    brought = sandbox.control.request("PUT", "/snapshots/again", content=exported, headers=json_type)
    assert brought.json()["objects"] == 25
    refused = sandbox.control.request("POST", "/snapshots", content=exported, headers=json_type)
    assert "larger than 1048576 bytes" in refused.json()["message"]


def test_an_export_holds_no_card_number(sandbox: Sandbox) -> None:
    sandbox.pay()
    sandbox.control.post("/snapshots", {"name": "paid"})
    assert "424242424242" not in json.dumps(sandbox.control.get("/snapshots/paid")).replace(" ", "")


@pytest.mark.parametrize(
    "change",
    [
        {"format": 2},
        {"records": {"spaceship": []}},
        {"records": {"customer": [[1, {"id": "cust_1"}]]}},
        {"now": "noon"},
    ],
    ids=str,
)
def test_what_is_no_world_is_refused(sandbox: Sandbox, change: Any) -> None:
    sandbox.control.post("/snapshots", {"name": "a"})
    exported = {**sandbox.control.get("/snapshots/a"), **change}
    assert sandbox.control.request("PUT", "/snapshots/b", json=exported).status_code == 422
    assert [row["name"] for row in sandbox.control.get("/snapshots")["data"]] == ["a"]


@pytest.mark.parametrize("name", ["", "a b", "x" * 65, "../a"])
def test_a_name_is_a_plain_word(sandbox: Sandbox, name: str) -> None:
    assert sandbox.control.request("POST", "/snapshots", json={"name": name}).status_code == 422


def test_a_snapshot_belongs_to_its_world(sandbox: Sandbox) -> None:
    """B-01."""
    sandbox.control.post("/snapshots", {"name": "a"})
    live = Client(sandbox.url, sandbox.control.contract, sandbox.key.replace("sk_test_", "sk_prod_"))
    assert live.get("/snapshots")["data"] == []
    live.close()
