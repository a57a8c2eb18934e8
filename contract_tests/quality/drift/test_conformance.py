"""Conformance suite ↔ document: the objects and exceptions it lists exist, and every operation has its objects."""

from __future__ import annotations

import pytest

from contract_tests.contract.document.reader import operations as read
from contract_tests.contract.document.reader import parameters, properties, request_schema
from contract_tests.support.sandbox import Sandbox
from emulator.checks.document.exceptions import RULES
from emulator.checks.document.links import operations
from emulator.checks.document.object_factory import (
    CHANGES,
    OF_FIELD,
    OF_OPERATION,
    OF_PARAMETER,
    OF_PATH,
    PREREQUISITES,
    UNSENT_PARAMETERS,
    documented,
)
from emulator.document import bundles
from emulator.document.references import names

SERVICE = bundles.load("service")
OPERATIONS = operations(SERVICE)


def test_what_is_excused_is_there_to_be_excused() -> None:
    """An exception for an operation or a field that is gone would hide what comes after it."""
    known = {each.node["operationId"]: (name, each) for name in bundles.SOURCES for each in read(bundles.load(name))}
    assert RULES.keys() <= known.keys()
    for id, rules in RULES.items():
        name, operation = known[id]
        document = bundles.load(name)
        schema = request_schema(document, operation)
        fields = {each["name"] for each in parameters(document, operation)}
        fields |= set(properties(document, schema)) if schema else set()
        words = {rule.split("*")[0].split(".")[0] for rule in rules}
        assert words - {""} <= fields, id


def test_it_has_an_object_for_every_path_with_an_id() -> None:
    """Listed, or made as the document's example is."""
    words = {each.path.split("/")[1] for each in OPERATIONS.values() if "{id}" in each.path}
    assert words <= OF_PATH.keys() | documented(SERVICE).keys()
    assert OF_OPERATION.keys() | CHANGES.keys() | UNSENT_PARAMETERS.keys() <= OPERATIONS.keys()


def test_every_object_it_names_is_one_it_can_create() -> None:
    references = [*OF_PATH.values(), *OF_OPERATION.values(), *OF_PARAMETER.values(), *OF_FIELD.values()]
    assert {*names(references)} - {"receiver"} <= PREREQUISITES.keys()


@pytest.mark.parametrize("id", OPERATIONS)
def test_no_operation_answers_501(sandbox: Sandbox, id: str) -> None:
    operation = OPERATIONS[id]
    path = operation.path.replace("{id}", "x").replace("{addr_id}", "x").replace("{did}", "x")
    assert sandbox.api.request(operation.method, path).status_code < 500
