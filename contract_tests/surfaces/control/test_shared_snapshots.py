"""Shared snapshots: nothing personal or secret leaves, and what leaves can be restored and works."""

from __future__ import annotations

import json
from typing import Any

import pytest

from contract_tests.support.receiver import Receiver
from contract_tests.support.sandbox import FAILING_PHONE, Sandbox

PHONE = "+24174123456"
STREET = "12 rue du Marché"
PERSONAL = [
    "secrettown",
    "Woleu-Secret",
    "Ferdinand",
    "Ossengue",
    STREET,
    "BP 777",
    "f.ossengue",
    "74123456",
    "corp.example",
]
"""Parts of everything personal that the scenario below sends to the sandbox."""


@pytest.fixture
def exported(sandbox: Sandbox, receiver: Receiver) -> Any:
    """A world in which a person's data stands in as many places as possible."""
    endpoint = sandbox.endpoint(receiver.url)
    email = "f.ossengue@corp.example"
    customer = sandbox.customer(
        name="Ferdinand Ossengue",
        email=email,
        phone=PHONE,
        metadata={"note": f"Ferdinand Ossengue, {email} or {PHONE}"},
    )
    place = {"line1": STREET, "line2": "BP 777", "city": "secrettown", "state": "Woleu-Secret", "country": "GA"}
    sandbox.api.post(f"/customers/{customer['id']}/addresses/", {**place, "is_default": True})
    plan = sandbox.plan()["id"]
    sandbox.api.post("/subscriptions/", {"customer": customer["id"], "plan": plan}, **{"Idempotency-Key": "once"})
    failing = sandbox.customer(name="王 小明", phone=FAILING_PHONE)
    sandbox.api.post("/subscriptions/", {"customer": failing["id"], "unit_amount": 500, "interval": "month"})
    sandbox.buy(sandbox.session(customer_email=email), {"type": "paypal", "email": "someone@corp.example"})
    sandbox.settle()
    sandbox.control.post("/snapshots", {"name": "story"})
    whole = json.dumps(sandbox.control.get("/snapshots/story"), ensure_ascii=False)
    assert all(part in whole for part in PERSONAL)
    assert endpoint["secret"] in whole
    return sandbox.control.get("/snapshots/story", share="true")


def test_nothing_personal_or_secret_is_in_it(sandbox: Sandbox, exported: Any) -> None:
    text = json.dumps(exported, ensure_ascii=False)
    whole = sandbox.control.get("/snapshots/story")
    secrets = [
        row["secret"] for name, table in whole.items() if name.endswith("webhook_endpoint") for row in table.values()
    ]
    for part in [*PERSONAL, *secrets, "小明"]:
        assert part not in text, text[max(0, text.index(part) - 200) :][:400]
    assert exported["worlds"]["1"]["seed"] != whole["worlds"]["1"]["seed"]


def test_an_invented_value_is_the_same_wherever_it_stands(sandbox: Sandbox, exported: Any) -> None:
    tables = {name.rpartition("/")[2]: [*table.values()] for name, table in exported.items() if "/" in name}
    customer = next(each for each in tables["customer"] if each["phone"].startswith("+24174"))
    assert customer["email"].endswith("@example.com")
    name = f"{customer['firstname']} {customer['lastname']}"
    assert customer["metadata"]["note"] == f"{name}, {customer['email']} or {customer['phone']}"
    assert [len(word) for word in name.split()] == [len("Ferdinand"), len("Ossengue")]
    assert customer["email"] in {email["to"] for email in tables["email"]}
    shapes = [[character.isdigit() for character in text] for text in (tables["address"][0]["line1"], STREET)]
    assert shapes[0] == shapes[1]
    secrets = [each["secret"] for each in tables["webhook_endpoint"]]
    assert {(secret[:6], len(secret)) for secret in secrets} == {("whsec_", 6 + 32)}
    assert customer["email"] in {intent["customer_email"] for intent in tables["payment_intent"]}


def test_it_is_restored_and_goes_on_as_the_original_does(sandbox: Sandbox, exported: Any) -> None:
    """Counts, amounts and what the operator decides stay as they were."""
    lists = ("customers", "subscriptions", "invoices", "transactions", "payment-intents", "webhooks")

    def shape() -> list[Any]:
        rows = [row for name in lists for row in sandbox.api.pages(f"/{name}/", page_size=100)]
        return [{key: row.get(key) for key in ("id", "status", "amount", "total", "created_at")} for row in rows]

    before = shape()
    sandbox.advance("40d")
    later = [event["type"] for event in sandbox.events()]
    sandbox.control.request("PUT", "/snapshots/shared", json=exported).raise_for_status()
    sandbox.control.post("/snapshots/shared/restore")
    assert shape() == before
    sandbox.advance("40d")
    assert [event["type"] for event in sandbox.events()] == later
    assert sandbox.control.get("/ledger")["balanced"]


def test_an_invented_name_is_written_in_the_letters_of_the_original(sandbox: Sandbox) -> None:
    scripts = {"я": ("а", "я"), "α": ("α", "ω"), "ب": ("\u0621", "\u064a"), "明": ("\u4e00", "\u9fa5"), "q": ("a", "z")}
    made = {letter: sandbox.customer(name=f"{letter * 90} {letter * 90}")["id"] for letter in scripts}
    sandbox.control.post("/snapshots", {"name": "scripts"})
    shared = sandbox.control.get("/snapshots/scripts", share="true")
    (customers,) = (table for name, table in shared.items() if name.endswith("/customer"))
    names = {row["id"]: row["firstname"] + row["lastname"] for row in customers.values()}
    for letter, (first, last) in scripts.items():
        assert len(names[made[letter]]) == 180
        assert all(first <= character <= last for character in names[made[letter]])


def test_an_address_that_decides_a_payment_decides_it_still(sandbox: Sandbox) -> None:
    """B-54: a magic value stays, for an invented one would succeed. The same world gives the same file."""
    for email in ("fail@x.io", "good@x.io"):
        sandbox.buy(sandbox.session(), {"type": "paypal", "email": email})
    sandbox.control.post("/snapshots", {"name": "paid"})
    shared = json.dumps(sandbox.control.get("/snapshots/paid", share="true"))
    assert ("fail@x.io" in shared, "good@x.io" in shared) == (True, False)
    assert json.dumps(sandbox.control.get("/snapshots/paid", share="true")) == shared
    assert sandbox.control.get("/snapshots/paid", share="false") == sandbox.control.get("/snapshots/paid")


def test_many_short_addresses_stay_apart(sandbox: Sandbox) -> None:
    """No two customers of an App have the same email."""
    for number in range(60):
        sandbox.customer(email=f"{number % 10}{'ABCDEF'[number // 10]}@x.io", name="A")
    sandbox.control.post("/snapshots", {"name": "many"})
    shared = sandbox.control.get("/snapshots/many", share="true")
    sandbox.control.request("PUT", "/snapshots/many", json=shared).raise_for_status()
