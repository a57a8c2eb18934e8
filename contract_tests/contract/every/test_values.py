"""Types, limits, unknown, missing and unchangeable fields (B-12, B-13, B-21, B-23)."""

from __future__ import annotations

from collections import Counter
from functools import cache
from types import SimpleNamespace
from typing import Any

import pytest

from contract_tests.contract.document.judges import Judge
from contract_tests.contract.document.reader import Document, flat, request_schema
from contract_tests.contract.every.values import (
    NOT_ALONE,
    SCHEMAS,
    SERVICE,
    Place,
    Subject,
    example,
    fields_of,
    forbidden,
    just_allowed,
    of_service,
    places,
    with_value,
)
from contract_tests.support.sandbox import Sandbox
from emulator.checks.document.exceptions import rejected_by_rule, rejected_by_state
from emulator.checks.document.object_factory import ObjectFactory
from emulator.client.messages import ApiResponse
from emulator.document import bundles

ENTRIES = {"line_items": {"description": "Basket", "unit_amount": 700}, "events": "invoice.paid"}
"""Valid entries of lists whose schema does not say all of them."""

Body = dict[str, Any]


@cache
def served() -> list[tuple[Judge, Document]]:
    documents = [bundles.load(f"service-{version}") for version in ("3.0", "3.1")]
    return [(Judge(document), document) for document in documents]


LIMITS_OF_MONEY = {"AMOUNT_TOO_SMALL", "AMOUNT_TOO_LARGE"}
"""Codes that a limit of an amount has instead of INVALID_FIELD (B-23)."""


class Judged(Subject):
    """One operation whose responses are held against the served documents."""

    def errors(self, body: Body) -> tuple[str, dict[str, list[str]]]:
        response = self.send(body)
        answer = response.json()
        assert response.status_code == 422, (
            f"{self.id} {body!r:.300}: {response.status_code} {response.text}"
        )
        return answer["code"], answer["errors"]

    def verdicts(self, body: Body) -> set[bool]:
        """Return whether the served documents, 3.0 and 3.1, allow a body: one verdict if equal."""
        schemas = [
            (judge, request_schema(document, self.operation)) for judge, document in served()
        ]
        return {judge.accepts(schema.pointer, body) for judge, schema in schemas if schema}

    def is_ruled(self, response: ApiResponse, body: Body) -> bool:
        return bool(rejected_by_state(response, self.case(body))) or rejected_by_rule(
            response, self.case(body)
        )

    def case(self, body: Body) -> Any:
        """Return a request as the exceptions of ``compare document`` look at it."""
        definition = SimpleNamespace(raw=self.operation.node)
        operation = SimpleNamespace(path=self.operation.path, definition=definition)
        return SimpleNamespace(operation=operation, query=None, body=body)


def of_field(field: str, schema: Any) -> list[tuple[Place, dict[str, Any], Any]]:
    """Return a field's places with their keywords, and a valid entry of a list."""
    return [
        ((field, *place), node, _entry(place or (field,), node)) for place, node in places(schema)
    ]


def _entry(place: Place, node: dict[str, Any]) -> Any:
    if node.get("type") != "array":
        return None
    return ENTRIES.get(
        place[-1], example(flat(SERVICE, SCHEMAS["createCustomer"])._replace(node=node["items"]))
    )


@pytest.mark.parametrize("id", SCHEMAS)
def test_what_the_schema_of_a_field_forbids_is_rejected_by_name(
    factory: ObjectFactory, id: str
) -> None:
    """B-12, B-82: in each field, object, list. The served documents or a server rule forbid it."""
    subject = Judged(id, factory)
    for field, schema in fields_of(id).items():
        valid = subject.body(field)
        if field in ENTRIES:
            valid = {field: [ENTRIES[field]], **valid}
        for place, node, entry in of_field(field, schema):
            for value in forbidden(node, entry):
                body = with_value(valid, place, value)
                code, errors = subject.errors(body)
                # A number is written without a point (B-23), which JSON Schema cannot tell.
                is_allowed = subject.verdicts(body) != {False} and value != 7.0
                assert not is_allowed or rejected_by_rule(subject.send(body), subject.case(body)), (
                    place,
                    value,
                )
                is_code = place[-1] == "currency" and isinstance(value, str)
                own = {"INVALID_CURRENCY"} if is_code else {"INVALID_FIELD", *LIMITS_OF_MONEY}
                assert code in own, (place, value, code)
                assert {tuple(name.split("."))[: len(place)] for name in errors} == {place}, (
                    place,
                    value,
                    errors,
                )


