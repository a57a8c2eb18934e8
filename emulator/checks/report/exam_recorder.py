"""What the worlds of a run leave behind for the exam: their audits, and the states that were reached in them."""

from __future__ import annotations

from typing import Any

from emulator.control.audit.audit import audit_of
from emulator.control.coverage import states
from emulator.engine.engine import Engine
from emulator.engine.runtime import Runtime


class ExamRecorder:
    """Looks at each world before it ends: a test suite may have one for each test."""

    def __init__(self) -> None:
        self.audits: list[dict[str, Any]] = []
        self.reached: set[str] = set()

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
        self.reached |= states(runtime.journal.flush_coverage()).exercised
