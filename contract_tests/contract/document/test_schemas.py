"""The schemas: no name is required that is not declared, and one name means one kind of thing."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from contract_tests.contract.document.formats import FORMATS
from contract_tests.contract.document.reader import (
    Document,
    Part,
    alternatives,
    operations,
    properties,
    request_schema,
    resolved,
    responses,
    schemas,
    subschemas,
)
from emulator.document.tree import fragment

TWO_KINDS_OF_CONTROL = {
    "body": "the text that an inbox received; anything that a fault answers",
    "merchant": "what papers say about the merchant; the name of the App that asks a phone",
    "seed": "the number that a world is reset with; the text that the ids of a saved world are drawn from",
}

TWO_KINDS_OF_PAGES = {
    "amount": "an amount in minor units; the amount that a buyer types",
}

TWO_KINDS = {
    "customer": "an id; who a buyer is",
    "data": "the objects of a list; what an event carries",
    "error": "the body of a nested error; the fault of one delivery attempt",
    "method": "an HTTP method; what a buyer pays with",
    "object": "the kind of an object; the object that an event shows",
    "payment_link": "an id; the link's metadata that an event carries",
    "plan": "an id; the plan's metadata that an event carries",
    "product": "an id; the product's metadata that an event carries",
    "status": "the state of an object; the HTTP status of an error",
}
"""Names that mean different kinds of things in different schemas, and which; this should stay short."""

VARYING = {
    "NextAction": "its keys depend on its type",
    "PaymentMethodDetails": "its keys depend on the method's type",
}
"""Answered schemas of which only some fields are there at a time; this should stay short."""


def test_every_required_name_is_a_declared_property(document: Document) -> None:
    demanding = [part for part in schemas(document) if "required" in part.node]
    assert len(demanding) > 10
    assert list(_undeclared(document)) == []


def _undeclared(document: Document) -> Iterator[str]:
    """Required names without a property; a schema declares for those it combines as well."""
    around: dict[tuple[str, ...], set[str]] = {}
    for part in schemas(document):
        declared = set(properties(document, part)) | around.get(part.pointer, set())
        inner = [*alternatives(part), Part((*part.pointer, "not"), None)]
        around |= {each.pointer: declared for each in inner}
        for name in set(part.node.get("required", ())) - declared:
            yield f"{fragment(part.pointer)}: {name}"


def test_property_names_are_snake_case(document: Document) -> None:
    names = {name for part in schemas(document) for name in part.node.get("properties", {})}
    assert len(names) > 10
    assert [name for name in names if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name)] == []


def test_every_property_is_described(document: Document) -> None:
    described = [
        (fragment((*part.pointer, "properties", name)), "description" in resolved(document, Part((), child)).node)
        for part in schemas(document)
        for name, child in part.node.get("properties", {}).items()
    ]
    assert described
    assert [place for place, is_described in described if not is_described] == []


def test_one_property_name_means_one_kind_of_thing(document: Document) -> None:
    allowed = TWO_KINDS | TWO_KINDS_OF_CONTROL | TWO_KINDS_OF_PAGES
    assert {name: of for name, of in _of_two_kinds(document).items() if name not in allowed} == {}


def test_the_exceptions_are_still_needed(service: Document, documents: dict[str, Document]) -> None:
    assert TWO_KINDS.keys() - set().union(*map(_of_two_kinds, documents.values())) == set()
    assert VARYING.keys() - service["components"]["schemas"].keys() == set()


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


def test_every_format_is_one_that_is_checked(document: Document) -> None:
    formats = {part.node["format"] for part in schemas(document) if "format" in part.node}
    assert formats
    assert formats - set(FORMATS) == set()


def test_patterns_are_anchored(document: Document) -> None:
    """A pattern finds its text anywhere, so one without anchors checks next to nothing."""
    patterns = [part.node["pattern"] for part in schemas(document) if "pattern" in part.node]
    assert patterns
    assert [pattern for pattern in patterns if not (pattern.startswith("^") and pattern.endswith("$"))] == []


def test_enums_do_not_list_null(document: Document) -> None:
    enums = [part for part in schemas(document) if "enum" in part.node]
    assert enums
    assert [fragment(part.pointer) for part in enums if None in part.node["enum"]] == []


# What is sent is closed, what is answered is complete


def test_requests_of_the_service_reject_unknown_fields(service: Document) -> None:
    sent = [schema for each in operations(service) if (schema := request_schema(service, each)) is not None]
    assert len(sent) > 20
    objects = [part for part in _reachable(service, sent) if "properties" in part.node]
    assert [fragment(part.pointer) for part in objects if part.node.get("additionalProperties") is not False] == []


def test_answers_of_the_service_are_complete(service: Document) -> None:
    """A client may count on every field being there, null where there is nothing to say."""
    objects = [part for part in _reachable(service, _answered(service)) if "properties" in part.node]
    assert len(objects) > 20
    optional = {part.pointer[-1]: part.node["properties"].keys() - part.node.get("required", ()) for part in objects}
    assert {name: names for name, names in optional.items() if names and name not in VARYING} == {}


def test_answers_of_the_service_leave_room_for_new_fields(service: Document) -> None:
    answered = list(_reachable(service, _answered(service)))
    assert answered
    assert [fragment(part.pointer) for part in answered if part.node.get("additionalProperties") is False] == []


def _answered(document: Document) -> list[Part]:
    """Return the schemas of all successful answers."""
    return [
        Part((*response.pointer, "content", media, "schema"), content["schema"])
        for operation in operations(document)
        for status, response in responses(document, operation)
        for media, content in response.node.get("content", {}).items()
        if status.startswith("2")
    ]


def _reachable(document: Document, roots: list[Part]) -> Iterator[Part]:
    """Yield every schema met on the way from some schemas, references followed, each once."""
    seen, waiting = set(), list(roots)
    while waiting:
        part = resolved(document, waiting.pop())
        if part.pointer not in seen:
            seen.add(part.pointer)
            waiting += subschemas(part)
            yield part
