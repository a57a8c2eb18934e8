"""Snapshots: whole worlds under a name, restored, exported, brought into another world."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tinydb import Query, TinyDB

from contract_tests.support.receiver import Receiver, Reply
from contract_tests.support.sandbox import Sandbox
from emulator.core.world import World


def test_snapshots_are_listed_replaced_and_deleted(sandbox: Sandbox) -> None:
    sandbox.control.post("/snapshots", {"name": "a"})
    sandbox.control.post("/snapshots", {"name": "b"})
    sandbox.customer()
    sandbox.control.post("/snapshots", {"name": "a"})
    assert [(row["name"], row["objects"]) for row in sandbox.control.get("/snapshots")["data"]] == [("a", 1), ("b", 0)]
    assert sandbox.control.delete("/snapshots/b") is None
    assert [row["name"] for row in sandbox.control.get("/snapshots")["data"]] == ["a"]
    for method, path in (("GET", ""), ("DELETE", ""), ("POST", "/restore")):
        sandbox.control.rejected(method, f"/snapshots/b{path}", 404, "NOT_FOUND")


def test_a_restored_or_exported_world_is_the_one_that_was_saved(sandbox: Sandbox, other_world: Sandbox) -> None:
    """Its clock, jobs, events, idempotency answers and counters: what happens afterwards is the same (B-93)."""
    subscription = sandbox.subscribe()
    body = {"email": "once@example.com", "name": "Once"}
    sandbox.api.request("POST", "/customers/", json=body, headers={"Idempotency-Key": "k"})
    snapshot = sandbox.control.post("/snapshots", {"name": "mine"})
    before, now = sandbox.events(), sandbox.now
    later = sandbox.advance("40d")["events"]
    invoices = sandbox.invoices("invoice_number", "created_at")
    exported = json.loads(json.dumps(sandbox.control.get("/snapshots/mine")))
    assert "424242424242" not in str(exported)
    assert other_world.control.request("PUT", "/snapshots/mine", json=exported).json()["objects"] == 9
    for world in (sandbox, other_world):
        world.control.post("/snapshots/mine/restore")
        assert (world.now, world.events(), len(world.invoices("id"))) == (now, before, 1)
        assert now == snapshot["now"]
        replay = world.api.request("POST", "/customers/", json=body, headers={"Idempotency-Key": "k"})
        assert replay.headers["idempotent-replayed"] == "true"
        assert world.advance("40d")["events"] == later
        assert world.invoices("invoice_number", "created_at") == invoices
        assert world.subscription(subscription["id"])["current_period_end"] == "2026-03-01T00:00:00.000Z"


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
    rejected = sandbox.control.request("POST", "/snapshots", content=exported, headers=json_type)
    assert "larger than 1048576 bytes" in rejected.json()["message"]


def spoilt(change: Callable[[Any], None]) -> Callable[[Any], Any]:

    def spoil(exported: Any) -> Any:
        change(exported)
        return exported

    return spoil


NO_WORLD: dict[str, Callable[[Any], Any]] = {
    "of a newer version": spoilt(lambda file: file["emulator"]["1"].update(format=3)),
    "of an earlier version": spoilt(lambda file: file["emulator"]["1"].update(format=1)),
    "of no version": spoilt(lambda file: file["emulator"].clear()),
    "without a world": spoilt(lambda file: file["worlds"].clear()),
    "of a key that is none": spoilt(lambda file: file["worlds"]["1"].update(key="demo")),
    "with unknown records": spoilt(lambda file: file.update({f"{file['worlds']['1']['key']}/spaceship": {"1": {}}})),
    "with records of an unknown App": spoilt(lambda file: file.update({"sk_test_else/customer": {"1": {}}})),
    "with half a record": spoilt(lambda file: file.update({f"{file['worlds']['1']['key']}/customer": {"9": {}}})),
    "without settings": spoilt(lambda file: file.pop(f"{file['worlds']['1']['key']}/settings")),
    "at no instant": spoilt(lambda file: file["worlds"]["1"].update(now="noon")),
    "with a clock that goes back": spoilt(lambda file: file["worlds"]["1"].update(rate=-1)),
    "with a clock that is too fast": spoilt(lambda file: file["worlds"]["1"].update(rate=1e308)),
    "with a number that is none": spoilt(lambda file: file.update({f"{file['worlds']['1']['key']}/job": {"x": {}}})),
    "with counters behind its records": spoilt(lambda file: file["worlds"]["1"]["counters"].update(draw=0)),
    "without counters": spoilt(lambda file: file["worlds"]["1"]["counters"].clear()),
    "of tables that are none": spoilt(lambda file: file.update(snapshots=[1])),
    "of something else": lambda file: {"format": "A4"},
    "of nothing": lambda file: {},
}


@pytest.mark.parametrize("spoil", NO_WORLD.values(), ids=NO_WORLD)
def test_an_invalid_world_is_rejected(sandbox: Sandbox, spoil: Callable[[Any], Any]) -> None:
    sandbox.customer()
    sandbox.control.post("/snapshots", {"name": "a"})
    exported = spoil(sandbox.control.get("/snapshots/a"))
    sandbox.control.rejected("PUT", "/snapshots/b", 422, "INVALID_FIELD", json=exported)
    assert [row["name"] for row in sandbox.control.get("/snapshots")["data"]] == ["a"]


def test_an_export_is_a_file_of_tinydb(sandbox: Sandbox, tmp_path: Path) -> None:
    """Who has it can ask it anything. Of a file of several worlds its own is brought in."""
    customer = sandbox.customer()
    sandbox.control.post("/snapshots", {"name": "a"})
    exported = sandbox.control.get("/snapshots/a")
    file = tmp_path / "a.json"
    file.write_text(json.dumps(exported))
    with TinyDB(file) as base:
        found = base.table(f"{sandbox.key}/customer").get(Query().email == customer["email"])
    assert isinstance(found, Mapping)
    assert found["id"] == customer["id"]
    own = exported["worlds"]["1"]
    both = {**exported, "worlds": {"1": {**own, "key": "sk_test_other"}, "2": own}}
    assert sandbox.control.request("PUT", "/snapshots/b", json=both).status_code == 200
    neither = {**exported, "worlds": {"1": {**own, "key": "sk_test_other"}, "2": {**own, "key": "sk_test_another"}}}
    del neither[f"{sandbox.key}/settings"]
    sandbox.control.rejected("PUT", "/snapshots/c", 422, "INVALID_FIELD", json=neither)
    for name in ("", "a b", "x" * 65, "../a", ".", ".."):
        assert sandbox.control.request("POST", "/snapshots", json={"name": name}).status_code == 422, name


def test_a_restored_world_takes_up_what_was_under_way(sandbox: Sandbox, receiver: Receiver) -> None:
    """A delivery that was pending when the snapshot was taken and that no job would attempt is attempted again."""
    sandbox.api.post("/webhooks/", {"name": "Shop", "url": receiver.url, "events": ["customer.created"]})
    arrived = threading.Event()
    receiver.reply = lambda received: Reply(held=not received.is_ping)
    receiver.react = lambda received: None if received.is_ping else arrived.set()
    customer = sandbox.customer()
    assert arrived.wait(30)
    sandbox.control.post("/snapshots", {"name": "a"})
    receiver.release()
    sandbox.settle()
    sandbox.control.post("/snapshots/a/restore")
    sandbox.settle()
    assert [event["data"]["object"]["id"] for event in receiver.events] == [customer["id"]] * 2
    assert [item.headers["emulator-attempt"] for item in receiver.deliveries] == ["1", "1"]


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("job", {"name": "moon.landing"}),
        ("job", {"due": "xxx"}),
        ("event", {"created_at": "xxx"}),
        ("event", {"data": {"object": {"object": "customer", "id": 1.5}}}),
        ("event", {"data": {"object": {"object": "customer", "id": "cust_1", "email": ["x"]}}}),
        ("event", {"data": {"object": {"object": "customer"}}}),
        ("event", {"data": {"object": {"object": ["customer"], "id": "cust_1"}}}),
        ("event", {"data": {"object": "cust_1"}}),
        ("email", {"created_at": "xxx"}),
        ("email", {"topic": "gossip"}),
        ("email", {"language": "xx"}),
        ("email", {"receipt": None}),
        ("customer", {"email": 7 * "x"}),
        ("customer", {"created_at": "2026-13-01T00:00:00.000Z"}),
    ],
    ids=str,
)
def test_a_snapshot_with_a_record_that_cannot_be_shown_is_rejected(
    sandbox: Sandbox, kind: str, fields: Mapping[str, Any]
) -> None:
    """The whole file, in one line; what was saved before stays."""
    sandbox.subscribe()
    sandbox.pay()
    sandbox.control.post("/snapshots", {"name": "s"})
    exported = sandbox.control.get("/snapshots/s")
    assert sandbox.control.request("PUT", "/snapshots/s", json=exported).status_code == 200
    table = exported[f"{exported['worlds']['1']['key']}/{kind}"]
    row = next(row for row in table.values() if fields.keys() <= row.keys() or kind != "email")
    row.update(fields)
    rejected = sandbox.control.request("PUT", "/snapshots/s", json=exported)
    assert (rejected.status_code, rejected.json()["code"]) == (422, "INVALID_FIELD")
    assert kind in rejected.json()["message"]
    assert "\n" not in rejected.json()["message"]
    assert sandbox.control.get("/snapshots/s") != exported


def test_imports_resets_and_restores_run_one_at_a_time(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reset that comes while a snapshot is validated waits until it is stored."""
    sandbox.customer()
    sandbox.control.post("/snapshots", {"name": "s"})
    exported = sandbox.control.get("/snapshots/s")
    order: list[str] = []
    arrived, validated = threading.Event(), threading.Event()

    def slow(world: World) -> None:
        arrived.set()
        assert validated.wait(30)
        order.append("validated")

    def reset() -> None:
        sandbox.control.post("/reset")
        order.append("reset")

    monkeypatch.setattr("emulator.control.worlds.validate", slow)
    with ThreadPoolExecutor(2) as threads:
        imported = threads.submit(sandbox.control.request, "PUT", "/snapshots/late", json=exported)
        assert arrived.wait(30)
        threads.submit(reset)
        for _ in range(20):
            assert sandbox.api.get("/customers/")["pagination"]["count"] == 1, "nothing is reset yet"
        validated.set()
        assert imported.result().status_code == 200
    assert order == ["validated", "reset"]
    assert [row["name"] for row in sandbox.control.get("/snapshots")["data"]] == ["late", "s"]
