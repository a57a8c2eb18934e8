"""What a test suite did, read from each of its worlds before that ends."""

from __future__ import annotations

from typing import Any

from emulator.engine.engine import Engine
from emulator.engine.runtime import Runtime
from emulator.insight.audit.audit import audit_of
from emulator.insight.coverage import UsedPoints


class WorldRecorder:
    """Looks at each world before it ends: a test suite may have one for each test."""

    def __init__(self) -> None:
        self.audits: list[dict[str, Any]] = []
        self.used: UsedPoints = UsedPoints()

    def attach(self, engine: Engine) -> None:
        """Look at each world of this engine that is reset or deleted."""
        engine.before_end.append(self._look)

    def collect(self, engine: Engine) -> None:
        """Look at the worlds that are left when the engine has stopped."""
        for runtime in engine.runtimes.values():
            self._look(runtime)

    def _look(self, runtime: Runtime) -> None:
        audit = audit_of(runtime)
        if audit["request_count"]:
            self.audits.append(audit)
        self.used.add(runtime.journal.coverage)
