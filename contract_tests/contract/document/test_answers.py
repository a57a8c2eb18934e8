"""Every answer of an operation is documented: its status, its headers, its shape, and where its ids lead."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from contract_tests.contract.document import specification
from contract_tests.contract.document.reader import (
    Document,
    Operation,
    Part,
    operations,
    parameters,
    properties,
    request_schema,
    resolved,
    responses,
)

OPERATIONS = len(specification.table(specification.DOCUMENTED) + specification.table(specification.ADDED))
"""The operations that the service has at least."""

ANY_ERROR = {"$ref": "#/components/schemas/AnyError"}
EVERYWHERE = {"401", "403", "429", "500"}


class Answer(NamedTuple):
    """One documented answer of one operation."""

    operation: Operation
    status: str
    response: Part

    @property
    def name(self) -> str:
        return f"{self.operation.name} {self.status}"

    @property
    def is_error(self) -> bool:
        return self.status >= "400"


def answers(document: Document) -> Iterator[Answer]:
    for operation in operations(document):
        for status, response in responses(document, operation):
            yield Answer(operation, status, response)


def header(document: Document, answer: Answer, name: str) -> dict[str, Any]:
    """Return a header of an answer, empty when it is not documented."""
    headers = answer.response.node.get("headers", {})
    place = Part((*answer.response.pointer, "headers", name), headers.get(name, {}))
    node: dict[str, Any] = resolved(document, place).node
    return node


def test_every_status_is_named(document: Document) -> None:
    """With a ``default`` response every answer would be a documented one."""
    every = list(answers(document))
    assert every
    assert [each.name for each in every if not re.fullmatch(r"[1-5]\d\d", each.status)] == []


def test_every_operation_documents_one_kind_of_success(document: Document) -> None:
    for operation in operations(document):
        successes = [status for status, _ in responses(document, operation) if status.startswith("2")]
        assert successes, f"{operation.name} never succeeds"


def test_the_service_documents_what_can_go_wrong_anywhere(service: Document) -> None:
    missing = {each.name: EVERYWHERE - set(each.node["responses"]) for each in operations(service)}
    assert len(missing) >= OPERATIONS
    assert {name: statuses for name, statuses in missing.items() if statuses} == {}


def test_every_error_of_the_service_has_the_shape_of_errors(service: Document) -> None:
    errors = [each for each in answers(service) if each.is_error]
    assert len(errors) > OPERATIONS * len(EVERYWHERE)
    contents = {each.name: each.response.node.get("content", {}) for each in errors}
    assert [name for name, content in contents.items() if list(content) != ["application/json"]] == []
    assert [name for name, content in contents.items() if content["application/json"]["schema"] != ANY_ERROR] == []


def test_every_answer_of_the_service_has_a_request_id(service: Document) -> None:
    every = list(answers(service))
    assert len(every) > OPERATIONS * len(EVERYWHERE)
    assert [each.name for each in every if not header(service, each, "Request-Id").get("required")] == []


def test_every_429_says_how_long_to_wait(service: Document) -> None:
    limits = [each for each in answers(service) if each.status == "429"]
    assert limits
    assert [each.name for each in limits if not header(service, each, "Retry-After").get("required")] == []


def test_every_created_answer_of_the_service_may_be_a_replay(service: Document) -> None:
    made = [each for each in answers(service) if each.operation.method == "POST" and not each.is_error]
    assert made
    assert [each.name for each in made if not header(service, each, "Idempotent-Replayed")] == []


def test_bodies_and_ids_can_be_rejected(service: Document) -> None:
    """422 for parameters and bodies, 400 and 409 for what a POST sends, 404 for what a path names."""
    wanted = {each.name: _error_statuses(each) - set(each.node["responses"]) for each in operations(service)}
    assert wanted
    assert {name: statuses for name, statuses in wanted.items() if statuses} == {}


def _error_statuses(operation: Operation) -> set[str]:
    wanted = {"422"}
    if operation.method == "POST":
        wanted |= {"400", "409"}
    if "requestBody" in operation.node:
        wanted |= {"400"}
    return wanted | {"404"} if "{" in operation.path else wanted


# Links


class Link(NamedTuple):
    """One link of one answer."""

    answer: Answer
    name: str
    node: dict[str, Any]

    @property
    def place(self) -> str:
        return f"{self.answer.name} {self.name}"

    @property
    def values(self) -> list[Any]:
        """All that it hands on."""
        body = self.node.get("requestBody", {})
        return [*self.node.get("parameters", {}).values(), *(body.values() if isinstance(body, dict) else [body])]


def links(document: Document) -> Iterator[Link]:
    for answer in answers(document):
        for name, link in answer.response.node.get("links", {}).items():
            place = Part((*answer.response.pointer, "links", name), link)
            yield Link(answer, name, resolved(document, place).node)


def by_id(document: Document) -> dict[str, Operation]:
    return {each.node["operationId"]: each for each in operations(document)}


def test_every_link_leads_to_an_operation(document: Document) -> None:
    known = by_id(document)
    assert [each.place for each in links(document) if each.node.get("operationId") not in known] == []


def test_the_service_has_links_from_every_creation(service: Document) -> None:
    linked = {each.answer.name for each in links(service)}
    created = {each.name for each in answers(service) if each.status == "201"}
    assert created
    assert created - linked == set()


def test_links_hand_on_parameters_that_exist(document: Document) -> None:
    known = by_id(document)
    for link in links(document):
        target = known[link.node["operationId"]]
        names = {
            name for each in parameters(document, target) for name in (each["name"], f"{each['in']}.{each['name']}")
        }
        assert set(link.node.get("parameters", {})) - names == set(), link.place


def test_links_fill_the_whole_path(service: Document) -> None:
    known = by_id(service)
    for link in links(service):
        wanted = set(re.findall(r"{(\w+)}", known[link.node["operationId"]].path))
        given = {name.removeprefix("path.") for name in link.node.get("parameters", {})}
        assert wanted - given == set(), link.place


def test_links_fill_fields_that_exist(document: Document) -> None:
    known = by_id(document)
    for link in links(document):
        if "requestBody" in link.node:
            schema = request_schema(document, known[link.node["operationId"]])
            assert schema is not None, f"{link.place}: that operation takes no body"
            assert set(link.node["requestBody"]) - set(properties(document, schema)) == set(), link.place


def test_links_take_what_the_answer_has(document: Document) -> None:
    for link in links(document):
        for value in link.values:
            assert not str(value).startswith("$") or _can_be_had(document, link.answer, value), f"{link.place}: {value}"


def _can_be_had(document: Document, answer: Answer, expression: str) -> bool:
    """Return whether a runtime expression finds something in the request or in this answer."""
    source, _, path = expression.partition("#/")
    if source == "$response.body":
        content = answer.response.node["content"]["application/json"]["schema"]
        place = (*answer.response.pointer, "content", "application/json", "schema")
        return _has(document, Part(place, content), path.split("/"))
    if source == "$request.body":
        schema = request_schema(document, answer.operation)
        return schema is not None and _has(document, schema, path.split("/"))
    place_name = re.fullmatch(r"\$request\.(path|query|header)\.(.+)", source)
    return place_name is not None and any(
        (each["in"], each["name"]) == place_name.groups() for each in parameters(document, answer.operation)
    )


def _has(document: Document, schema: Part, path: list[str]) -> bool:
    if not path:
        return True
    schema = resolved(document, schema)
    step, *rest = path
    if step.isdigit() and "items" in schema.node:
        return _has(document, Part((*schema.pointer, "items"), schema.node["items"]), rest)
    found = properties(document, schema)
    return step in found and _has(document, found[step], rest)
