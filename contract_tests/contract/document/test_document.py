"""The whole documents: valid, with the specification's operations and all their responses."""

from __future__ import annotations

from collections import Counter
from typing import Any

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
from emulator.document.event_schemas import object_kinds

ANY_ERROR = {"application/json": {"$ref": "#/components/schemas/AnyError"}}
EVERYWHERE = {"401", "403", "422", "429", "500"}


def test_the_service_has_what_the_specification_names(service: Document) -> None:
    documented, added = (
        specification.table(specification.DOCUMENTED),
        specification.table(specification.ADDED),
    )
    assert (len(documented), len(added), len(specification.EVENT_TYPES)) == (75, 12, 14)
    assert Counter(documented + added) <= Counter(
        (operation.method, operation.path) for operation in operations(service)
    )
    events = {event.path for event in operations(service, "x-webhooks")}
    assert events >= specification.EVENT_TYPES


def test_the_service_marks_what_it_adds_to_the_specification(service: Document) -> None:
    assert {
        (operation.method, operation.path)
        for operation in operations(service)
        if not is_marked(operation)
    } <= set(specification.table(specification.DOCUMENTED))
    assert {
        event.path for event in operations(service, "x-webhooks") if not is_marked(event)
    } <= specification.EVENT_TYPES


def is_marked(operation: Operation) -> bool:
    return "x-assumption" in operation.node


# -- responses


def test_the_service_documents_what_can_go_wrong(service: Document) -> None:
    """422 for parameters and bodies, 400 and 409 for a POST's content, 404 for a path's object."""
    for operation in operations(service):
        wanted = EVERYWHERE | ({"400", "409"} if operation.method == "POST" else set())
        wanted |= ({"400"} if "requestBody" in operation.node else set()) | (
            {"404"} if "{" in operation.path else set()
        )
        assert wanted - operation.node["responses"].keys() == set(), operation.name
        names = {parameter["name"] for parameter in parameters(service, operation)}
        assert operation.method != "POST" or "Idempotency-Key" in names, operation.name


def test_responses_of_the_service_have_their_headers(service: Document) -> None:
    for operation in operations(service):
        for status, response in responses(service, operation):
            place = f"{operation.name} {status}"
            assert _header(service, response, "Request-Id").get("required"), place
            if status < "400" and operation.method == "POST":
                assert _header(service, response, "Idempotent-Replayed"), place
            if status == "429":
                assert _header(service, response, "Retry-After").get("required"), place


def test_errors_of_the_service_have_one_shape(service: Document) -> None:
    for operation in operations(service):
        for status, response in responses(service, operation):
            if status >= "400":
                assert {
                    media: content["schema"] for media, content in response.node["content"].items()
                } == ANY_ERROR, f"{operation.name} {status}"


def _header(document: Document, response: Part, name: str) -> dict[str, Any]:
    """Return a header of a response, empty when it is not documented."""
    headers = response.node.get("headers", {})
    node: dict[str, Any] = resolved(document, Part((), headers.get(name, {}))).node
    return node


# -- The documents describe events from the table of events: an event needs only a row


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
