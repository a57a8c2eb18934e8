"""Every object of the service: made, read, deleted, not found (B-15, B-16, B-17, B-18, B-21)."""

from __future__ import annotations

import re
from typing import Any

import pytest

from contract_tests.contract.document.reader import Document, operations
from contract_tests.contract.document.specification import ADDED, table
from contract_tests.contract.every.values import BY_ID, NESTED, id_of, of_service, valid_request
from contract_tests.support.sandbox import BEYOND, Sandbox
from emulator.checks.document.exceptions import codes
from emulator.checks.document.object_factory import ObjectFactory
from emulator.document import bundles

UNKNOWN = "unknown"

SHOWN_ONCE = {"createWebhook": {"secret"}}
"""Fields that the response to a creation has and a GET has not."""

ONE = {
    operation.path.rsplit("{", 1)[0]: operation
    for operation in of_service("GET")
    if operation.path.endswith("}/")
}
"""The GET of one object, by the path of its list."""

EMITTED = {
    "createCustomer": ["customer.created"],
    "createSubscription": ["subscription.created"],
    "deleteCustomer": ["customer.deleted"],
}
"""The events of the specification about an object when it is made or deleted."""


def events_about(sandbox: Sandbox, id: str) -> list[str]:
    of_object = [
        event["type"] for event in sandbox.events() if event["data"]["object"].get("id") == id
    ]
    return [type for type in of_object if type not in BEYOND]


CREATING = {
    id_of(operation): ONE[operation.path]
    for operation in of_service("POST")
    if operation.path in ONE
}
"""The GET of what an operation creates."""


@pytest.mark.parametrize("id", CREATING)
def test_what_is_made_is_read_as_it_was_shown(
    sandbox: Sandbox, factory: ObjectFactory, id: str
) -> None:
    """B-17, B-18, B-27: all fields, an id of its kind, the clock's times; its list shows it."""
    sandbox.advance("1h")
    path, body = valid_request(factory, BY_ID[id], {})
    response = sandbox.api.request("POST", path, json=body)
    made = response.json()
    assert response.status_code == 201
    assert re.fullmatch(r"[a-z]+_[0-9A-Za-z]{24}", made["id"])
    assert (
        made["created_at"],
        made.get("updated_at", sandbox.now),
        made.get("livemode", False),
    ) == (
        *(sandbox.now, sandbox.now),
        False,
    )
    visible = {name: value for name, value in made.items() if name not in SHOWN_ONCE.get(id, ())}
    assert sandbox.api.get(f"{path}{made['id']}/") == visible
    if "GET" in {
        operation.method for operation in of_service() if operation.path == BY_ID[id].path
    }:
        assert sandbox.api.get(path)["data"] == [visible]
    assert events_about(sandbox, made["id"]) == EMITTED.get(id, [])


DELETING = [id_of(operation) for operation in of_service("DELETE")]


@pytest.mark.parametrize("id", DELETING)
def test_what_is_deleted_is_gone_or_archived(
    sandbox: Sandbox, factory: ObjectFactory, id: str
) -> None:
    """B-21: 204 without a body, then 404; or 200 with id, active and updated_at, still readable."""
    operation = BY_ID[id]
    path, _ = valid_request(factory, operation, {})
    before = sandbox.api.get(path)
    sandbox.advance("1h")
    response = sandbox.api.request("DELETE", path)
    others = [sibling.method for sibling in of_service() if sibling.path == operation.path]
    assert events_about(sandbox, before["id"])[-1:] == EMITTED.get(id, [])
    if "204" not in operation.node["responses"]:
        assert response.json() == {"id": before["id"], "active": False, "updated_at": sandbox.now}
        assert sandbox.api.get(path) == {**before, **response.json()}
        assert sandbox.api.delete(path)["active"] is False
        return
    assert (response.status_code, response.content, "content-length" in response.headers) == (
        204,
        b"",
        False,
    )
    code = codes(id, operation.path)[-1] if operation in NESTED else codes(id, operation.path)[0]
    for method in others:
        sandbox.api.rejected(method, path, 404, code, json={} if method == "PATCH" else None)
    collection = path.removesuffix(f"{before['id']}/")
    if "GET" in {
        sibling.method
        for sibling in of_service()
        if sibling.path == operation.path.rsplit("{", 1)[0]
    }:
        assert before["id"] not in {row["id"] for row in sandbox.api.get(collection)["data"]}


# -- objects that are not there

FOUND = {
    "listInboxRequests",
    "setInboxResponse",
    "clearInboxResponse",
    "listPrompts",
    "answerPrompt",
    "importSnapshot",
}
"""Operations that know every name: inboxes, phones, and a snapshot that is brought in."""


