"""Snapshots: whole worlds under a name, restored, exported, brought into another world, and shared."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from tinydb import Query, TinyDB

from contract_tests.support.receiver import Receiver
from contract_tests.support.sandbox import FAILING_PHONE, Sandbox


def saved(sandbox: Sandbox, **query: str) -> Any:
    """The present world as it is exported."""
    sandbox.control.post("/snapshots", {"name": "saved"})
    return sandbox.control.get("/snapshots/saved", **query)


def bring(sandbox: Sandbox, name: str, exported: Any) -> Any:
    return sandbox.control.request("PUT", f"/snapshots/{name}", json=exported)


def test_snapshots_are_listed_replaced_and_deleted(sandbox: Sandbox) -> None:
    answer = sandbox.control.request("POST", "/snapshots", json={"name": "a"})
    assert (answer.status_code, answer.json()["name"]) == (201, "a")
    sandbox.control.post("/snapshots", {"name": "b"})
    sandbox.customer()
    sandbox.control.post("/snapshots", {"name": "a"})
    assert [(row["name"], row["objects"]) for row in sandbox.control.get("/snapshots")["data"]] == [("a", 1), ("b", 0)]
    assert sandbox.control.delete("/snapshots/b") is None
    assert [row["name"] for row in sandbox.control.get("/snapshots")["data"]] == ["a"]
    for name in ("", "a b", "x" * 65, "../a", ".", ".."):
        assert sandbox.control.request("POST", "/snapshots", json={"name": name}).status_code == 422, name


def test_a_restored_or_exported_world_is_the_one_that_was_saved(sandbox: Sandbox, other_world: Sandbox) -> None:
    """Its clock, jobs, events, idempotency answers and counters: what happens afterwards is the same (B-93)."""
    subscription = sandbox.subscribe()
    body = {"email": "once@example.com", "name": "Once"}
    sandbox.api.request("POST", "/customers/", json=body, headers={"Idempotency-Key": "k"})
    exported = saved(sandbox)
    before, now = sandbox.events(), sandbox.now
    later = sandbox.advance("40d")["events"]
    invoices = sandbox.invoices("invoice_number", "created_at")
    assert bring(other_world, "saved", exported).json()["objects"] == 9
    for world in (sandbox, other_world):
        world.control.post("/snapshots/saved/restore")
        assert (world.now, world.events(), len(world.invoices("id"))) == (now, before, 1)
        replay = world.api.request("POST", "/customers/", json=body, headers={"Idempotency-Key": "k"})
        assert replay.headers["idempotent-replayed"] == "true"
        assert world.advance("40d")["events"] == later
        assert world.invoices("invoice_number", "created_at") == invoices
        assert world.subscription(subscription["id"])["current_period_end"] == "2026-03-01T00:00:00.000Z"


def test_an_export_is_a_file_of_tinydb(sandbox: Sandbox, tmp_path: Path) -> None:
    """Who has it can ask it anything. Of a file of several worlds its own is brought in."""
    customer = sandbox.customer()
    exported = saved(sandbox)
    file = tmp_path / "a.json"
    file.write_text(json.dumps(exported))
    with TinyDB(file) as base:
        found = base.table(f"{sandbox.key}/customer").get(Query().email == customer["email"])
    assert isinstance(found, Mapping)
    assert found["id"] == customer["id"]
    own = exported["worlds"]["1"]
    other = {**own, "key": "sk_test_other"}
    assert bring(sandbox, "b", {**exported, "worlds": {"1": other, "2": own}}).status_code == 200
    neither = {**exported, "worlds": {"1": other, "2": {**own, "key": "sk_test_another"}}}
    del neither[f"{sandbox.key}/settings"]
    assert bring(sandbox, "c", neither).status_code == 422


def own(file: Any) -> Any:
    return file["worlds"]["1"]


def row(kind: str, **fields: Any) -> Callable[[Any], Any]:
    """Change fields of a record of a kind, one that has them."""

    def spoil(file: Any) -> None:
        table = file[f"{own(file)['key']}/{kind}"]
        next(each for each in table.values() if fields.keys() <= each.keys() or kind != "email").update(fields)

    return spoil


NO_WORLD: dict[str, Callable[[Any], Any]] = {
    "of a newer version": lambda file: file["emulator"]["1"].update(format=3),
    "of no version": lambda file: file["emulator"].clear(),
    "without a world": lambda file: file["worlds"].clear(),
    "of a key that is none": lambda file: own(file).update(key="demo"),
    "with unknown records": lambda file: file.update({f"{own(file)['key']}/spaceship": {"1": {}}}),
    "with records of an unknown App": lambda file: file.update({"sk_test_else/customer": {"1": {}}}),
    "without settings": lambda file: file.pop(f"{own(file)['key']}/settings"),
    "at no instant": lambda file: own(file).update(now="noon"),
    "with a clock that goes back": lambda file: own(file).update(rate=-1),
    "with counters behind its records": lambda file: own(file)["counters"].update(draw=0),
    "of tables that are none": lambda file: file.update(snapshots=[1]),
    "with a job without a function": row("job", name="moon.landing"),
    "with a job at no instant": row("job", due="xxx"),
    "with an event of half an object": row("event", data={"object": {"object": "customer"}}),
    "with an event of a wrong object": row("event", data={"object": {"object": "customer", "id": "c", "email": ["x"]}}),
    "with an email in no language": row("email", language="xx"),
    "with an email without its receipt": row("email", receipt=None),
    "with a wrong email": row("customer", email=7 * "x"),
    "of a thirteenth month": row("customer", created_at="2026-13-01T00:00:00.000Z"),
}


def test_an_invalid_world_is_rejected(sandbox: Sandbox) -> None:
    """The whole file, in one line; what was saved before stays."""
    sandbox.subscribe()
    sandbox.pay()
    before = saved(sandbox)
    for why, spoil in NO_WORLD.items():
        spoil(exported := deepcopy(before))
        error = sandbox.control.request("PUT", "/snapshots/saved", json=exported)
        assert (error.status_code, error.json()["code"]) == (422, "INVALID_FIELD"), why
        assert "\n" not in error.json()["message"]
    assert sandbox.control.get("/snapshots/saved") == before


# -- shared: nothing personal or secret leaves, and what leaves can be restored and works

STREET = "12 rue du Marché"
EMAIL, PHONE = "f.ossengue@corp.example", "+24174123456"
PERSONAL = [
    *("secrettown", "Woleu-Secret", "Ferdinand", "Ossengue", STREET),
    *("BP 777", "f.ossengue", "74123456", "corp.example", "小明"),
]
"""Parts of everything personal that the world below holds."""


@pytest.fixture
def personal(sandbox: Sandbox, receiver: Receiver) -> Any:
    """A world in which a person's data stands in as many places as possible, exported to be shared."""
    sandbox.endpoint(receiver.url)
    name = "Ferdinand Ossengue"
    note = {"note": f"{name}, {EMAIL} or {PHONE}"}
    customer = sandbox.customer(name=name, email=EMAIL, phone=PHONE, metadata=note)["id"]
    place = {"line1": STREET, "line2": "BP 777", "city": "secrettown", "state": "Woleu-Secret", "country": "GA"}
    sandbox.api.post(f"/customers/{customer}/addresses/", {**place, "is_default": True})
    plan = sandbox.plan()["id"]
    sandbox.api.post("/subscriptions/", {"customer": customer, "plan": plan}, **{"Idempotency-Key": "once"})
    failing = sandbox.customer(name="王 小明", phone=FAILING_PHONE)["id"]
    sandbox.api.post("/subscriptions/", {"customer": failing, "plan": plan})
    for email in ("someone@corp.example", "fail@x.io", "good@x.io"):
        sandbox.buy(sandbox.session(customer_email=EMAIL), {"type": "paypal", "email": email})
    sandbox.settle()
    return saved(sandbox, share="true")


