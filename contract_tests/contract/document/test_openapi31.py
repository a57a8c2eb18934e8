"""The 3.1 twin says what the 3.0 document says, schema by schema and value by value."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest

from contract_tests.contract.document.judges import Judge
from contract_tests.contract.document.reader import Document, Part, at, examples, operations, resolved, schemas
from emulator.document.published import to_openapi_3_1
from emulator.document.tree import fragment

Schema = dict[str, Any]
STRANGERS: tuple[Any, ...] = (None, True, 0, -1, "", "x", [], [None], {}, {"x": None})


def tiny(**named: Schema) -> Document:
    return {
        "openapi": "3.0.3",
        "info": {"title": "Tiny", "version": "v1"},
        "paths": {},
        "components": {"schemas": named},
    }


def twin_of(schema: Schema) -> Schema:
    twin: Schema = to_openapi_3_1(tiny(A=schema))["components"]["schemas"]["A"]
    return twin


REF = {"$ref": "#/components/schemas/B"}
TWINS: list[tuple[Schema, Schema]] = [
    ({"type": "string", "nullable": True}, {"type": ["string", "null"]}),
    ({"type": "string", "nullable": False}, {"type": "string"}),
    ({"type": "string", "enum": ["a"], "nullable": True}, {"type": ["string", "null"], "enum": ["a", None]}),
    ({"enum": ["a"]}, {"enum": ["a"]}),
    ({"nullable": True, "allOf": [REF]}, {"anyOf": [REF, {"type": "null"}]}),
    (
        {"nullable": True, "allOf": [REF], "description": "D", "x-assumption": "B-01"},
        {"description": "D", "x-assumption": "B-01", "anyOf": [REF, {"type": "null"}]},
    ),
    ({"nullable": True, "anyOf": [REF, {"type": "string"}]}, {"anyOf": [REF, {"type": "string"}, {"type": "null"}]}),
    ({"nullable": True, "oneOf": [REF]}, {"anyOf": [{"oneOf": [REF]}, {"type": "null"}]}),
    ({"nullable": True, "not": REF}, {"anyOf": [{"not": REF}, {"type": "null"}]}),
    ({"minimum": 1, "exclusiveMinimum": True}, {"exclusiveMinimum": 1}),
    ({"maximum": 9, "exclusiveMaximum": False}, {"maximum": 9}),
    ({"type": "string", "example": "a"}, {"type": "string", "examples": ["a"]}),
    ({"type": "string", "format": "binary"}, {"contentMediaType": "application/octet-stream"}),
    ({"x-key-maxLength": 40, "x-key-minLength": 1}, {"propertyNames": {"maxLength": 40, "minLength": 1}}),
    ({"items": {"type": "string", "nullable": True}}, {"items": {"type": ["string", "null"]}}),
    ({"not": {"type": "string", "nullable": True}}, {"not": {"type": ["string", "null"]}}),
    ({"allOf": [{"type": "string", "nullable": True}]}, {"allOf": [{"type": ["string", "null"]}]}),
    ({"anyOf": [{"type": "string", "nullable": True}]}, {"anyOf": [{"type": ["string", "null"]}]}),
    ({"oneOf": [{"type": "string", "nullable": True}]}, {"oneOf": [{"type": ["string", "null"]}]}),
    (
        {"additionalProperties": {"type": "string", "example": "a"}},
        {"additionalProperties": {"type": "string", "examples": ["a"]}},
    ),
    ({"additionalProperties": False}, {"additionalProperties": False}),
    # A property may be called as a keyword is, and an example may look like a schema.
    ({"properties": {"nullable": {"type": "boolean"}}}, {"properties": {"nullable": {"type": "boolean"}}}),
    (
        {"properties": {"example": {"nullable": True, "type": "string"}}},
        {"properties": {"example": {"type": ["string", "null"]}}},
    ),
    ({"example": {"nullable": True, "example": 1}}, {"examples": [{"nullable": True, "example": 1}]}),
    ({"default": {"example": 1}}, {"default": {"example": 1}}),
]


@pytest.mark.parametrize(("schema", "twin"), TWINS)
def test_a_schema_and_its_twin(schema: Schema, twin: Schema) -> None:
    assert twin_of(schema) == twin


def test_schemas_are_found_in_parameters_headers_and_bodies_and_nowhere_else() -> None:
    node = {"schema": {"type": "string", "nullable": True}, "example": {"schema": {"nullable": True}}}
    paths = {
        "/a/": {"get": {"parameters": [node], "responses": {"200": {"headers": {"A": node}, "content": {"a/b": node}}}}}
    }
    operation = to_openapi_3_1(tiny() | {"paths": paths})["paths"]["/a/"]["get"]
    twin = {"schema": {"type": ["string", "null"]}, "example": {"schema": {"nullable": True}}}
    response = operation["responses"]["200"]
    assert [operation["parameters"][0], response["headers"]["A"], response["content"]["a/b"]] == [twin] * 3


def test_webhooks_get_their_place() -> None:
    hook = {"post": {"requestBody": {"content": {"a/b": {"schema": {"type": "string", "nullable": True}}}}}}
    twin = to_openapi_3_1(tiny() | {"x-webhooks": {"ping": hook}})
    assert "x-webhooks" not in twin
    assert twin["webhooks"]["ping"]["post"]["requestBody"]["content"]["a/b"]["schema"] == {"type": ["string", "null"]}


def test_a_licence_is_named_by_its_identifier() -> None:
    info = {"title": "Tiny", "license": {"name": "Apache-2.0", "url": "https://example.com"}}
    assert to_openapi_3_1(tiny() | {"info": info})["info"]["license"] == {
        "name": "Apache-2.0",
        "identifier": "Apache-2.0",
    }


def test_the_original_is_left_alone() -> None:
    original = tiny(A={"type": "string", "nullable": True, "example": "a"})
    to_openapi_3_1(original)
    assert original == tiny(A={"type": "string", "nullable": True, "example": "a"})


# The real documents


def test_both_have_the_same_operations(document: Document, twin: Document) -> None:
    names = [each.name for each in operations(document)]
    assert names
    assert [each.name for each in operations(twin)] == names


def test_both_have_the_same_components(document: Document, twin: Document) -> None:
    assert {kind: list(named) for kind, named in twin["components"].items()} == {
        kind: list(named) for kind, named in document["components"].items()
    }


def test_both_have_the_same_webhooks(document: Document, twin: Document) -> None:
    assert list(twin.get("webhooks", {})) == list(document.get("x-webhooks", {}))
    assert "x-webhooks" not in twin


def test_nothing_of_3_0_is_left(twin: Document) -> None:
    every = list(schemas(twin))
    assert every
    keywords = {"nullable", "example", "x-key-minLength", "x-key-maxLength"}
    assert [fragment(part.pointer) for part in every if keywords & part.node.keys()] == []


def test_both_judge_every_value_alike(document: Document, judge: Judge, twin_judge: Judge) -> None:
    verdicts = {True: 0, False: 0}
    for name, values in _samples(document).items():
        place = ("components", "schemas", name)
        for value in values:
            verdict = judge.accepts(place, value)
            assert twin_judge.accepts(place, value) == verdict, f"{fragment(place)}: {value!r}"
            verdicts[verdict] += 1
    assert min(verdicts.values()) > len(document["components"]["schemas"])


def _samples(document: Document) -> dict[str, list[Any]]:
    """For each component schema its examples, each with one field spoilt at a time, and values that hardly fit."""
    samples: dict[str, list[Any]] = {name: list(STRANGERS) for name in document["components"]["schemas"]}
    shown: dict[str, list[Any]] = defaultdict(list)
    for example in examples(document):
        place = resolved(document, Part(example.schema, at(document, example.schema))).pointer
        if place[:2] == ("components", "schemas") and len(place) == 3:
            shown[place[2]].append(example.value)
    for name, values in shown.items():
        samples[name] += [variant for value in values for variant in _variants(value)]
    return samples


def _variants(value: Any) -> Iterator[Any]:
    yield value
    for name in value if isinstance(value, dict) else ():
        yield {key: item for key, item in value.items() if key != name}
        yield from (value | {name: stranger} for stranger in STRANGERS)
