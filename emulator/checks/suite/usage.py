"""What a test suite used of the service, and what it never used: first what an application such as it needs."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from emulator.control.audit.audit import audit_of
from emulator.control.coverage import GROUPS, Points, needed, summary
from emulator.engine.engine import Engine
from emulator.engine.journal import Coverage
from emulator.engine.runtime import Runtime


class WorldRecorder:
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
        """Return the states that objects entered, such as ``invoice paid``."""
        return self._used["states"]

    def usage(self, names: Iterable[str]) -> dict[str, Any]:
        """Return what was used in any of the worlds, and what was not, by group of the coverage report.

        What is missing begins with the kinds of object that the tests have; ``needs`` are what they have to see of them.
        """
        documented = {name: GROUPS[name](Coverage()).documented for name in names}
        groups = {name: summary(Points(points, self._used[name])) for name, points in documented.items()}
        for group in groups.values():
            group["missing"].sort(key=self._is_foreign)
        needs = [f"{need.when} ({need.bad})" for need in needed(self.reached) if need.bad not in self.reached]
        return {"request_count": self._requests, "passed_over": self._passed_over, "needs": needs, "groups": groups}

    def _is_foreign(self, name: str) -> bool:
        """Return whether a name such as ``createRefund 400`` is of no kind of object that the tests have."""
        kinds = {_letters(state.split()[0]) for state in self.reached}
        return not any(kind in _letters(name) for kind in kinds)


def _letters(name: str) -> str:
    return re.sub("[^a-z]", "", name.lower())
