"""The operations of the service's document, each with what may be sent to it and what it may answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import NamedTuple

from emulator.document import bundles
from emulator.document.tree import Document, Node, properties, resolve


class FieldNames(NamedTuple):
    """The fields of an object, and the fields of those that are objects; for a list, the fields of its items."""

    names: Mapping[str, None] = {}
    nested: Mapping[str, FieldNames] = {}

    def dotted(self, before: str = "") -> Iterator[str]:
        """Their names in order, nested ones with dots: ``retry_policy.max_attempts``."""
        for name in self.names:
            yield before + name
            if name in self.nested:
                yield from self.nested[name].dotted(f"{before}{name}.")


class OperationSpec(NamedTuple):
    """What the document says of one operation: statuses, fields of the body and parameters of the query."""

    statuses: tuple[int, ...]
    fields: FieldNames
    parameters: tuple[str, ...]


@cache
def operation_specs() -> Mapping[str, OperationSpec]:
    """Each operation by its operationId, in the order of the document."""
    document = bundles.load("service")
    return {
        operation["operationId"]: _operation_spec(document, item, operation)
        for item in document["paths"].values()
        for operation in item.values()
        if isinstance(operation, dict)
    }


@cache
def error_codes() -> tuple[str, ...]:
    """Every error code of the document."""
    return tuple(bundles.load("service")["components"]["schemas"]["ErrorCode"]["enum"])


def _operation_spec(document: Document, item: Node, operation: Node) -> OperationSpec:
    parameters = [resolve(document, each) for each in (*item.get("parameters", ()), *operation.get("parameters", ()))]
    return OperationSpec(
        statuses=tuple(map(int, operation["responses"])),
        fields=_fields(document, _body(document, operation)),
        parameters=tuple(each["name"] for each in parameters if each["in"] == "query"),
    )


def _body(document: Document, operation: Node) -> Node:
    """The schema of the JSON body, empty where it takes none."""
    content = resolve(document, operation.get("requestBody", {})).get("content", {})
    schema: Node = content.get("application/json", {}).get("schema", {})
    return schema


def _fields(document: Document, schema: Node) -> FieldNames:
    declared = properties(document, schema)
    nested = {name: own for name, part in declared.items() if (own := _fields(document, part)).names}
    return FieldNames(dict.fromkeys(declared), nested)
