"""What no request could lead to is refused as well when it is set directly (B-89).

The refusal names the field in words of the service, and what is accepted can be shown and paid.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from contract_tests.contract.scenarios.test_sums_follow import (
    EVERY_RUN,
    OBJECTS,
    PHONE,
    Place,
    statuses,
)
from contract_tests.support.sandbox import CARD, RunningServer, Sandbox

OWN_KEYS = ("metadata", "data")
"""Fields whose keys are the client's own, or those of an object as it was."""

OPTIONAL = {
    ("payment_link", "redirect_url"): "a success and a cancel URL, each of which may be left out",
}
"""Nested objects whose fields may be left out, with the reason."""


def nested_objects(object_now: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Yield the objects in the fields of an object: the field, the part, and a function that puts
    another part in its place.
    """
    for field, value in object_now.items():
        if field in OWN_KEYS:
            continue
        if isinstance(value, dict):
            yield field, value, lambda part: part
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            yield field, value[0], lambda part, rest=value[1:]: [part, *rest]


def without(part: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {other: value for other, value in part.items() if other != name}


def made(sandbox: Sandbox, name: str) -> Any:
    """Return one of the objects as it is once what is under way at once is done."""
    subject = OBJECTS[name](sandbox)
    sandbox.settle()
    return sandbox.control.get(f"/objects/{subject['id']}")


every_object = pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[] if name in EVERY_RUN else pytest.mark.long) for name in OBJECTS],
)


@every_object
def test_a_nested_object_without_one_of_its_fields_is_refused(name: str, sandbox: Sandbox) -> None:
    object_now = made(sandbox, name)
    kind, path = object_now["object"], f"/objects/{object_now['id']}"
    for field, part, placed in nested_objects(object_now):
        if (kind, field) in OPTIONAL:
            continue
        for variant in ({}, *(without(part, own) for own in part)):
            response = sandbox.control.request("PATCH", path, json={field: placed(variant)})
            assert response.status_code == 422, (field, variant, response.text)
            assert field in response.json()["message"], response.text
    assert sandbox.control.get(path) == object_now


@every_object
def test_what_is_accepted_can_be_shown_and_paid(
    name: str, sandbox: Sandbox, server: RunningServer
) -> None:
    """Whatever is set in a nested object or a list: no page and no request fails then."""
    place, object_now = Place(sandbox, server), made(sandbox, name)
    path = f"/objects/{object_now['id']}"
    sandbox.control.post("/snapshots", {"name": "before"})
    for field, value in changed_parts(object_now):
        response = sandbox.control.request("PATCH", path, json={field: value})
        assert response.status_code in (200, 404, 422), (field, value, response.text)
        assert "Expected `" not in response.text, (field, value, response.text)
        if response.status_code == 200:
            show(sandbox, response.json())
            place.go_on()
            sandbox.control.post("/snapshots/before/restore")


DETAILS: Mapping[str, Any] = {
    "a phone": {"operator": None, "phone": "+24177000000", "country": "GA"},
    "a card": {"brand": "visa", "last4": "4242", "exp_month": 12, "exp_year": 2030},
    "a bank account": {"bank": None, "last4": "2606"},
    "a PayPal account": {"email": "awa@example.com"},
}
"""Details of a method of each type."""


@pytest.mark.parametrize("own", ["a phone", "a card", "a bank account", "a PayPal account"])
def test_details_are_those_of_the_methods_type(own: str, sandbox: Sandbox) -> None:
    method = made(sandbox, own) if own in OBJECTS else sandbox.method()
    path = f"/objects/{method['id']}"
    for other, details in DETAILS.items():
        response = sandbox.control.request("PATCH", path, json={"details": details})
        assert response.status_code == (200 if details == DETAILS[own] else 422), other
        for name in details.keys() - DETAILS[own].keys():
            foreign = {**DETAILS[own], name: details[name]}
            error = sandbox.control.rejected(
                "PATCH", path, 422, "INVALID_FIELD", json={"details": foreign}
            )
            assert error["param"] == f"details.{name}"


def test_the_details_of_a_card_have_a_year_of_a_calendar(sandbox: Sandbox) -> None:
    path = f"/objects/{sandbox.method()['id']}"
    for year in (-1, 0, 1999, 10_000):
        card = {**DETAILS["a card"], "exp_year": year}
        error = sandbox.control.rejected(
            "PATCH", path, 422, "INVALID_FIELD", json={"details": card}
        )
        assert error["param"] == "details.exp_year"


@pytest.mark.parametrize("name", ["a session", "a limited link", "an intent without a method"])
@pytest.mark.parametrize("types", [[], ["cash"], ["paypal", "paypal"]], ids=str)
def test_an_object_takes_some_type_of_method(name: str, types: list[str], sandbox: Sandbox) -> None:
    path = f"/objects/{made(sandbox, name)['id']}"
    error = sandbox.control.rejected(
        "PATCH", path, 422, "INVALID_FIELD", json={"payment_method_types": types}
    )
    assert error["param"].startswith("payment_method_types")


def test_metadata_is_as_clients_may_send_it(sandbox: Sandbox) -> None:
    """B-22: in the words of a request to the service."""
    customer = sandbox.customer()
    asked = (
        (sandbox.control, f"/objects/{customer['id']}"),
        (
            sandbox.api,
            f"/customers/{customer['id']}/",
        ),
    )
    for value in ({"b": 1}, [1], "x" * 501):
        [directly, as_client] = [
            client.rejected("PATCH", path, 422, "INVALID_FIELD", json={"metadata": {"a": value}})
            for client, path in asked
        ]
        assert directly["param"] == "metadata.a"
        assert directly["message"] == as_client["message"]
    sandbox.settings(assumptions={"metadata_values": "any"})
    set_now = sandbox.control.patch(f"/objects/{customer['id']}", {"metadata": {"a": {"b": 1}}})
    assert set_now["metadata"] == {"a": {"b": 1}}


NOBODY = "cust_000000000000000000000000"


IMPOSSIBLE: Sequence[tuple[str, Mapping[str, Any], str]] = (
    ("a link", {"validity_type": "limited"}, "max_usage"),
    ("a link", {"validity_type": "one_time", "max_usage": 2}, "max_usage"),
    ("a link", {"expires_at": "2027-01-01T00:00:00Z"}, "expires_at"),
    ("a limited link", {"max_usage": None}, "max_usage"),
    ("a link", {"payment_link_type": "product"}, "products"),
    ("a link of products", {"products": []}, "products"),
    ("a link of products", {"amount": 500}, "amount"),
    ("a link of products", {"payment_link_type": "custom"}, "amount"),
    ("a link of products", {"currency": "EUR"}, "products.0"),
    ("a link", {"amount": None}, "amount"),
    ("a link", {"amount": 0}, "amount"),
    ("a link", {"amount": 100_000_000}, "amount"),
    ("a product", {"unit_amount": -500}, "unit_amount"),
    ("a product", {"unit_amount": 100_000_000}, "unit_amount"),
    ("a plan", {"amount": 0}, "amount"),
    ("an address", {"country": "KP"}, "country"),
    ("a customer who paid", {"address": None}, "address"),
)
"""Values that the document allows a field, and that no object has beside its other fields."""


@pytest.mark.parametrize(("name", "fields", "param"), IMPOSSIBLE, ids=str)
def test_a_state_that_no_request_leads_to_is_refused(
    name: str, fields: Mapping[str, Any], param: str, sandbox: Sandbox
) -> None:
    object_now = sandbox.link() if name == "a link" else made(sandbox, name)
    if name == "a customer who paid":
        home = {"line1": "1 rue", "city": "Libreville", "country": "GA", "is_default": True}
        sandbox.api.post(f"/customers/{object_now['id']}/addresses/", home)
    path = f"/objects/{object_now['id']}"
    before = sandbox.control.get(path)
    response = sandbox.control.request("PATCH", path, json=fields)
    assert (response.status_code, response.json().get("param")) == (422, param), response.text
    assert sandbox.control.get(path) == before


@pytest.mark.parametrize(
    ("name", "fields", "brought"),
    [
        ("a link", {"validity_type": "one_time"}, {"max_usage": 1}),
        ("a limited link", {"validity_type": "unlimited"}, {"max_usage": None}),
        ("a limited link", {"payment_link_type": "donation"}, {"amount": None}),
        ("a link of products", {"payment_link_type": "custom", "amount": 900}, {"products": []}),
    ],
    ids=str,
)
def test_a_type_of_link_brings_the_fields_that_go_with_it(
    name: str, fields: Mapping[str, Any], brought: Mapping[str, Any], sandbox: Sandbox
) -> None:
    """B-59."""
    link = sandbox.link() if name == "a link" else made(sandbox, name)
    set_now = sandbox.control.patch(f"/objects/{link['id']}", fields)
    assert {field: set_now[field] for field in brought} == brought


NAMES = {
    "a session": "customer",
    "an intent without a method": "customer",
    "an address": "customer",
    "a receipt": "customer",
    "a phone": "customer",
    "a draft": "customer",
    "a trial": "product",
    "an intent with a method": "payment_method",
    "a delivery": "webhook",
}
"""A field of each of these objects that names another one."""


@pytest.mark.parametrize("name", NAMES)
def test_an_object_that_is_named_exists(name: str, sandbox: Sandbox) -> None:
    """B-15: 404 with the kind's code, and the field as ``param``."""
    path, field = f"/objects/{made(sandbox, name)['id']}", NAMES[name]
    response = sandbox.control.request("PATCH", path, json={field: NOBODY})
    assert (response.status_code, response.json()["param"]) == (404, field)


def test_a_product_of_a_line_exists(sandbox: Sandbox) -> None:
    draft = sandbox.draft()
    lines = [{**draft["line_items"][0], "product": "prod_000000000000000000000000"}]
    path = f"/objects/{draft['id']}"
    error = sandbox.control.rejected(
        "PATCH", path, 404, "PRODUCT_NOT_FOUND", json={"line_items": lines}
    )
    assert error["param"] == "line_items.0.product"


@pytest.mark.parametrize("field", ["payment_method", "customer"])
def test_an_object_has_a_method_of_its_own_customer(field: str, sandbox: Sandbox) -> None:
    intent, other = sandbox.intent(sandbox.method()), sandbox.method()
    named = {"payment_method": other["id"], "customer": other["customer"]}
    path = f"/objects/{intent['id']}"
    error = sandbox.control.rejected(
        "PATCH", path, 422, "INVALID_FIELD", json={field: named[field]}
    )
    assert error["param"] == field
    assert sandbox.control.patch(path, named)["payment_method"] == other["id"]


def test_a_card_that_has_expired_is_not_active(sandbox: Sandbox) -> None:
    """B-52: with another expiry it is."""
    card = sandbox.method()
    path = f"/objects/{card['id']}"
    sandbox.control.patch(path, {"details": {**card["details"], "exp_year": 2025}})
    sandbox.settle()
    error = sandbox.control.rejected("PATCH", path, 422, "INVALID_FIELD", json={"status": "active"})
    assert error["param"] == "status"
    renewed = {"status": "active", "details": card["details"]}
    assert sandbox.control.patch(path, renewed)["status"] == "active"


def test_the_phone_of_a_customer_is_that_of_the_method(sandbox: Sandbox) -> None:
    """B-31: it changes the method's number, and brings or removes the method."""
    customer = sandbox.customer()
    methods = f"/customers/{customer['id']}/payment-methods/"
    ids = set()
    for phone in ("+24177000001", "+24177000002", None):
        sandbox.control.patch(f"/objects/{customer['id']}", {"phone": phone})
        own = sandbox.api.get(methods)["data"]
        assert [method["details"]["phone"] for method in own] == [phone] * (phone is not None)
        ids |= {method["id"] for method in own}
    assert len(ids) == 1


def changed_parts(object_now: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield fields with lists that are empty, and with objects that have a strange field."""
    for field, value in object_now.items():
        if isinstance(value, list):
            yield field, []
            yield field, [value]
        elif isinstance(value, dict):
            yield field, {"note": {"more": 1}}
    for field, part, placed in nested_objects(object_now):
        for own, value in part.items():
            for other in (None, "", "x", -1, 10**12, {"more": 1}, [value]):
                if other != value:
                    yield field, placed({**part, own: other})


def show(sandbox: Sandbox, shown: Mapping[str, Any]) -> None:
    """Read all that shows an object: what is said of it, its pages, and it in the lists."""
    sandbox.control.get(f"/explain/{shown['id']}")
    sandbox.control.get("/objects", kind=shown["object"])
    for field in ("url", "payment_url", "pdf_url"):
        url = shown.get(field)
        if url and url.startswith(sandbox.url) and shown["object"] != "webhook_endpoint":
            assert sandbox.api.http.get(url).status_code < 500, url


# -- the way that a refusal names


STEPS = re.compile(
    r"set (?P<first>\w+) first|(?P<path>POST /\S+/)(?=[ ,]|$)|(?P<action>POST /_emulator/\S+/\w+)"
    r"|(?P<wait>advance the clock)|then set (?P<then>\w+)"
)
"""What a message says to do: statuses to set, operations to call, and time to let go by."""

ELSEWHERE = ("for another", "once more", "send it")
"""Words of a message by which another object can have the status, or another field is needed."""


def follow(sandbox: Sandbox, object_now: Mapping[str, Any], wanted: str, message: str) -> None:
    """Do what a message says; nothing of it may be refused."""
    for step in STEPS.finditer(message):
        if status := step["first"] or step["then"]:
            ahead = {"expires_at": "2026-12-31T00:00:00Z"} if "expires_at" in message else {}
            sandbox.control.patch(f"/objects/{object_now['id']}", {"status": status, **ahead})
        elif step["wait"]:
            sandbox.advance("8d")
        else:
            path = (step["path"] or step["action"]).removeprefix("POST ")
            response = sandbox.api.http.post(
                sandbox.url + path, json=body_for(sandbox, path, object_now, wanted, message)
            )
            assert response.status_code < 300, (message, response.text)


def body_for(
    sandbox: Sandbox, path: str, object_now: Mapping[str, Any], wanted: str, message: str
) -> Mapping[str, Any]:
    if path.endswith("/pay"):
        setup = object_now.get("mode") == "setup"
        buyer = {} if setup else {"customer": {"name": "Awa", "email": "awa@example.com"}}
        return {"method": PHONE if "+24177000006" in message else CARD, **buyer}
    if path.endswith("/answer"):
        return {"result": "failed" if wanted == "failed" else "succeeded"}
    if path.endswith("/confirm/") and "payment_method" in message:
        return {"payment_method": sandbox.method()["id"]}
    if path == "/v1/refunds/":
        is_deposit = object_now["object"] == "transaction"
        return {"transaction": object_now["id" if is_deposit else "transaction"]}
    return {}


@every_object
def test_the_way_to_a_status_that_a_refusal_names_leads_there(name: str, sandbox: Sandbox) -> None:
    """Or, for a payment that was made, its money goes back."""
    object_now = made(sandbox, name)
    path = f"/objects/{object_now['id']}"
    sandbox.control.post("/snapshots", {"name": "before"})
    for wanted in dict.fromkeys(statuses(object_now["object"])):
        response = sandbox.control.request("PATCH", path, json={"status": wanted})
        if response.status_code == 200:
            sandbox.control.post("/snapshots/before/restore")
            continue
        message = response.json()["message"]
        assert "None" not in message
        if any(words in message for words in ELSEWHERE):
            continue
        assert STEPS.search(message), message
        follow(sandbox, object_now, wanted, message)
        if message.endswith("first"):
            sandbox.control.patch(path, {"status": wanted})
        reached = [sandbox.control.get(path)["status"]]
        sandbox.advance("8d")
        reached.append(sandbox.control.get(path)["status"])
        is_refund = message.endswith("call POST /v1/refunds/") and wanted != "refunded"
        assert wanted in reached or is_refund, (message, reached)
        sandbox.control.post("/snapshots/before/restore")
