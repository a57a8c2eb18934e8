"""Any object by its id through the control API: read, or set to any state its schema allows."""

from __future__ import annotations

from typing import Any

import pytest

from contract_tests.support.sandbox import Sandbox


@pytest.fixture
def subscription(sandbox: Sandbox) -> Any:
    customer = sandbox.customer(phone="+24177000000")
    return sandbox.api.post("/subscriptions/", {"customer": customer["id"], "plan": sandbox.plan()["id"]})


@pytest.mark.parametrize("resource", ["customers", "subscription-plans", "subscriptions", "invoices", "transactions"])
def test_an_object_reads_as_its_own_resource_shows_it(sandbox: Sandbox, subscription: Any, resource: str) -> None:
    """A line of an invoice that is set is still a line."""
    shown = sandbox.api.get(f"/{resource}/")["data"][0]
    path = f"/objects/{shown['id']}"
    assert sandbox.control.get(path) == sandbox.api.get(f"/{resource}/{shown['id']}/") == shown
    assert subscription["object"] == "subscription"
    if resource == "invoices":
        line = {**shown["line_items"][0], "description": "Arranged"}
        sandbox.control.patch(path, {"line_items": [line]})
        assert sandbox.api.get(f"/invoices/{shown['id']}/")["line_items"] == [line]


def test_read_only_fields_can_be_set_and_lists_know_it(sandbox: Sandbox) -> None:
    """B-32: status and blacklisting of a customer are changed here. An email that was set is taken."""
    customer = sandbox.customer()
    fields = {"status": "blocked", "is_blacklisted": True, "total_spent": 900, "email": "Taken@example.com"}
    with sandbox.expect():
        changed = sandbox.control.patch(f"/objects/{customer['id']}", fields)
    assert changed == {**customer, **fields}
    assert sandbox.api.get(f"/customers/{customer['id']}/") == changed
    assert sandbox.api.get("/customers/", status="blocked")["data"] == [changed]
    assert sandbox.api.get("/customers/", status="active")["data"] == []
    body = {"email": "taken@EXAMPLE.com", "name": "A"}
    sandbox.api.rejected("POST", "/customers/", 409, "customer_email_exists", json=body)
    assert sandbox.api.post("/customers/", {**body, "email": customer["email"]})["email"] == customer["email"]
    sandbox.settings(assumptions={"metadata_values": "any"})  # B-22
    metadata = {"a": {"b": [1, None]}}
    assert sandbox.control.patch(f"/objects/{customer['id']}", {"metadata": metadata})["metadata"] == metadata
    assert sandbox.api.get(f"/customers/{customer['id']}/")["metadata"] == metadata


@pytest.mark.parametrize("resource", ["customers", "receipts"])
def test_a_unique_value_in_use_is_rejected(sandbox: Sandbox, resource: str) -> None:
    """A customer's email, letter case aside; the transaction of a receipt."""
    field = {"customers": "email", "receipts": "transaction"}[resource]
    for _ in range(2):
        sandbox.api.post(
            "/subscriptions/", {"customer": sandbox.customer(phone="+24177000000")["id"], "plan": sandbox.plan()["id"]}
        )
    one, other = sandbox.api.get(f"/{resource}/")["data"]
    path, value = f"/objects/{one['id']}", other[field]
    error = sandbox.control.rejected(
        "PATCH", path, 422, "INVALID_FIELD", json={field: value if resource == "receipts" else value.upper()}
    )
    assert error["param"] == field
    assert sandbox.control.get(path) == one
    assert sandbox.control.patch(path, {field: one[field]}) == one


def test_a_new_creation_date_moves_the_object_in_lists(sandbox: Sandbox) -> None:
    """Lists are ordered by what the objects say (B-19)."""
    first, second = sandbox.customer(), sandbox.customer()
    sandbox.control.patch(f"/objects/{second['id']}", {"created_at": "2020-01-01T00:00:00.000Z"})
    assert [item["id"] for item in sandbox.api.get("/customers/")["data"]] == [first["id"], second["id"]]


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("2026-03-01T00:00:00Z", "2026-03-01T00:00:00.000Z"),
        ("2026-03-01T01:30:00+01:30", "2026-03-01T00:00:00.000Z"),
        (None, None),
    ],
)
def test_an_instant_is_set_in_any_form_and_shown_in_one(
    sandbox: Sandbox, subscription: Any, given: str | None, shown: str | None
) -> None:
    """B-17."""
    path = f"/objects/{subscription['id']}"
    assert sandbox.control.patch(path, {"trial_end": given})["trial_end"] == shown
    assert sandbox.api.get(f"/subscriptions/{subscription['id']}/")["trial_end"] == shown


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"status": "asleep"}, "status"),
        ({"total_spent": "1"}, "total_spent"),
        ({"created_at": "yesterday"}, "created_at"),
        ({"email": "nobody"}, "email"),
        ({"id": "cust_1"}, "id"),
        ({"object": "plan"}, "object"),
        ({"colour": "red"}, "colour"),
        ({"metadata": {"a": {"b": 1}}}, "metadata"),
    ],
    ids=str,
)
def test_what_the_schema_forbids_is_rejected(sandbox: Sandbox, fields: Any, param: str) -> None:
    customer = sandbox.customer()
    path = f"/objects/{customer['id']}"
    error = sandbox.control.rejected("PATCH", path, 422, "INVALID_FIELD", json={"metadata": {}, **fields})
    assert error["param"] == param
    assert sandbox.control.get(path) == customer


@pytest.mark.parametrize(
    "object", [{}, {"object": "customer"}, {"object": "nothing", "id": "cust_1"}, [], None], ids=str
)
def test_an_event_keeps_an_object_of_the_service(sandbox: Sandbox, object: Any) -> None:
    """Names, explanations and exports read it."""
    customer = sandbox.customer()
    (event,) = sandbox.events()
    answer = sandbox.control.request("PATCH", f"/objects/{event['id']}", json={"data": {"object": object}})
    assert answer.status_code == 422
    assert sandbox.events() == [event]
    renamed = {"data": {"object": {**customer, "name": "Awa"}}}
    assert sandbox.control.patch(f"/objects/{event['id']}", renamed)["data"]["object"]["name"] == "Awa"
