"""The walk: every link of the document followed once, from an answer that succeeded to the object it leads to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from schemathesis.core.failures import Failure, FailureGroup

from emulator.conformance.document import Link, Operation, handed_on, links
from emulator.conformance.fixture_factory import CannotMake, FixtureFactory, Scene
from emulator.conformance.report import Failing, Report
from emulator.document.tree import Document

PATIENCE = 60
"""Seconds an answer may take: the control API holds some back for 30 when asked to."""


@dataclass(frozen=True)
class LinkWalker:
    """Follows the links of ``document`` on a stage, and reports where each led and which checks failed."""

    document: Document
    schema: Any
    key: str
    stage: FixtureFactory
    report: Report

    def run(self, tell: Callable[[str], None]) -> None:
        """Follow every link."""
        for link in links(self.document):
            tell(link.name)
            try:
                self.report.links[link.name] = self._followed(link)
            except CannotMake as fault:
                self.report.links[link.name] = 0
                self.report.notes.append(f"{link.name}: {fault}")

    def _followed(self, link: Link) -> int:
        """The status to which a link leads from an answer that succeeded."""
        scene: Scene = {}
        path = self.stage.parameters(link.source.id, link.source.path, scene)
        made = self._asked(link.source, scene, path, {})
        if made.status_code >= 300:
            raise CannotMake(f"{link.source.method} {link.source.path} answered {made.status_code}: {made.text[:300]}")
        answer = made.json()
        if link.source.method == "POST":
            self.stage.enter(link.source.path, answer, scene)
        given = handed_on(link.node.get("parameters", {}), answer)
        fields = handed_on(link.node.get("requestBody", {}), answer)
        return int(self._asked(link.target, scene, given, fields).status_code)

    def _asked(self, operation: Operation, scene: Scene, given: Mapping[str, Any], fields: Mapping[str, Any]) -> Any:
        """The answer to a request that can succeed, put to all checks."""
        body = self.stage.body(operation.id, operation.path, operation.method, scene)
        case = self.schema[operation.path][operation.method].Case(
            path_parameters={name: value for name, value in given.items() if f"{{{name}}}" in operation.path},
            query={name: value for name, value in given.items() if f"{{{name}}}" not in operation.path},
            **({"body": body | fields, "media_type": "application/json"} if "requestBody" in operation.node else {}),
        )
        return self._judged(case)

    def _judged(self, case: Any) -> Any:
        answer = case.call(headers=headers(self.key), timeout=PATIENCE)
        self.report.tally(case.operation.label).requests += 1
        try:
            case.validate_response(answer, headers=headers(self.key))
        except FailureGroup as group:
            for failure in group.exceptions:
                told = failing(type(failure).__name__, failure, answer, case.as_curl_command())
                self.report.note(case.operation.label, told)
        return answer


def headers(key: str) -> dict[str, str]:
    """What every request carries."""
    return {"Authorization": f"Bearer {key}"}


def failing(check: str, failure: Failure, answer: Any, curl: str) -> Failing:
    """A failure as the report has it."""
    status, text = (answer.status_code, answer.text[:500]) if answer is not None else (None, "no answer")
    return Failing(check, f"{failure.title}: {failure.message}", status, text, curl)
