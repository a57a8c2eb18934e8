"""Operations ↔ functions: every operation of the document is executed, or says that it is not supported yet."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from contract_tests.contract.document.reader import Operation, operations
from emulator.control.control_app import OPERATIONS as CONTROL
from emulator.document import bundles
from emulator.document.tree import resolve
from emulator.resources.registry import OPERATIONS as SERVICE

FUNCTIONS = {"service": SERVICE, "control": CONTROL}
DOCUMENTED: dict[str, list[Operation]] = {name: list(operations(bundles.load(name))) for name in FUNCTIONS}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_operation_has_a_function_and_every_function_an_operation(name: str) -> None:
    assert FUNCTIONS[name].keys() == {each.node["operationId"] for each in DOCUMENTED[name]}


def test_an_operation_is_of_one_document() -> None:
    """The journal and the coverage distinguish them by their names alone."""
    assert SERVICE.keys().isdisjoint(CONTROL)


@pytest.mark.parametrize(
    ("operation", "function"),
    [(each, SERVICE[each.node["operationId"]]) for each in DOCUMENTED["service"]],
    ids=lambda value: str(value.name) if isinstance(value, Operation) else "",
)
def test_a_function_takes_what_its_operation_hands_over(operation: Operation, function: Any) -> None:
    """The world, each parameter of the path by its name, ``query`` and ``body`` where the document has them."""
    document = bundles.load("service")
    handed = {part[1:-1] for part in operation.path.split("/") if part.startswith("{")}
    parameters = [*document["paths"][operation.path].get("parameters", ()), *operation.node.get("parameters", ())]
    if any(resolve(document, parameter)["in"] == "query" for parameter in parameters):
        handed.add("query")
    if "requestBody" in operation.node:
        handed.add("body")
    inspect.signature(function).bind(None, **dict.fromkeys(handed))
