"""The operations of an OpenAPI document, and the links between them, each followed once.

A link leads from a successful response to another operation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from schemathesis.core.failures import Failure, FailureGroup

from emulator.checks.document.format_strategies import VALID
from emulator.checks.document.object_factory import CannotCreate, ObjectFactory, Scene
from emulator.checks.document.report import DocumentResults, Failing
from emulator.document import tree
from emulator.document.tree import CONDITIONS, Document, at, forbid, map_texts, pointer_of, resolve

# -- operations and links


class Operation(NamedTuple):
    """One operation; ``node`` is its OpenAPI object."""

    id: str
    method: str
    path: str
    node: dict[str, Any]

    @property
    def is_endless(self) -> bool:
        return "text/event-stream" in self.node["responses"].get("200", {}).get("content", {})


class Link(NamedTuple):
    """One link: the values that a response of ``source`` passes to ``target``."""

    name: str
    source: Operation
    target: Operation
    node: dict[str, Any]


def operations(document: Document) -> dict[str, Operation]:
    every = (
        Operation(node["operationId"], method.upper(), path, node) for path, method, node in tree.operations(document)
    )
    return {operation.id: operation for operation in every}


def is_usable(document: Any) -> bool:
    """Return whether it is an OpenAPI 3.0 document with an operationId for each operation."""
    if not isinstance(document, dict) or not str(document.get("openapi")).startswith("3.0."):
        return False
    every = [node for _, _, node in tree.operations({"paths": {}, **document})]
    return bool(every) and all("operationId" in node for node in every)


def links(document: Document) -> Iterator[Link]:
    known = operations(document)
    for source in known.values():
        for status, answer in source.node["responses"].items():
            for name, link in resolve(document, answer).get("links", {}).items():
                node = resolve(document, link)
                yield Link(f"{source.id} {status} {name}", source, known[node["operationId"]], node)


def filled_in(value: Any, answer: Any) -> Any:
    """Return a link's value with its runtime expressions evaluated on the JSON of a response."""
    own = "$response.body#/"
    return map_texts(value, lambda text: at(answer, pointer_of(text)) if text.startswith(own) else text)


def with_standard_keywords(node: Any) -> Any:
    """Return the document with ``x-key-minLength`` and ``x-conditions`` as JSON Schema has them.

    A format that has texts of its own has no ``pattern``: schemathesis would make texts of the pattern alone, such as a
    country ``AA``, or a security profile's address that locks every later request out.
    """
    if isinstance(node, list):
        return [with_standard_keywords(part) for part in node]
    if not isinstance(node, dict):
        return node
    schema = {name: with_standard_keywords(part) for name, part in node.items()}
    if any(schema.get("format") == name for name in VALID):
        schema.pop("pattern", None)
    if "x-key-minLength" in schema:
        values = schema["additionalProperties"]
        schema["patternProperties"] = {f"^[\\s\\S]{{{schema['x-key-minLength']},}}$": values}
        schema["additionalProperties"] = False
    return forbid(schema) if CONDITIONS in schema else schema


# -- following them


PATIENCE = 60
"""Seconds to wait for a response: some of the control API wait 30 s on request."""


@dataclass(frozen=True)
class LinkWalker:
    """Follows the links of ``document`` with ``objects``; reports statuses and failed checks."""

    document: Document
    schema: Any
    key: str
    objects: ObjectFactory
    report: DocumentResults

    def run(self, progress: Callable[[str], None]) -> None:
        for link in links(self.document):
            progress(link.name)
            try:
                self.report.links[link.name] = self._follow(link)
            except CannotCreate as error:
                self.report.links[link.name] = 0
                self.report.notes.append(f"{link.name}: {error}")

    def _follow(self, link: Link) -> int:
        """Return the status of the linked operation after a successful response of the source."""
        scene: Scene = {}
        path = self.objects.parameters(link.source.id, link.source.path, scene)
        source = self._call(link.source, scene, path, {})
        if source.status_code >= 300:
            raise CannotCreate(
                f"{link.source.method} {link.source.path} answered {source.status_code}: {source.text[:300]}"
            )
        answer = source.json()
        if link.source.method == "POST":
            self.objects.add(link.source.path, answer, scene)
        given = filled_in(link.node.get("parameters", {}), answer)
        # Our own document has the body under a name that generators accept.
        fields = filled_in(link.node.get("requestBody", link.node.get("x-request-body", {})), answer)
        return int(self._call(link.target, scene, given, fields).status_code)

    def _call(self, operation: Operation, scene: Scene, given: Mapping[str, Any], fields: Mapping[str, Any]) -> Any:
        """Return the response to a request that can succeed; all checks run on it."""
        body = self.objects.body(operation.id, operation.path, operation.method, scene)
        case = self.schema[operation.path][operation.method].Case(
            path_parameters={name: value for name, value in given.items() if f"{{{name}}}" in operation.path},
            query={name: value for name, value in given.items() if f"{{{name}}}" not in operation.path},
            **({"body": body | fields, "media_type": "application/json"} if "requestBody" in operation.node else {}),
        )
        return self._checked(case)

    def _checked(self, case: Any) -> Any:
        answer = case.call(headers=headers(self.key), timeout=PATIENCE)
        self.report.count_of(case.operation.label).requests += 1
        try:
            case.validate_response(answer, headers=headers(self.key))
        except FailureGroup as group:
            for failure in group.exceptions:
                entry = failing(type(failure).__name__, failure, answer, case.as_curl_command())
                self.report.note(case.operation.label, entry)
        return answer


def headers(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def failing(check: str, failure: Failure, answer: Any, curl: str) -> Failing:
    status, text = (answer.status_code, answer.text[:500]) if answer is not None else (None, "no answer")
    return Failing(check, f"{failure.title}: {failure.message}", status, text, curl)
