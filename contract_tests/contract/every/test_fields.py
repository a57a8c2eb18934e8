"""Unknown fields, fields that cannot be changed, and metadata: what holds for every resource alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from contract_tests.support.contract import Contract
from contract_tests.support.sandbox import Sandbox
from emulator.document.tree import resolve

CREATION: dict[str, dict[str, Any]] = {
    "/customers/": {"email": "awa@example.com", "name": "Awa Diop"},
    "/customers/{id}/addresses/": {"line1": "1 Rue", "city": "Oyem", "country": "GA"},
    "/products/": {"name": "Basket", "unit_amount": 2000, "currency": "XAF"},
    "/subscription-plans/": {"name": "Basic", "amount": 5000, "currency": "XAF", "interval": "month"},
    "/security-profiles/": {"name": "Shop servers"},
}
"""What is enough to make one of each kind, by the path where it is made."""

WITH_METADATA = ["/customers/", "/products/", "/subscription-plans/"]

every_kind = pytest.mark.parametrize("kind", sorted(CREATION))
every_kind_with_metadata = pytest.mark.parametrize("kind", WITH_METADATA)


def collection(sandbox: Sandbox, kind: str) -> str:
    """Return the path of a collection, an address's customer filled in."""
    return kind.format(id=sandbox.customer()["id"]) if "{id}" in kind else kind


def made(sandbox: Sandbox, kind: str, **fields: Any) -> tuple[str, Any]:
    """Return one of a kind, with its path."""
    path = collection(sandbox, kind)
    record = sandbox.api.post(path, {**CREATION[kind], **fields})
    return f"{path}{record['id']}/", record


# B-12


@every_kind
def test_what_is_required_is_missed(sandbox: Sandbox, kind: str) -> None:
    path = collection(sandbox, kind)
    for field in CREATION[kind]:
        body = {name: value for name, value in CREATION[kind].items() if name != field}
        error = sandbox.api.rejected("POST", path, 422, "MISSING_FIELD", json=body)
        assert (error["param"], set(error["errors"])) == (field, {field})


# B-13


@every_kind
@pytest.mark.parametrize("unknown", ["colour", "name.first", "x" * 100])
def test_an_unknown_field_is_rejected(sandbox: Sandbox, kind: str, unknown: str) -> None:
    path, record = made(sandbox, kind)
    body = {**CREATION[kind], unknown: 1}
    for method, where, sent in (("POST", collection(sandbox, kind), body), ("PATCH", path, {unknown: 1})):
        error = sandbox.api.rejected(method, where, 422, "INVALID_FIELD", json=sent)
        assert error["errors"] == {unknown[:60]: ["unknown field"]}
    assert sandbox.api.get(path) == record


@every_kind
def test_what_an_object_has_and_a_patch_does_not_take_cannot_be_changed(
    sandbox: Sandbox, service_contract: Contract, kind: str
) -> None:
    """The document says which fields those are; each is rejected, even where it repeats what is there."""
    path, record = made(sandbox, kind)
    operation = service_contract.operation("PATCH", f"/v1{path}")
    assert operation is not None
    sent = operation.node["requestBody"]["content"]["application/json"]["schema"]
    taken = resolve(service_contract.document, sent)["properties"]
    fixed = record.keys() - taken.keys()
    assert {"id", "object", "created_at", "updated_at"} <= fixed
    for field in fixed:
        error = sandbox.api.rejected("PATCH", path, 422, "INVALID_FIELD", json={field: record[field]})
        assert (error["param"], error["errors"]) == (field, {field: ["cannot be changed"]})
    assert sandbox.api.get(path) == record


@every_kind
def test_what_cannot_be_changed_is_reported_beside_other_violations(sandbox: Sandbox, kind: str) -> None:
    """B-12: all faults at once."""
    path, _ = made(sandbox, kind)
    error = sandbox.api.rejected("PATCH", path, 422, "VALIDATION_ERROR", json={"id": "x", "colour": "red"})
    assert error["errors"] == {"id": ["cannot be changed"], "colour": ["unknown field"]}


@every_kind
def test_an_id_in_a_creation_is_an_unknown_field(sandbox: Sandbox, kind: str) -> None:
    body = {**CREATION[kind], "id": "mine"}
    error = sandbox.api.rejected("POST", collection(sandbox, kind), 422, "INVALID_FIELD", json=body)
    assert error["errors"] == {"id": ["unknown field"]}


# B-13: unknown_fields: ignore


