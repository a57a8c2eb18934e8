"""The schemas: what is sent is closed and bounded, what is answered is complete, and one name means one kind of thing."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from contract_tests.contract.document.formats import FORMATS
from contract_tests.contract.document.reader import (
    Document,
    Part,
    alternatives,
    flat,
    operations,
    properties,
    request_schema,
    resolved,
    responses,
    schemas,
    subschemas,
)
from emulator.document.bundle import BOUNDED, FINITE
from emulator.document.tree import fragment

TWO_KINDS = {
    "amount": "an amount in minor units; the amount that a buyer types",
    "body": "the text that an inbox received; anything that a fault answers",
    "customer": "an id; who a buyer is",
    "data": "the objects of a list; what an event carries",
    "error": "the body of a nested error; the fault of one delivery attempt",
    "merchant": "what papers say about the merchant; the name of the App that asks a phone",
    "method": "an HTTP method; what a buyer pays with",
    "object": "the kind of an object; the object that an event shows",
    "payment_link": "an id; the link's metadata that an event carries",
    "plan": "an id; the plan's metadata that an event carries",
    "product": "an id; the product's metadata that an event carries",
    "seed": "the number that a world is reset with; the text that the ids of a saved world are drawn from",
    "status": "the state of an object; the HTTP status of an error",
}
"""Names that mean different kinds of things in different schemas, and which; this should stay short."""

VARYING = {
    "NextAction": "its keys depend on its type",
    "PaymentMethodDetails": "its keys depend on the method's type",
}
"""Answered schemas of which only some fields are there at a time; this should stay short."""


def test_every_required_name_is_a_declared_property(document: Document) -> None:
    """A schema declares for those that it combines as well."""
    around: dict[tuple[str, ...], set[str]] = {}
    undeclared = []
    for part in schemas(document):
        declared = set(properties(document, part)) | around.get(part.pointer, set())
        inner = [*alternatives(part), Part((*part.pointer, "not"), None)]
        around |= {each.pointer: declared for each in inner}
        undeclared += [f"{fragment(part.pointer)}: {name}" for name in {*part.node.get("required", ())} - declared]
    assert undeclared == []


def test_every_property_has_a_name_in_snake_case_and_a_description(document: Document) -> None:
    found = [
        (part, name, child) for part in schemas(document) for name, child in part.node.get("properties", {}).items()
    ]
    assert len(found) > 10
    for part, name, child in found:
        assert re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name), fragment(part.pointer)
        assert "description" in resolved(document, Part((), child)).node, f"{fragment(part.pointer)}: {name}"


def test_one_property_name_means_one_kind_of_thing(documents: dict[str, Document]) -> None:
    """And the exceptions are still needed."""
    found = {name: of for each in documents.values() for name, of in _of_two_kinds(each).items()}
    assert {name: of for name, of in found.items() if name not in TWO_KINDS} == {}
    assert TWO_KINDS.keys() - found.keys() == set()
    assert VARYING.keys() - documents["service"]["components"]["schemas"].keys() == set()


def _of_two_kinds(document: Document) -> dict[str, set[str]]:
    kinds: dict[str, set[str]] = defaultdict(set)
    for part in schemas(document):
        for name, child in part.node.get("properties", {}).items():
            place = Part((*part.pointer, "properties", name), child)
            kinds[name] |= {"/".join(sorted(_types(document, place)))}
    assert len(kinds) > 10
    return {name: of for name, of in kinds.items() if len(of) > 1}


def _types(document: Document, schema: Part) -> set[str]:
    """Return the JSON types that a schema allows, null aside."""
    pointer, node = resolved(document, schema)
    if "type" in node:
        return {node["type"]}
    return set().union(*(_types(document, each) for each in alternatives(Part(pointer, node))))


def test_formats_are_checked_patterns_anchored_and_enums_without_null(document: Document) -> None:
    """A pattern finds its text anywhere, so one without anchors checks next to nothing."""
    every = list(schemas(document))
    assert {part.node["format"] for part in every if "format" in part.node} - FORMATS.keys() == set()
    patterns = [part.node["pattern"] for part in every if "pattern" in part.node]
    assert [pattern for pattern in patterns if not (pattern.startswith("^") and pattern.endswith("$"))] == []
    assert [fragment(part.pointer) for part in every if None in part.node.get("enum", ())] == []


def test_every_array_and_string_of_a_request_is_bounded(document: Document) -> None:
    """B-26."""
    sent = [schema for each in operations(document) if (schema := request_schema(document, each)) is not None]
    for pointer, node in (each for schema in sent for each in _inside(document, schema)):
        if node.get("type") == "array":
            of_few = node.get("uniqueItems") and flat(document, Part((), node["items"])).node.get("format") in FINITE
            assert of_few or "maxItems" in node, fragment(pointer)
        if node.get("type") == "string":
            assert node.get("format") in BOUNDED or {"enum", "maxLength"} & node.keys(), fragment(pointer)


def _inside(document: Document, schema: Part) -> Iterator[Part]:
    pointer, node = flat(document, schema)
    yield Part(pointer, node)
    for child in subschemas(Part(pointer, {key: value for key, value in node.items() if key != "allOf"})):
        yield from _inside(document, child)


# -- what the service is sent is closed, what it answers is complete


def test_requests_of_the_service_reject_unknown_fields(service: Document) -> None:
    sent = [schema for each in operations(service) if (schema := request_schema(service, each)) is not None]
    objects = [part for part in _reachable(service, sent) if "properties" in part.node]
    assert len(objects) > 20
    assert [fragment(part.pointer) for part in objects if part.node.get("additionalProperties") is not False] == []


def test_answers_of_the_service_are_complete_and_leave_room_for_new_fields(service: Document) -> None:
    """A client may count on every field being there, null where there is nothing to say."""
    answered = [
        Part((*response.pointer, "content", media, "schema"), content["schema"])
        for operation in operations(service)
        for status, response in responses(service, operation)
        for media, content in response.node.get("content", {}).items()
        if status.startswith("2")
    ]
    every = list(_reachable(service, answered))
    objects = [part for part in every if "properties" in part.node]
    assert len(objects) > 20
    optional = {part.pointer[-1]: part.node["properties"].keys() - part.node.get("required", ()) for part in objects}
    assert {name: names for name, names in optional.items() if names and name not in VARYING} == {}
    assert [fragment(part.pointer) for part in every if part.node.get("additionalProperties") is False] == []


def _reachable(document: Document, roots: list[Part]) -> Iterator[Part]:
    """Yield every schema met on the way from some schemas, references followed, each once."""
    seen, waiting = set(), list(roots)
    while waiting:
        part = resolved(document, waiting.pop())
        if part.pointer not in seen:
            seen.add(part.pointer)
            waiting += subschemas(part)
            yield part
