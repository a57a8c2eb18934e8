"""Follows every link of the document once, from a successful response to the operation it leads to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from schemathesis.core.failures import Failure, FailureGroup

from emulator.checks.document.object_factory import CannotCreate, ObjectFactory, Scene
from emulator.checks.document.operation_links import Link, Operation, filled_in, links
from emulator.checks.document.report import Failing, Report
from emulator.document.tree import Document

PATIENCE = 60
"""Seconds to wait for a response: some of the control API wait 30 s on request."""


@dataclass(frozen=True)
class LinkWalker:
    """Follows the links of ``document`` with ``objects``; reports statuses and failed checks."""

    document: Document
    schema: Any
    key: str
    objects: ObjectFactory
    report: Report

    def run(self, progress: Callable[[str], None]) -> None:
        """Follow every link."""
        for link in links(self.document):
            progress(link.name)
            try:
                self.report.links[link.name] = self._follow(link)
            except CannotCreate as error:
                self.report.links[link.name] = 0
                self.report.notes.append(f"{link.name}: {error}")

    def _follow(self, link: Link) -> int:
        """The status of the linked operation after a successful response of the source."""
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
        """The response to a request that can succeed; all checks run on it."""
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
    """The headers of every request."""
    return {"Authorization": f"Bearer {key}"}


def failing(check: str, failure: Failure, answer: Any, curl: str) -> Failing:
    """A failure as an entry of the report."""
    status, text = (answer.status_code, answer.text[:500]) if answer is not None else (None, "no answer")
    return Failing(check, f"{failure.title}: {failure.message}", status, text, curl)