@pytest.mark.parametrize("id", [UNKNOWN, "cust_" + "0" * 24])
@pytest.mark.parametrize("name", ["service-3.0", "control-3.0"])
def test_each_operation_on_an_object_rejects_an_unknown_one(
    sandbox: Sandbox, name: str, id: str
) -> None:
    document: Document = bundles.load(name)
    api = sandbox.api if name.startswith("service") else sandbox.control
    unlisted = [
        operation
        for operation in operations(document)
        if "{" in operation.path and id_of(operation) not in FOUND
    ]
    assert unlisted
    for operation in unlisted:
        code = codes(id_of(operation), operation.path)[0]
        sent = (
            operation.node.get("requestBody", {})
            .get("content", {})
            .get("application/json", {})
            .get("example")
        )
        api.rejected(operation.method, re.sub(r"\{\w+\}", id, operation.path), 404, code, json=sent)


@pytest.mark.parametrize("id", [*map(id_of, NESTED)])
def test_what_belongs_to_another_object_is_not_there(
    sandbox: Sandbox, factory: ObjectFactory, id: str
) -> None:
    """B-15: 404 NOT_FOUND, for an unknown one and for another object's."""
    operation = BY_ID[id]
    path, body = valid_request(factory, operation, {})
    other, _ = valid_request(factory, operation, {})
    mine, theirs = ([*segments.split("/")] for segments in (path, other))
    for inner in (theirs[4], UNKNOWN):
        wrong = "/".join([*mine[:4], inner, *mine[5:]])
        sandbox.api.rejected(operation.method, wrong, 404, "NOT_FOUND", json=body)


# -- the sandbox's own operations reject a production key: ``SANDBOX_ONLY`` (B-07, B-60); reset


@pytest.mark.parametrize(
    ("method", "path"),
    [row for row in table(ADDED) if not row[1].startswith("/payment-intents/")],
)
def test_an_added_operation_is_closed_to_production_keys(
    live: Sandbox, method: str, path: str
) -> None:
    """B-07."""
    live.api.rejected(method, path.replace("{id}", "x"), 403, "SANDBOX_ONLY")


def test_payment_intents_are_open_to_production_keys(live: Sandbox) -> None:
    """B-07: the service names them itself (Refunds, rule 4)."""
    for method, path in table(ADDED):
        if path.startswith("/payment-intents/") and "{id}" in path:
            live.api.rejected(
                method, path.replace("{id}", "pi_none"), 404, "PAYMENT_INTENT_NOT_FOUND"
            )
    assert live.api.get("/payment-intents/")["data"] == []


def test_a_documented_operation_is_open_to_production_keys(live: Sandbox) -> None:
    """B-07."""
    plan = {"name": "Basic", "amount": 5000, "currency": "XAF", "interval": "month"}
    assert live.api.post("/subscription-plans/", plan)["livemode"] is True


@pytest.mark.parametrize(
    "options", [{"content": b"{"}, {"json": {"x": 1}}, {"params": {"x": "1"}}, {}]
)
def test_a_production_key_cannot_reset_whatever_it_sends(
    live: Sandbox, options: dict[str, Any]
) -> None:
    """B-07; Authentication rule 3."""
    response = live.api.rejected("POST", "/reset", 403, "PERMISSION_DENIED", **options)
    assert response["message"] == "Only a sandbox can be reset; this is a production key."


@pytest.mark.parametrize("path", ["/reset", "/reset/"])
def test_a_reset_leaves_only_the_clock(sandbox: Sandbox, path: str) -> None:
    """B-06, B-07. Schedule, events, idempotency keys go, too; ids stay unique, emails are free."""
    sent: dict[str, Any] = {
        "json": {"email": "awa@example.com", "name": "Awa", "phone": "+24177000000"},
        "headers": {"Idempotency-Key": "k"},
    }
    customer = sandbox.api.request("POST", "/customers/", **sent).json()
    trial = {"customer": customer["id"], "plan": sandbox.plan()["id"], "trial_period_days": 7}
    sandbox.api.post("/subscriptions/", trial)
    sandbox.advance("23h")  # the key is still kept
    response = sandbox.api.post(path)
    # customer, payment method, plan, subscription
    assert (response["deleted"], response["reset_at"], response["app"]) == (
        4,
        "2026-01-01T23:00:00.000Z",
        customer["app"],
    )
    for resource in ("customers", "subscription-plans", "subscriptions"):
        assert sandbox.api.get(f"/{resource}/")["pagination"]["count"] == 0
    assert sandbox.events() == []
    clock = sandbox.control.get("/clock")
    assert (clock["now"], clock["pending"], clock["next_due_at"]) == (
        "2026-01-01T23:00:00.000Z",
        0,
        None,
    )
    assert sandbox.api.request("POST", "/customers/", **sent).json()["id"] != customer["id"]