@every_kind
def test_unknown_fields_can_be_passed_over(with_settings: Callable[..., Sandbox], kind: str) -> None:
    """B-13, B-90: those that cannot be changed as well."""
    sandbox = with_settings(unknown_fields="ignore")
    path, record = made(sandbox, kind, colour="red", id="mine", parts=[{"deep": True}])
    assert record.keys() & {"colour", "parts"} == set()
    assert record["id"] != "mine"
    sandbox.advance("1h")
    assert sandbox.api.patch(path, {"colour": "red", "created_at": "now"}) == record


def test_unknown_fields_are_passed_over_on_every_level(with_settings: Callable[..., Sandbox]) -> None:
    """B-13; a webhook's retry policy is an object within the body."""
    sandbox = with_settings(unknown_fields="ignore")
    policy = {"max_attempts": 11, "jitter": 3}
    body = {"name": "Shop", "url": "http://127.0.0.1:9/", "events": ["*"], "retry_policy": policy}
    error = sandbox.api.rejected("POST", "/webhooks/", 422, "INVALID_FIELD", json=body)
    assert set(error["errors"]) == {"retry_policy.max_attempts"}
    policy["max_attempts"] = 10
    sandbox.api.rejected("POST", "/webhooks/", 422, "WEBHOOK_ENDPOINT_UNREACHABLE", json=body)


# B-22: metadata

FIFTY = {f"key{number}": number for number in range(50)}


@every_kind_with_metadata
@pytest.mark.parametrize(
    "metadata",
    [
        {},
        {"a": "text", "b": "", "c": 1, "d": -2.5, "e": True, "f": False, "g": 10**20},
        {"k": "v", "k" * 400: "v" * 500, "é" * 40: "é" * 500},
        FIFTY,
    ],
)
def test_metadata_is_stored_as_it_was_sent(sandbox: Sandbox, kind: str, metadata: dict[str, Any]) -> None:
    """Keys of any length from 1 character, values strings of up to 500, numbers or booleans; 50 keys at most."""
    path, record = made(sandbox, kind, metadata=metadata)
    assert record["metadata"] == metadata
    path, _ = made(sandbox, kind, **({"email": "other@example.com"} if kind == "/customers/" else {}))
    assert sandbox.api.patch(path, {"metadata": metadata})["metadata"] == metadata
    assert sandbox.api.get(path)["metadata"] == metadata


@every_kind_with_metadata
@pytest.mark.parametrize(
    ("metadata", "param"),
    [
        ({"": 1}, "metadata."),
        ({"k": "v" * 501}, "metadata.k"),
        ({"k": []}, "metadata.k"),
        ({"k": {"deep": 1}}, "metadata.k"),
        ({**FIFTY, "key50": 50}, "metadata"),
        ([], "metadata"),
        ("k=v", "metadata"),
        (None, "metadata"),
    ],
)
def test_metadata_beyond_its_limits(sandbox: Sandbox, kind: str, metadata: Any, param: str) -> None:
    path, record = made(sandbox, kind)
    body = {**CREATION[kind], "metadata": metadata}
    for method, where, sent in (("POST", kind, body), ("PATCH", path, {"metadata": metadata})):
        error = sandbox.api.rejected(method, where, 422, "INVALID_FIELD", json=sent)
        assert (error["param"], set(error["errors"])) == (param, {param})
    assert sandbox.api.get(path) == record


@every_kind_with_metadata
def test_null_is_no_value_on_creation(sandbox: Sandbox, kind: str) -> None:
    body = {**CREATION[kind], "metadata": {"k": None}}
    assert sandbox.api.rejected("POST", kind, 422, "INVALID_FIELD", json=body)["param"] == "metadata.k"


@every_kind_with_metadata
def test_no_more_than_fifty_keys_are_left_after_a_merge(sandbox: Sandbox, kind: str) -> None:
    """The 51st key is rejected, but not where another one goes; all can be replaced at once."""
    path, record = made(sandbox, kind, metadata=FIFTY)
    error = sandbox.api.rejected("PATCH", path, 422, "INVALID_FIELD", json={"metadata": {"key50": 50}})
    assert (error["param"], set(error["errors"])) == ("metadata", {"metadata"})
    assert sandbox.api.get(path) == record
    exchanged = sandbox.api.patch(path, {"metadata": {"key50": 50, "key0": None, "key1": "new", "never": None}})[
        "metadata"
    ]
    assert (len(exchanged), exchanged["key50"], exchanged["key1"]) == (50, 50, "new")
    others = {f"other{number}": number for number in range(50)}
    assert sandbox.api.patch(path, {"metadata": {**dict.fromkeys(exchanged), **others}})["metadata"] == others
