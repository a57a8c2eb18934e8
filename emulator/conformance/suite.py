"""The suite: schemathesis with every check and every phase on, over a document and a server anywhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import schemathesis
from schemathesis import hooks
from schemathesis.engine import Status, events, from_schema
from schemathesis.generation.meta import TestPhase
from schemathesis.generation.modes import GenerationMode

from emulator.conformance.document import links, operations, with_key_patterns
from emulator.conformance.exceptions import is_excused
from emulator.conformance.fixture_factory import CannotMake, FixtureFactory
from emulator.conformance.fixtures import LEFT_OUT
from emulator.conformance.formats import register
from emulator.conformance.link_walker import PATIENCE, LinkWalker, failing, headers
from emulator.conformance.report import Report
from emulator.document.tree import Document

LAST = ("security-profiles", "reset")
"""The paths that go last: a profile changes what all others may do, a reset wipes out what they work with."""


PHASES = ("examples", "coverage", "fuzzing", "stateful")
"""Requests of the document's examples, point by point through the schemas, at random, and along the links."""


@dataclass(frozen=True)
class Suite:
    """An examination of one server by one document.

    ``examples`` are the requests made up for each operation, beside those that cover its schema point by point, and the
    runs through the links. With a ``stage`` the valid requests lead to objects that are there, and every link is
    followed once. ``tame`` may change a request before it goes out.
    """

    document: Document
    base_url: str
    key: str
    examples: int = 10
    seed: int | None = None
    stage: FixtureFactory | None = None
    tame: Callable[[Any], None] = lambda case: None
    phases: tuple[str, ...] = PHASES
    report: Report = field(default_factory=Report)

    def run(self, tell: Callable[[str], None] = lambda operation: None) -> Report:
        """Run all of it; ``tell`` hears what is being examined."""
        begun = time.monotonic()
        if self.stage:
            self.stage.learn(self.document)
        if self.stage and "stateful" in self.phases:
            # Before all else: a security profile that is made up at random may refuse what the walk needs.
            LinkWalker(self.document, self._schema(PHASES), self.key, self.stage, self.report).run(tell)
        with self._prepared():
            for ids in self._acts():
                self._explore(ids, tell)
        self.report.seconds = time.monotonic() - begun
        return self.report

    # Requests made up from the document

    def _acts(self) -> list[list[str]]:
        """The ids of the operations that come to an end, in groups that do not disturb each other."""
        acts: dict[str, list[str]] = {name: [] for name in ("", *LAST)}
        for operation in operations(self.document).values():
            if operation.is_endless:
                continue
            first = operation.path.split("/")[1]
            acts[first if first in LAST else ""].append(operation.id)
        return [ids for ids in acts.values() if ids]

    @contextmanager
    def _prepared(self) -> Iterator[None]:
        """While this lasts, each request is prepared; schemathesis knows such hooks for a whole process only."""

        @schemathesis.hook
        def before_call(context: Any, case: Any, kwargs: dict[str, Any]) -> None:
            self._prepare(case)

        try:
            yield
        finally:
            hooks.unregister(before_call)

    def _explore(self, ids: list[str], tell: Callable[[str], None]) -> None:
        schema = self._schema(self._phases_for(ids)).include(operation_id=ids)
        for event in from_schema(schema).execute():
            if isinstance(event, events.ScenarioStarted):
                tell(event.label or "links")
            if isinstance(event, events.NonFatalError):
                self.report.problems.append(f"{event.label}: {event.info.message}")
            if isinstance(event, events.ScenarioFinished):
                self._count(event)

    def _phases_for(self, ids: list[str]) -> tuple[str, ...]:
        is_linked = any({link.source.id, link.target.id} <= set(ids) for link in links(self.document))
        return tuple(phase for phase in self.phases if is_linked or phase != "stateful")

    def _schema(self, phases: tuple[str, ...]) -> Any:
        register()
        config = schemathesis.Config.from_dict(self._config(phases))
        schema = schemathesis.openapi.from_dict(with_key_patterns(self.document), config=config)
        schema.hook("filter_failure")(lambda context, failure, case, response: not is_excused(failure, response, case))
        return schema

    def _config(self, phases: tuple[str, ...]) -> dict[str, Any]:
        return {
            "base-url": self.base_url,
            "headers": headers(self.key),
            "request-timeout": PATIENCE,
            "continue-on-failure": True,
            **({} if self.seed is None else {"seed": self.seed}),
            "generation": {
                "max-examples": self.examples,
                "database": "none",
                # A good key goes with each request, so a bad one that was made up would count as sent and never be.
                "with-security-parameters": False,
            },
            "phases": {
                **{phase: {"enabled": phase in phases} for phase in PHASES},
                # Links are those of the document, no guesses.
                "stateful": {
                    "enabled": "stateful" in phases,
                    "inference": {"algorithms": []},
                    "link-calibration": False,
                },
            },
        }

    def _prepare(self, case: Any) -> None:
        """Lead a request to objects that are there, where it is not meant to be wrong itself."""
        self.tame(case)
        if not self.stage or not case.meta:
            return
        wrong = {place.name for place, part in case.meta.components.items() if part.mode is GenerationMode.NEGATIVE}
        if "Idempotency-Key" in (case.headers or {}) and "HEADER" not in wrong:
            case.headers["Idempotency-Key"] = self.stage.new()  # one key for many bodies would only meet its own rule
        if case.meta.phase.name is not TestPhase.STATEFUL:
            try:
                self._lead(case, self.stage, wrong)
            except CannotMake as fault:
                self.report.notes.append(f"{case.operation.label}: {fault}")

    def _lead(self, case: Any, stage: FixtureFactory, wrong: set[str]) -> None:
        id = case.operation.definition.raw["operationId"]
        scene = stage.scene(id, case.operation.method.upper())
        if case.path_parameters and "PATH" not in wrong:
            case.path_parameters.update(stage.parameters(id, case.operation.path, scene))
        if case.query and "QUERY" not in wrong:
            case.query.pop(LEFT_OUT.get(id), None)
        if isinstance(case.body, dict) and "BODY" not in wrong:
            case.body = stage.with_references(case.body, scene)

    def _count(self, event: events.ScenarioFinished) -> None:
        recorder = event.recorder
        for id, interaction in recorder.interactions.items():
            case = recorder.cases[id].value
            tally = self.report.tally(case.operation.label)
            tally.requests += 1
            if _is_valid(case):
                tally.valid += 1
                tally.succeeded += interaction.response is not None and interaction.response.status_code < 300
        for id, checks in recorder.checks.items():
            for check in checks:
                self.report.checks[check.name] += 1
                if check.status is Status.FAILURE:
                    self._fail(recorder, id, check)

    def _fail(self, recorder: Any, id: str, check: Any) -> None:
        case, answer = recorder.cases[id].value, recorder.interactions[id].response
        info = check.failure_info
        self.report.note(case.operation.label, failing(check.name, info.failure, answer, info.code_sample))


def _is_valid(case: Any) -> bool:
    return bool(case.meta and case.meta.generation.mode is GenerationMode.POSITIVE)