def test_nothing_personal_or_secret_is_in_it(sandbox: Sandbox, personal: Any) -> None:
    """But for a magic value, which decides a payment still (B-54). The same world gives the same file."""
    whole = sandbox.control.get("/snapshots/saved", share="false")
    endpoints = next(table for name, table in whole.items() if name.endswith("webhook_endpoint"))
    secrets = [*PERSONAL, "good@x.io", *(each["secret"] for each in endpoints.values())]
    assert [part for part in secrets if part not in json.dumps(whole, ensure_ascii=False)] == []
    text = json.dumps(personal, ensure_ascii=False)
    assert [part for part in secrets if part in text] == []
    assert "fail@x.io" in text
    assert own(personal)["seed"] != own(whole)["seed"]
    assert sandbox.control.get("/snapshots/saved", share="true") == personal


def test_an_invented_value_is_the_same_wherever_it_stands(personal: Any) -> None:
    tables = {name.rpartition("/")[2]: [*table.values()] for name, table in personal.items() if "/" in name}
    customer = next(each for each in tables["customer"] if (each["phone"] or "").startswith("+24174"))
    assert customer["email"].endswith("@example.com")
    name = f"{customer['firstname']} {customer['lastname']}"
    assert customer["metadata"]["note"] == f"{name}, {customer['email']} or {customer['phone']}"
    assert [len(word) for word in name.split()] == [len("Ferdinand"), len("Ossengue")]
    assert customer["email"] in {email["to"] for email in tables["email"]}
    assert customer["email"] in {intent["customer_email"] for intent in tables["payment_intent"]}
    shapes = [[character.isdigit() for character in text] for text in (tables["address"][0]["line1"], STREET)]
    assert shapes[0] == shapes[1]
    assert {(each["secret"][:6], len(each["secret"])) for each in tables["webhook_endpoint"]} == {("whsec_", 38)}


def test_it_is_restored_and_goes_on_as_the_original_does(sandbox: Sandbox, personal: Any) -> None:
    """Counts, amounts and what the operator decides stay as they were."""
    lists = ("customers", "subscriptions", "invoices", "transactions", "payment-intents", "webhooks")

    def shape() -> list[Any]:
        rows = [row for name in lists for row in sandbox.api.pages(f"/{name}/", page_size=100)]
        return [{key: row.get(key) for key in ("id", "status", "amount", "total", "created_at")} for row in rows]

    before = shape()
    sandbox.advance("40d")
    later = [event["type"] for event in sandbox.events()]
    assert bring(sandbox, "shared", personal).status_code == 200
    sandbox.control.post("/snapshots/shared/restore")
    assert shape() == before
    sandbox.advance("40d")
    assert [event["type"] for event in sandbox.events()] == later
    assert sandbox.control.get("/ledger")["balanced"]
