"""The suite: follows each link once, then runs schemathesis with all its checks and phases."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import schemathesis
from schemathesis import Case, HookContext, Response, hooks
from schemathesis.core.failures import Failure, FailureGroup
from schemathesis.engine import Status, events, from_schema
from schemathesis.generation.meta import TestPhase
from schemathesis.generation.modes import GenerationMode
from schemathesis.openapi.checks import RejectedPositiveData

from emulator.checks.document.exceptions import is_excused, rejected_by_state
from emulator.checks.document.format_strategies import register
from emulator.checks.document.links import (
    Link,
    Operation,
    filled_in,
    headers,
    links,
    operations,
    with_standard_keywords,
)
from emulator.checks.document.object_factory import (
    UNSENT_PARAMETERS,
    CannotCreate,
    ObjectFactory,
    Scene,
)
from emulator.checks.document.report import DocumentResults, FailedCheck
from emulator.document.tree import Document

LAST = ("security-profiles", "reset")
"""Checked last: a security profile restricts other requests, a reset deletes their objects."""

PHASES = ("examples", "coverage", "fuzzing", "stateful")
"""Requests from examples, systematic ones from schemas, random ones, and those along links."""

RESPONSE_SECONDS = 60
"""Seconds to wait for a response: some of the control API wait 30 s on request."""


@dataclass(frozen=True)
class Suite:
    """A check of one server against one document.

    ``examples`` is the number of random requests for each operation, and of random runs along the
    links. With ``objects``, valid requests refer to existing objects, and every link is followed
    once. ``adjust`` may change each request before it is sent.
    """

    document: Document
    base_url: str
    key: str
    examples: int = 10
    seed: int | None = None
    objects: ObjectFactory | None = None
    adjust: Callable[[Case[Any]], None] = lambda case: None
    phases: tuple[str, ...] = PHASES
    report: DocumentResults = field(default_factory=DocumentResults)

    def run(self, progress: Callable[[str], None] = lambda operation: None) -> DocumentResults:
        """Run the whole suite; ``progress`` is called with each operation or link."""
        started = time.monotonic()
        if self.objects:
            self.objects.learn(self.document)
            if "stateful" in self.phases:
                # First, because a generated security profile may forbid requests to links.
                self._follow_links(self.objects, progress)

        groups: dict[str, list[str]] = {name: [] for name in ("", *LAST)}
        for operation in operations(self.document).values():
            first = operation.path.split("/")[1]
            # A stream has no end.
            if "text/event-stream" not in operation.node["responses"].get("200", {}).get(
                "content", {}
            ):
                groups[first if first in LAST else ""].append(operation.id)

        # schemathesis has such hooks only for the whole process.
        @schemathesis.hook
        def before_call(context: HookContext, case: Case[Any], kwargs: dict[str, object]) -> None:
            self._prepare(case)

        try:
            for ids in filter(None, groups.values()):
                self._explore(ids, progress)
        finally:
            hooks.unregister(before_call)
        self.report.seconds = time.monotonic() - started
        return self.report

    # -- links

    def _follow_links(self, objects: ObjectFactory, progress: Callable[[str], None]) -> None:
        schema = self._schema(PHASES)
        for link in links(self.document):
            progress(link.name)
            try:
                self.report.links[link.name] = self._follow(link, schema, objects)
            except CannotCreate as error:
                self.report.links[link.name] = 0
                self.report.notes.append(f"{link.name}: {error}")
        if self.report.links and not self.report.followed:
            # For example a security profile of an earlier check, which forbids every request.
            why = next(iter(self.report.notes), "none led to a success")
            self.report.errors.append(
                f"no link could be followed, so next to nothing is checked: {why}"
            )

    def _follow(self, link: Link, schema: Any, objects: ObjectFactory) -> int:
        """Return the status of the linked operation after a successful response of the source."""
        scene: Scene = {}

        def call(
            operation: Operation, parameters: Mapping[str, object], fields: Mapping[str, object]
        ) -> Response:
            """Return the response to a request that can succeed; all checks run on it."""
            body = objects.body(operation.id, operation.path, operation.method, scene)
            case = schema[operation.path][operation.method].Case(
                path_parameters={
                    name: value
                    for name, value in parameters.items()
                    if f"{{{name}}}" in operation.path
                },
                query={
                    name: value
                    for name, value in parameters.items()
                    if f"{{{name}}}" not in operation.path
                },
                **(
                    {"body": body | fields, "media_type": "application/json"}
                    if "requestBody" in operation.node
                    else {}
                ),
            )
            response: Response = case.call(headers=headers(self.key), timeout=RESPONSE_SECONDS)
            self.report.count_of(case.operation.label).requests += 1
            try:
                case.validate_response(response, headers=headers(self.key))
            except FailureGroup as group:
                for failure in group.exceptions:
                    self._fail(
                        case, type(failure).__name__, failure, response, case.as_curl_command()
                    )
            return response

        source = link.source
        response = call(source, objects.parameters(source.id, source.path, scene), {})
        if response.status_code >= 300:
            outcome = f"{response.status_code}: {response.text[:300]}"
            raise CannotCreate(f"{source.method} {source.path} returned {outcome}")
        body = response.json()
        if source.method == "POST":
            objects.add(source.path, body, scene)
        parameters = filled_in(link.node.get("parameters", {}), body)
        # Our own document has the body under a name that generators accept.
        fields = filled_in(link.node.get("requestBody", link.node.get("x-request-body", {})), body)
        return int(call(link.target, parameters, fields).status_code)

    # -- requests generated from the document

    def _explore(self, ids: list[str], progress: Callable[[str], None]) -> None:
        is_linked = any(
            {link.source.id, link.target.id} <= set(ids) for link in links(self.document)
        )
        phases = tuple(phase for phase in self.phases if is_linked or phase != "stateful")
        schema = self._schema(phases).include(operation_id=ids)
        for event in from_schema(schema).execute():
            if isinstance(event, events.ScenarioStarted):
                progress(event.label or "links")
            if isinstance(event, events.NonFatalError):
                self.report.errors.append(f"{event.label}: {event.info.message}")
            if isinstance(event, events.ScenarioFinished):
                self._count(event)

    def _schema(self, phases: tuple[str, ...]) -> Any:
        register(self.document)
        config = schemathesis.Config.from_dict(self._config(phases))
        schema = schemathesis.openapi.from_dict(
            with_standard_keywords(self.document), config=config
        )

        def counts(
            context: HookContext, failure: Failure, case: Case[Any], response: Response
        ) -> bool:
            """Return whether a failure counts; count a state rule's rejection by its code."""
            if not is_excused(failure, response, case):
                return True
            if isinstance(failure, RejectedPositiveData) and (
                code := rejected_by_state(response, case)
            ):
                self.report.count_of(case.operation.label).rejected[code] += 1
            return False

        schema.hook("filter_failure")(counts)
        return schema

    def _config(self, phases: tuple[str, ...]) -> dict[str, object]:
        return {
            "base-url": self.base_url,
            "headers": headers(self.key),
            "request-timeout": RESPONSE_SECONDS,
            "continue-on-failure": True,
            # A valid request succeeds, or one of our exceptions says why not.
            "checks": {"positive_data_acceptance": {"expected-statuses": ["2xx"]}},
            **({} if self.seed is None else {"seed": self.seed}),
            "generation": {
                "max-examples": self.examples,
                "database": "none",
                # Every request has the valid key, so a generated invalid one would be counted but
                # never sent.
                "with-security-parameters": False,
            },
            "phases": {
                **{phase: {"enabled": phase in phases} for phase in PHASES},
                # No links besides those of the document.
                "stateful": {
                    "enabled": "stateful" in phases,
                    "inference": {"algorithms": []},
                    "link-calibration": False,
                },
            },
        }

    def _prepare(self, case: Case[Any]) -> None:
        """Replace a request's references by existing ids, except in parts invalid on purpose."""
        self.adjust(case)
        if not self.objects or not case.meta:
            return
        invalid = {
            location.name
            for location, part in case.meta.components.items()
            if part.mode is GenerationMode.NEGATIVE
        }
        if "Idempotency-Key" in (case.headers or {}) and "HEADER" not in invalid:
            # A repeated key with another body is an error of its own.
            case.headers["Idempotency-Key"] = self.objects.new()
        if case.meta.phase.name is TestPhase.STATEFUL:
            return
        id = case.operation.definition.raw["operationId"]
        scene = self.objects.scene(id, case.operation.method.upper())
        try:
            if case.path_parameters and "PATH" not in invalid:
                case.path_parameters.update(self.objects.parameters(id, case.operation.path, scene))
            if case.query and "QUERY" not in invalid:
                case.query.pop(UNSENT_PARAMETERS.get(id, ""), None)
            if isinstance(case.body, dict) and "BODY" not in invalid:
                case.body = self.objects.with_references(case.body, scene)
        except CannotCreate as error:
            self.report.notes.append(f"{case.operation.label}: {error}")

    def _count(self, event: events.ScenarioFinished) -> None:
        recorder = event.recorder
        for id, interaction in recorder.interactions.items():
            case = recorder.cases[id].value
            count = self.report.count_of(case.operation.label)
            count.requests += 1
            if case.meta and case.meta.generation.mode is GenerationMode.POSITIVE:
                count.valid += 1
                count.succeeded += (
                    interaction.response is not None and interaction.response.status_code < 300
                )
        for id, checks in recorder.checks.items():
            for check in checks:
                self.report.checks[check.name] += 1
                if check.status is Status.FAILURE:
                    info: Any = check.failure_info
                    response = recorder.interactions[id].response
                    self._fail(
                        recorder.cases[id].value,
                        check.name,
                        info.failure,
                        response,
                        info.code_sample,
                    )

    def _fail(
        self, case: Case[Any], check: str, failure: Failure, response: Response | None, curl: str
    ) -> None:
        status, text = (
            (None, "no response")
            if response is None
            else (response.status_code, response.text[:500])
        )
        failing = FailedCheck(check, f"{failure.title}: {failure.message}", status, text, curl)
        self.report.count_of(case.operation.label).failures.setdefault(
            (check, failing.message), failing
        )
