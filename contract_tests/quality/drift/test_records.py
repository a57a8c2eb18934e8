"""Records ↔ schemas: what an object is in the code and in the document, field by field."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any

import msgspec
import pytest
from msgspec import inspect

from contract_tests.contract.document.reader import Document, Part, alternatives, properties, resolved
from contract_tests.quality.drift.constraints import constraints, declared, source_table
from emulator.core.events import Event
from emulator.core.records import Record, hidden_fields
from emulator.document import bundles
from emulator.engine.reference_data import numbered_assumptions
from emulator.resources.registry import REGISTRY

SERVICE: Document = bundles.load("service")

CONTROL: Document = bundles.load("control")

RECORDS: list[type[Record]] = [
    kind
    for kind in (*REGISTRY.kinds, Event)
    if "object" in kind.__struct_fields__ and kind.kind not in ("outcome", "fault")
]
"""Every record that is an object of the service; the others are the emulator's bookkeeping. Outcomes and faults have a
tag too, but they are the control API's and no objects of the service's document."""


def test_what_is_no_object_of_the_service_is_one_of_the_control_api() -> None:
    own = {"Outcome", "Fault"}
    assert own <= CONTROL["components"]["schemas"].keys()
    assert not own & SERVICE["components"]["schemas"].keys()


def test_no_record_can_be_changed_in_place() -> None:
    """A unit of work that fails is undone by the records that were there before."""
    assert [kind for kind in REGISTRY.kinds if not kind.__struct_config__.frozen] == []


def schema(name: str) -> Part:
    return Part(("components", "schemas", name), SERVICE["components"]["schemas"][name])


def required(part: Part) -> set[str]:
    part = resolved(SERVICE, part)
    return set(part.node.get("required", ())).union(*(required(each) for each in alternatives(part)))


def is_nullable(part: Part) -> bool:
    """Return a reference is as nullable as what it refers to; what combines others says so itself."""
    return bool(resolved(SERVICE, part).node.get("nullable", False))


def single(part: Part) -> Part:
    """Return the schema itself, behind references and an ``allOf`` of one."""
    part = resolved(SERVICE, part)
    combined = list(alternatives(part))
    return single(combined[0]) if len(combined) == 1 else part


def options(type: inspect.Type) -> list[inspect.Type]:
    return list(type.types) if isinstance(type, inspect.UnionType) else [type]


JSON_TYPES: list[tuple[Any, str]] = [
    (inspect.BoolType, "boolean"),
    (inspect.IntType, "integer"),
    (inspect.FloatType, "number"),
    (inspect.StrType, "string"),
    (inspect.LiteralType, "string"),
    ((inspect.VarTupleType, inspect.ListType), "array"),
    ((inspect.DictType, inspect.StructType), "object"),
]


def differences(struct: type[msgspec.Struct], part: Part, path: str, hidden: frozenset[str]) -> Iterator[str]:
    """Yield everything in which a struct and a schema differ."""
    declared = properties(SERVICE, part)
    fields = {
        field.encode_name: field
        for field in inspect.type_info(struct).fields  # type: ignore[attr-defined]  # a struct has fields
        if field.name not in hidden
    }
    yield from (f"{path}.{name}: only in the document" for name in declared.keys() - fields.keys())
    yield from (f"{path}.{name}: only in the code" for name in fields.keys() - declared.keys())
    sometimes = {field.encode_name for field in msgspec.structs.fields(struct) if field.default is msgspec.UNSET}
    for name in fields.keys() & declared.keys():
        if (name in sometimes) == (name in required(part)):
            yield f"{path}.{name}: always there in one of the two only"
        yield from field_differences(fields[name].type, declared[name], f"{path}.{name}")


def field_differences(type: inspect.Type, part: Part, path: str) -> Iterator[str]:
    kinds = options(type)
    if any(isinstance(kind, inspect.NoneType) for kind in kinds) != is_nullable(part):
        yield f"{path}: null in one of the two only"
    target = single(part)
    for kind in kinds:
        words = [word for types, word in JSON_TYPES if isinstance(kind, types)]
        fits = {*words, "number"} if words == ["integer"] else set(words)
        if words and target.node.get("type", words[0]) not in fits:
            yield f"{path}: {words[0]} in the code, {target.node['type']} in the document"
        if isinstance(kind, inspect.StructType):
            yield from differences(kind.cls, target, path, frozenset())
        if isinstance(kind, inspect.VarTupleType):
            yield from field_differences(
                kind.item_type, Part((*target.pointer, "items"), target.node["items"]), f"{path}[]"
            )


@pytest.mark.parametrize("kind", RECORDS, ids=lambda kind: kind.__name__)
def test_a_record_is_what_its_schema_says(kind: type[Record]) -> None:
    """The same fields, all of them required, null in the same places (B-27), of the same types, down to the last line."""
    assert [*differences(kind, schema(kind.__name__), kind.__name__, frozenset(hidden_fields(kind)))] == []


@pytest.mark.parametrize("kind", RECORDS, ids=lambda kind: kind.__name__)
def test_kind_and_prefix_are_those_of_the_document(kind: type[Record]) -> None:
    declared = properties(SERVICE, schema(kind.__name__))
    assert declared["object"].node["enum"] == [kind.kind]
    assert declared["id"].node["pattern"] == f"^{kind.prefix}_[0-9A-Za-z]{{24}}$"


def test_every_object_of_the_document_has_a_record() -> None:
    objects = {
        name
        for name, node in SERVICE["components"]["schemas"].items()
        if "id" in node.get("properties", {}) and "object" in node["properties"]
    }
    assert objects - {kind.__name__ for kind in RECORDS} == set()


# -- Constraints of the service's document ↔ their sources: each one has a source


LISTED = source_table()


def test_each_constraint_has_a_source() -> None:
    """A new one cites an assumption in the document (x-assumption), or gets its line in sources.yaml."""
    assert [str(each) for each in constraints() if not each.sources] == []


def test_each_line_of_the_table_gives_a_constraint_that_cites_no_assumption() -> None:
    given = {str(each) for each in declared(bundles.load("service")) if not each.sources}
    lines = [line for source in LISTED.values() for line in source]
    assert [line for line in lines if not any(fnmatchcase(each, line) for each in given)] == []
    assert len(lines) == len(set(lines))


def test_each_assumption_among_the_sources_is_one() -> None:
    numbers = {source for each in constraints() for source in each.sources if source.startswith("B-")}
    assert numbers <= numbered_assumptions().keys()
