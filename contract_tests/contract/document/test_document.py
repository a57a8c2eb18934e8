"""The documents as a whole: valid, with the operations of the specification, and with every answer that they may give."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import yaml
from openapi_spec_validator import OpenAPIV30SpecValidator, OpenAPIV31SpecValidator

from contract_tests.contract.document import specification
from contract_tests.contract.document.reader import (
    Document,
    Operation,
    Part,
    operations,
    parameters,
    resolved,
    responses,
)
from emulator.core.event_types import EVENTS
from emulator.document.bundle import COMPONENT_FOLDERS
from emulator.document.event_schemas import object_kinds
from emulator.document.paths import openapi_folder

ANY_ERROR = {"application/json": {"$ref": "#/components/schemas/AnyError"}}
EVERYWHERE = {"401", "403", "422", "429", "500"}


def test_it_is_openapi_3_0_and_its_twin_3_1(document: Document, twin: Document) -> None:
    assert (document["openapi"], twin["openapi"]) == ("3.0.3", "3.1.0")
    assert [error.message for error in OpenAPIV30SpecValidator(document).iter_errors()] == []
    assert [error.message for error in OpenAPIV31SpecValidator(twin).iter_errors()] == []


def test_every_part_is_used(documents: dict[str, Document]) -> None:
    """A part that no document reaches goes stale unseen."""
    used = {(kind, name) for each in documents.values() for kind, of in each["components"].items() for name in of}
    parts = set(_written_components())
    assert len(parts) > 150
    assert parts - used == set()


def _written_components() -> Iterator[tuple[str, str]]:
    for path in openapi_folder().rglob("*.yaml"):
        if path.parent.name in COMPONENT_FOLDERS:
            yield path.parent.name, path.stem
        else:
            for kind, named in (yaml.safe_load(path.read_text("utf-8")).get("components") or {}).items():
                yield from ((kind, name) for name in named)


def test_the_service_has_what_the_specification_names_and_marks_what_it_adds(service: Document) -> None:
    documented, added = specification.table(specification.DOCUMENTED), specification.table(specification.ADDED)
    assert (len(documented), len(added), len(specification.EVENT_TYPES)) == (75, 12, 14)
    assert Counter(documented + added) <= Counter((each.method, each.path) for each in operations(service))
    assert {(each.method, each.path) for each in operations(service) if not is_marked(each)} <= set(documented)
    events = {each.path: is_marked(each) for each in operations(service, "x-webhooks")}
    assert {type for type, marked in events.items() if not marked} <= specification.EVENT_TYPES <= events.keys()


def is_marked(operation: Operation) -> bool:
    return "x-assumption" in operation.node


def test_every_operation_has_an_id_one_declared_tag_a_summary_and_a_description(document: Document) -> None:
    every = list(operations(document))
    of_events = list(operations(document, "x-webhooks"))
    for each in every:
        assert re.fullmatch(r"[a-z]+([A-Z][a-z0-9]+)*", each.node["operationId"])
        assert len(each.node["tags"]) == 1, each.name
        assert 0 < len(each.node["summary"]) <= 60, each.name
        assert each.node["description"], each.name
    assert {each.node["tags"][0] for each in (*every, *of_events)} == {tag["name"] for tag in document["tags"]}
    assert {tag for each in of_events for tag in each.node["tags"]} <= {"Events"}, "generators make one file of a tag"


def test_security_schemes_in_use_are_declared(document: Document, service: Document) -> None:
    asked = [document.get("security", []), *(each.node.get("security", []) for each in operations(document))]
    names = {name for requirements in asked for requirement in requirements for name in requirement}
    assert names == set(document["components"].get("securitySchemes", {}))
    assert service["security"] == [{"secretKey": []}]
    assert [each.name for each in operations(service) if each.node.get("security") == []] == []


# -- answers


def test_every_operation_names_the_status_of_each_answer(document: Document) -> None:
    """With a ``default`` response every answer would be a documented one."""
    for operation in operations(document):
        statuses = [*operation.node["responses"]]
        assert all(re.fullmatch(r"[1-5]\d\d", status) for status in statuses), operation.name
        assert any(status.startswith("2") for status in statuses), operation.name


def test_the_service_documents_what_can_go_wrong(service: Document) -> None:
    """422 for parameters and bodies, 400 and 409 for what a POST sends, 404 for what a path names."""
    for each in operations(service):
        wanted = EVERYWHERE | ({"400", "409"} if each.method == "POST" else set())
        wanted |= ({"400"} if "requestBody" in each.node else set()) | ({"404"} if "{" in each.path else set())
        assert wanted - each.node["responses"].keys() == set(), each.name
        names = {parameter["name"] for parameter in parameters(service, each)}
        assert each.method != "POST" or "Idempotency-Key" in names, each.name


def test_answers_of_the_service_have_their_headers_and_errors_their_shape(service: Document) -> None:
    for operation in operations(service):
        for status, response in responses(service, operation):
            place = f"{operation.name} {status}"
            assert _header(service, response, "Request-Id").get("required"), place
            if status >= "400":
                content = response.node["content"]
                assert {media: each["schema"] for media, each in content.items()} == ANY_ERROR, place
            elif operation.method == "POST":
                assert _header(service, response, "Idempotent-Replayed"), place
            if status == "429":
                assert _header(service, response, "Retry-After").get("required"), place


def _header(document: Document, response: Part, name: str) -> dict[str, Any]:
    """Return a header of an answer, empty when it is not documented."""
    headers = response.node.get("headers", {})
    node: dict[str, Any] = resolved(document, Part((), headers.get(name, {}))).node
    return node


# -- What the documents say of events is made from the table of events: a row is all that an event needs


PROBES = ["webhook.ping", "webhook.test"]


def enumeration(document: Document, *path: str) -> Any:
    schemas = document["components"]["schemas"]
    return (schemas[path[0]]["properties"][path[1]] if path[1:] else schemas[path[0]])["enum"]


def test_the_enumerations_are_those_of_the_table(documents: dict[str, Document]) -> None:
    service, control = documents["service"], documents["control"]
    assert list(service["x-webhooks"]) == enumeration(service, "EventType") == [*EVENTS, *PROBES]
    assert enumeration(service, "EventSelector") == ["*", *EVENTS]
    assert enumeration(control, "TriggerInput", "event") == [*EVENTS]
    assert enumeration(control, "ObjectKind") == object_kinds(service)
