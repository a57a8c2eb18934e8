"""What the worlds of a run leave behind for a report: their audits, and what of the service was used in them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from emulator.control.audit.audit import audit_of
from emulator.control.coverage import GROUPS, Points, summary
from emulator.engine.engine import Engine
from emulator.engine.journal import Coverage
from emulator.engine.runtime import Runtime


class ExamRecorder:
    """Looks at each world before it ends: a test suite may have one for each test."""

    def __init__(self) -> None:
        self.audits: list[dict[str, Any]] = []
        self._requests = self._passed_over = 0
        self._used: dict[str, set[str]] = {name: set() for name in GROUPS}

    def attach(self, engine: Engine) -> None:
        """Look at each world of this engine that is reset or deleted."""
        engine.before_end.append(self.look)

    def collect(self, engine: Engine) -> None:
        """Look at the worlds that are left when the engine has stopped."""
        for runtime in engine.runtimes.values():
            self.look(runtime)

    def look(self, runtime: Runtime) -> None:
        """Note what a world has seen."""
        audit = audit_of(runtime)
        if audit["request_count"]:
            self.audits.append(audit)
        coverage = runtime.journal.flush_coverage()
        self._requests += sum(number for (operation, _), number in coverage.answers.items() if operation)
        self._passed_over += coverage.skipped
        for name, points in GROUPS.items():
            self._used[name] |= points(coverage).exercised

    @property
    def reached(self) -> set[str]:
        """The states that objects entered, such as ``invoice paid``."""
        return self._used["states"]

    def usage(self, names: Iterable[str]) -> dict[str, Any]:
        """What was used in any of the worlds, and what was not, by group of the coverage report."""
        documented = {name: GROUPS[name](Coverage()).documented for name in names}
        groups = {name: summary(Points(points, self._used[name])) for name, points in documented.items()}
        return {"request_count": self._requests, "passed_over": self._passed_over, "groups": groups}