NEVER_TAKEN = {"confirmPaymentIntent"}
"""Their fields are ids of objects alone, and there is none with a text at the limits."""


@pytest.mark.parametrize("id", SCHEMAS)
def test_what_the_schema_of_a_field_just_allows_is_taken(
    factory: ObjectFactory, id: str, thorough: bool
) -> None:
    """Limits are inclusive, by the served documents too. Another field or rule may be at fault.

    Where that were so of every value, the documents would not be asked. A plain run tries each
    twentieth of the countries and of the currencies.
    """
    subject, taken = Judged(id, factory), Counter[bool]()
    for field, schema in fields_of(id).items():
        for place, node, entry in (
            of_field(field, schema) if f"{id}.{field}" not in NOT_ALONE else ()
        ):
            step = 1 if thorough or len(node.get("enum", ())) < 50 else 20
            for value in [*just_allowed(node, entry)][::step]:
                body = with_value(subject.body(field), place, value)
                response = subject.send(body)
                case = f"{place} {value!r:.60}: {response.text}"
                taken[response.is_success] += 1
                if response.is_success:
                    assert subject.verdicts(body) == {True}, case
                elif not subject.is_ruled(response, body):
                    assert ".".join(place) not in response.json()["errors"], case
    assert not taken or bool(taken[True]) is (id not in NEVER_TAKEN)


@pytest.mark.parametrize("id", SCHEMAS)
def test_an_unknown_field_is_named(factory: ObjectFactory, id: str) -> None:
    """B-12, B-13: on every level of the body; an unknown name is cut off after 60 characters."""
    subject = Judged(id, factory)
    valid = subject.body()
    for unknown in (
        "colour",
        "name.first",
        "id" if "id" not in fields_of(id) else "ids",
        "x" * 100,
    ):
        reason = (
            "cannot be changed"
            if (unknown, subject.operation.method) == ("id", "PATCH")
            else "unknown field"
        )
        assert subject.errors({**valid, unknown: 1}) == ("INVALID_FIELD", {unknown[:60]: [reason]})
    for place, node in places(SCHEMAS[id]):
        if place and node.get("type") == "object" and node.get("properties"):
            code, errors = subject.errors(with_value(valid, (*place, "colour"), 1))
            assert errors[".".join((*place, "colour"))] == ["unknown field"], (code, errors)


@pytest.mark.parametrize("id", SCHEMAS)
def test_a_required_field_is_missed(factory: ObjectFactory, id: str) -> None:
    """B-12."""
    subject = Judged(id, factory)
    valid = subject.body()
    for field in flat(SERVICE, SCHEMAS[id]).node.get("required", ()):
        code, errors = subject.errors(
            {name: value for name, value in valid.items() if name != field}
        )
        assert (code, [*errors]) == ("MISSING_FIELD", [field])


@pytest.mark.parametrize("id", [id for id in SCHEMAS if id.startswith("create")])
def test_unknown_fields_can_be_passed_over(
    sandbox: Sandbox, factory: ObjectFactory, id: str
) -> None:
    """B-13, B-90, ``unknown_fields: ignore``: on every level."""
    sandbox.settings(unknown_fields="ignore")
    subject = Judged(id, factory)
    body = {**subject.body(), "colour": "red", "id": "mine", "parts": [{"deep": True}]}
    for place, node in places(SCHEMAS[id]):
        if place and place[0] in body and node.get("type") == "object" and node.get("properties"):
            body = with_value(body, (*place, "colour"), "red")
    made = subject.send(body)
    assert made.is_success, made.text
    assert made.json()["id"] != "mine"
    assert made.json().keys().isdisjoint(("colour", "parts"))


