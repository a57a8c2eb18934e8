"""Schemas: requests are closed and bounded, responses complete, a name means one kind of thing."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from contract_tests.contract.document.judges import FORMATS
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
from contract_tests.support.contract import Contract
from contract_tests.support.sandbox import Sandbox
from emulator.document.bundle import BOUNDED, FINITE
from emulator.document.tree import fragment

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
        around |= {part.pointer: declared for part in inner}
        undeclared += [
            f"{fragment(part.pointer)}: {name}"
            for name in {*part.node.get("required", ())} - declared
        ]
    assert undeclared == []


def _named(document: Document) -> list[tuple[Part, str, Any]]:
    """Return the properties of all schemas: the schema, the name, the property's own schema."""
    named = [
        (part, name, child)
        for part in schemas(document)
        for name, child in part.node.get("properties", {}).items()
    ]
    assert len(named) > 10
    return named


def test_every_property_has_a_name_in_snake_case(document: Document) -> None:
    for part, name, _ in _named(document):
        assert re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name), fragment(part.pointer)


def test_every_property_has_a_description(document: Document) -> None:
    for part, name, child in _named(document):
        assert "description" in resolved(document, Part((), child)).node, (
            f"{fragment(part.pointer)}: {name}"
        )


def test_every_format_is_checked(document: Document) -> None:
    formats = {part.node["format"] for part in schemas(document) if "format" in part.node}
    assert formats - FORMATS.keys() == set()


def test_every_pattern_is_anchored(document: Document) -> None:
    """A pattern finds its text anywhere, so one without anchors checks next to nothing."""
    patterns = [part.node["pattern"] for part in schemas(document) if "pattern" in part.node]
    assert [
        pattern for pattern in patterns if not (pattern.startswith("^") and pattern.endswith("$"))
    ] == []


def test_no_enum_has_null(document: Document) -> None:
    assert [
        fragment(part.pointer) for part in schemas(document) if None in part.node.get("enum", ())
    ] == []


def test_every_array_of_a_request_is_bounded(document: Document) -> None:
    """B-26."""
    for pointer, node in _sent(document, "array"):
        of_few = (
            node.get("uniqueItems")
            and flat(document, Part((), node["items"])).node.get("format") in FINITE
        )
        assert of_few or "maxItems" in node, fragment(pointer)


def test_every_string_of_a_request_is_bounded(document: Document) -> None:
    """B-26."""
    for pointer, node in _sent(document, "string"):
        assert node.get("format") in BOUNDED or {"enum", "maxLength"} & node.keys(), fragment(
            pointer
        )


def _request_schemas(document: Document) -> list[Part]:
    return [
        schema
        for operation in operations(document)
        if (schema := request_schema(document, operation)) is not None
    ]


def _sent(document: Document, type: str) -> list[Part]:
    """Return the schemas of this type inside the schemas of the requests."""
    return [
        part
        for schema in _request_schemas(document)
        for part in _inside(document, schema)
        if part.node.get("type") == type
    ]


def _inside(document: Document, schema: Part) -> Iterator[Part]:
    pointer, node = flat(document, schema)
    yield Part(pointer, node)
    for child in subschemas(
        Part(pointer, {key: value for key, value in node.items() if key != "allOf"})
    ):
        yield from _inside(document, child)


# -- what the service is sent is closed, its responses are complete


def test_requests_of_the_service_reject_unknown_fields(service: Document) -> None:
    sent = _reachable(service, _request_schemas(service))
    objects = [part for part in sent if "properties" in part.node]
    assert len(objects) > 20
    assert [
        fragment(part.pointer)
        for part in objects
        if part.node.get("additionalProperties") is not False
    ] == []


def _received(service: Document) -> list[Part]:
    """Return every schema of a successful response."""
    bodies = [
        Part((*response.pointer, "content", media, "schema"), content["schema"])
        for operation in operations(service)
        for status, response in responses(service, operation)
        for media, content in response.node.get("content", {}).items()
        if status.startswith("2")
    ]
    return list(_reachable(service, bodies))


def test_responses_of_the_service_are_complete(service: Document) -> None:
    """A client may count on every field being there, null where there is nothing to say."""
    objects = [part for part in _received(service) if "properties" in part.node]
    assert len(objects) > 20
    optional = {
        part.pointer[-1]: part.node["properties"].keys() - part.node.get("required", ())
        for part in objects
    }
    assert {name: names for name, names in optional.items() if names and name not in VARYING} == {}


def test_responses_of_the_service_leave_room_for_new_fields(service: Document) -> None:
    assert [
        fragment(part.pointer)
        for part in _received(service)
        if part.node.get("additionalProperties") is False
    ] == []


def _reachable(document: Document, roots: list[Part]) -> Iterator[Part]:
    """Yield every schema met on the way from some schemas, references followed, each once."""
    visited, waiting = set(), list(roots)
    while waiting:
        part = resolved(document, waiting.pop())
        if part.pointer not in visited:
            visited.add(part.pointer)
            waiting += subschemas(part)
            yield part


# -- the judge of every response judges: each part of a response, and webhooks


WRONG: tuple[dict[str, Any], ...] = (
    *(
        {"created_at": ...},
        {"note": "?"},
        {"livemode": "no"},
        {"metadata": None},
        {"object": "client"},
    ),
    {"created_at": "2026-01-01 00:00"},
)
"""Fields missing (``...``), undeclared, mistyped, null, outside an enum, or without a zone."""


def test_what_the_document_does_not_allow_is_found(
    sandbox: Sandbox, service_contract: Contract
) -> None:
    response = sandbox.api.request(
        "POST", "/customers/", json={"email": "awa@example.com", "name": "Awa Diop"}
    )

    def faults(status: int = 201, content: Any = None, **headers: str) -> str:
        body = json.dumps(content).encode() if content else response.content
        return str(
            service_contract.faults(
                "POST", "/v1/customers/", status, {**response.headers, **headers}, body
            )
        )

    assert faults() == "[]"
    for fields in WRONG:
        body = {
            name: value for name, value in {**response.json(), **fields}.items() if value is not ...
        }
        assert next(iter(fields)) in faults(content=body)
    assert "does not document status 202" in faults(202)
    assert "no Request-Id header" in faults(**{"request-id": ""})
    assert "content type 'text/plain'" in faults(**{"content-type": "text/plain"})
    [event] = sandbox.events()
    assert service_contract.event_faults(json.dumps(event).encode()) == []
    assert "note" in str(service_contract.event_faults(json.dumps({**event, "note": "?"}).encode()))
