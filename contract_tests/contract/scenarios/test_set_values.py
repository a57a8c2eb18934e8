"""What no request could lead to is refused as well when it is set directly (B-89).

The refusal names the field in words of the service, and what is accepted can be shown and paid.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from contract_tests.contract.scenarios.test_sums_follow import EVERY_RUN, OBJECTS, Place
from contract_tests.support.sandbox import RunningServer, Sandbox

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