# -- changes

GETS = {operation.path: operation for operation in of_service("GET")}

CHANGED = [operation for operation in of_service("PATCH") if operation.path in GETS]


@pytest.mark.parametrize("id", [operation.node["operationId"] for operation in CHANGED])
def test_a_change_takes_only_the_fields_of_its_schema(
    sandbox: Sandbox, factory: ObjectFactory, id: str
) -> None:
    """B-12, B-13: a shown field that a PATCH does not take is fixed, even at the same value."""
    subject = Judged(id, factory)
    subject.body()
    before = sandbox.api.get(subject.path)
    fixed = sorted(before.keys() - fields_of(id).keys())
    assert {"id", "object", "created_at", "updated_at"} <= {*fixed}
    for field in fixed:
        assert subject.errors({field: before[field]}) == (
            "INVALID_FIELD",
            {field: ["cannot be changed"]},
        )
    code, errors = subject.errors({"id": "x", "colour": "red"})
    assert (code, errors) == (
        "VALIDATION_ERROR",
        {"id": ["cannot be changed"], "colour": ["unknown field"]},
    )
    sandbox.advance("1h")
    for nothing in ({}, None):
        assert sandbox.api.patch(subject.path, nothing) == sandbox.api.get(subject.path) == before


FIFTY = {f"key{number}": number for number in range(50)}


@pytest.mark.parametrize("id", [id for id in SCHEMAS if "metadata" in fields_of(id)])
def test_metadata_has_its_limits(sandbox: Sandbox, factory: ObjectFactory, id: str) -> None:
    """B-22: 50 keys of 1 to 400 characters; numbers, booleans, texts of up to 500, kept as sent."""
    for metadata in (
        {"a": "text", "b": "", "c": 1, "d": -2.5, "e": True, "f": False, "g": 10**20},
        {"k" * 400: "v" * 500, "é" * 40: "é" * 500},
    ):
        subject = Judged(id, factory)
        response = subject.send({**subject.body(), "metadata": metadata})
        assert response.is_success, response.text
        assert response.json()["metadata"].items() >= metadata.items()
    for wrong, place in (
        ({"": 1}, "metadata."),
        ({"k": "v" * 501}, "metadata.k"),
        ({"k": []}, "metadata.k"),
        ({"k": {"deep": 1}}, "metadata.k"),
        ({**FIFTY, "key50": 50}, "metadata"),
        *([] if id.startswith("update") else [({"k": None}, "metadata.k")]),
    ):
        code, errors = subject.errors({**subject.body(), "metadata": wrong})
        assert (code, [*errors]) == ("INVALID_FIELD", [place]), wrong
    if id.startswith("update"):
        _check_merge(sandbox, subject)


def _check_merge(sandbox: Sandbox, subject: Judged) -> None:
    """No 51st key unless another goes; null removes a key; all can be replaced at once."""
    path = subject.path
    full = sandbox.api.patch(
        path, {"metadata": {**dict.fromkeys(sandbox.api.get(path)["metadata"]), **FIFTY}}
    )
    assert full["metadata"] == FIFTY
    code, errors = subject.errors({"metadata": {"key50": 50}})
    assert (code, [*errors]) == ("INVALID_FIELD", ["metadata"])
    assert sandbox.api.get(path) == full
    sandbox.advance("1h")
    exchanged = sandbox.api.patch(
        path, {"metadata": {"key50": 50, "key0": None, "key1": "new", "never": None}}
    )
    merged = {
        **{key: value for key, value in FIFTY.items() if key != "key0"},
        "key1": "new",
        "key50": 50,
    }
    assert exchanged == {**full, "metadata": merged, "updated_at": sandbox.now}
    others = {f"other{number}": number for number in range(50)}
    assert (
        sandbox.api.patch(path, {"metadata": {**dict.fromkeys(merged), **others}})["metadata"]
        == others
    )
