"""The request journal, its requests as code, and going back to before a request."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from httpx import Response

from contract_tests.support.sandbox import Sandbox
from contract_tests.surfaces.cli.terminal import clean
from emulator.control.requests import FORMS

CARD = {"type": "bank_card", "number": "4242 4242 4242 4242", "exp_month": 12, "exp_year": 2030, "cvc": "987"}


def journal(sandbox: Sandbox, **filters: Any) -> list[Any]:
    """What the journal lists, oldest first."""
    return list(sandbox.control.pages("/requests", **filters))[::-1]


def entry(sandbox: Sandbox, answer: Response) -> Any:
    return sandbox.control.get(f"/requests/{answer.headers['request-id']}")


def world(sandbox: Sandbox) -> Any:
    """Return everything a world is, as its export says; the counter of drawn values moves with every request."""
    sandbox.control.post("/snapshots", {"name": "look"})
    exported = sandbox.control.get("/snapshots/look")
    del exported["worlds"]["1"]["counters"]["draw"]
    return exported


# -- the journal


def test_every_request_to_the_service_is_filed_with_its_answer(sandbox: Sandbox) -> None:
    customer = sandbox.customer()
    sandbox.api.rejected("POST", "/customers/", 422, "MISSING_FIELD", json={"email": "b@example.com"})
    sandbox.api.get("/customers/", status="active")
    sandbox.api.request("GET", "/customers/cust_0/")
    sandbox.control.post("/clock/freeze")
    rows = [(row["operation"], row["method"], row["path"], row["status"]) for row in journal(sandbox, api="service")]
    assert rows == [
        ("listCustomers", "GET", "/v1/customers/", 200),
        ("createCustomer", "POST", "/v1/customers/", 201),
        ("createCustomer", "POST", "/v1/customers/", 422),
        ("listCustomers", "GET", "/v1/customers/?status=active", 200),
        ("getCustomer", "GET", "/v1/customers/cust_0/", 404),
    ]
    for filters, count in [
        *(({"status": 422}, 1), ({"status": "4xx"}, 2), ({"status": 500}, 0), ({"operation": "createCustomer"}, 2)),
        *(({"method": "GET"}, 3), ({"api": "control"}, 1), ({"api": "service", "changed": "false"}, 4)),
        *(({"changed": "true"}, 1), ({"object": customer["id"]}, 1)),
    ]:
        assert len(journal(sandbox, **filters)) == count, filters
    created = sandbox.control.get(f"/requests/{journal(sandbox, operation='createCustomer')[0]['id']}")
    assert (created["response_body"], created["request_body"]["email"]) == (customer, customer["email"])
    (change,) = created["changes"]
    assert (change["id"], change["kind"], change["change"]) == (customer["id"], "customer", "created")
    assert change["fields"]["email"] == {"before": None, "after": customer["email"]}
    assert [sandbox.control.get(f"/objects/{id}")["type"] for id in created["event_ids"]] == ["customer.created"]
    patch = sandbox.api.request("PATCH", f"/customers/{customer['id']}/", json={"metadata": {"tier": "gold"}})
    (change,) = entry(sandbox, patch)["changes"]
    assert (change["id"], change["change"]) == (customer["id"], "updated")
    assert change["fields"] == {"metadata": {"before": {}, "after": {"tier": "gold"}}}
    sandbox.subscribe()  # whose first charge is the first job after the request (B-41)
    made = sandbox.control.get(f"/requests/{journal(sandbox, operation='createSubscription')[0]['id']}")
    created = [row["kind"] for row in made["changes"] if row["change"] == "created"]
    assert (created[:2], len(made["event_ids"])) == (["subscription", "invoice"], 4)


def test_no_card_number_key_or_secret_is_shown(sandbox: Sandbox) -> None:
    """Of a card the last four digits at most; keys and secrets masked; malformed bodies too."""
    sandbox.api.post("/payment-methods/", {"customer": sandbox.customer()["id"], **CARD})
    for raw in (
        '{"number": "4242-4242-4242-4242", "cvc": "987", "iban": "FR7630006000011234567890189"',
        '{"email": "a@example.com", "name": "pay to fr76 3000 6000 0112 3456 7890 189"}',
    ):
        sandbox.api.request("POST", "/customers/", content=raw, headers={"Content-Type": "application/json"})
    sandbox.api.request("GET", "/payment-methods/4242424242424242/", params={"q": sandbox.key})
    endpoint = sandbox.endpoint(f"{sandbox.url}/_emulator/inbox/shop")
    shown = "".join(str(sandbox.control.get(f"/requests/{row['id']}")) for row in journal(sandbox)).replace(" ", "")
    secrets = ("4242-4242-4242", "424242424242", "987", "FR763000600001", "11234567890189", endpoint["secret"])
    assert [secret for secret in (*secrets, sandbox.key) if secret in shown] == []
    assert "****4242" in shown


def test_a_request_is_shown_whatever_it_holds(sandbox: Sandbox) -> None:
    """Long numbers, long texts, and a body that is nested too deeply to be read, in every form."""
    metadata = {"order": 123456789012345, "card": 4242424242424242, **{str(number): "x" * 500 for number in range(48)}}
    path = f"/products/{sandbox.product(metadata=metadata)['id']}/"
    change = entry(sandbox, sandbox.api.request("PATCH", path, json={"metadata": dict.fromkeys(metadata, "z" * 500)}))
    before = change["changes"][0]["fields"]["metadata"]["before"]
    assert (before["order"], before["card"]) == (123456789012345, "****4242")
    body = "[" * 1100
    deep = sandbox.api.request("POST", "/customers/", content=body, headers={"Content-Type": "application/json"})
    assert entry(sandbox, deep)["request_body"] == body
    for form in FORMS:
        assert body in as_code(sandbox, deep, form)
    assert sandbox.control.get("/audit")["findings"] == []
    assert sandbox.control.request("GET", "/recording", params={"as": "curl"}).status_code == 200


# -- a request as code


AWA = {"email": "awa@example.com", "name": 'Awa "d\'Or" $HOME `x` \\ Ève', "metadata": {"b": "true"}}


def as_code(sandbox: Sandbox, answer: Response, form: str) -> str:
    code = sandbox.control.request("GET", f"/requests/{answer.headers['request-id']}", params={"as": form})
    assert (code.status_code, code.headers["content-type"]) == (200, "text/plain; charset=utf-8")
    return code.text


def programs(tmp_path: Path, form: str, code: str) -> list[str]:
    if form == "curl":
        return ["sh", "-ec", code]
    if form == "httpx":
        return [sys.executable, "-c", code]
    script = tmp_path / "request.mjs"
    script.write_text(code, "utf-8")
    return ["node", str(script)]


@pytest.mark.parametrize(
    "form",
    [
        pytest.param("curl", marks=pytest.mark.needs("curl")),
        "httpx",
        pytest.param("fetch", marks=pytest.mark.needs("node")),
    ],
)
def test_it_runs_and_sends_the_same(sandbox: Sandbox, tmp_path: Path, form: str) -> None:
    """With address and key in its environment, and with the headers that matter."""
    created = sandbox.api.request("POST", "/customers/", json=AWA, headers={"Idempotency-Key": "order-1"})
    code = as_code(sandbox, created, form)
    assert [part for part in (sandbox.key, "user-agent", "User-Agent") if part in code] == []
    environment = clean(PAYMENTS_EMULATOR_URL=sandbox.url, PAYMENTS_EMULATOR_KEY=sandbox.key)
    command = programs(tmp_path, form, code)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=True)
    assert created.json()["id"] in done.stdout
    newest = journal(sandbox, operation="createCustomer")[-1]["id"]
    assert newest != created.headers["request-id"]
    assert sandbox.control.get(f"/requests/{newest}")["request_body"] == AWA


# -- going back


def test_a_world_goes_back_to_before_a_request(sandbox: Sandbox) -> None:
    """Objects, events, jobs, counters and clock are as they were."""
    sandbox.subscribe()
    before = world(sandbox)
    first = sandbox.api.request("POST", "/customers/", json={"email": "late@example.com", "name": "Late"})
    sandbox.advance("40d")
    sandbox.plan()
    answer = sandbox.control.post("/rewind", {"to": first.headers["request-id"]})
    assert answer["now"] == sandbox.now == "2026-01-01T00:00:00.000Z"
    assert world(sandbox) == before
    assert sandbox.advance("31d")["events"]["invoice.paid"] == 1


def test_it_goes_back_step_by_step(sandbox: Sandbox) -> None:
    """Reads count as requests, and no id is given out twice. Where to must be said once."""
    sandbox.api.get("/products/")
    before = world(sandbox)
    for number in range(3):
        sandbox.api.post("/customers/", {"email": f"{number}@example.com", "name": "Awa"})
        sandbox.api.get("/products/")
    for body in ({}, {"to": "req_1", "steps": 1}, {"steps": 0}, {"steps": 900}):
        assert sandbox.control.request("POST", "/rewind", json=body).status_code == 422, body
    for left in (3, 2, 2, 1, 1, 0):
        sandbox.control.post("/rewind", {"steps": 1})
        assert sandbox.control.get("/counts")["customer"] == left
    assert world(sandbox) == before
    sandbox.api.get("/products/")
    ids = [row["id"] for row in journal(sandbox)]
    assert len(ids) == len({*ids})


def test_going_back_by_a_rejected_request_undoes_nothing_before_it(live: Sandbox) -> None:
    """A request without permission changed nothing, so what came before it stays, even after an earlier rewind."""
    live.customer()
    live.control.post("/rewind", {"steps": 1})
    customer = live.customer()
    live.api.rejected("POST", "/payment-methods/", 403, "SANDBOX_ONLY", json={"customer": customer["id"], **CARD})
    assert live.control.post("/rewind", {"steps": 1})["turns"] == 0
    assert live.api.get(f"/customers/{customer['id']}/") == customer
