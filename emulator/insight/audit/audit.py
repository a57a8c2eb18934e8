"""The audit: how well the client follows the service's guidance, finding by finding.

A rule has a severity, advice and a section of the specification; ``violations`` finds those that break it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, Literal, NamedTuple

from emulator.document.paths import fixture
from emulator.engine.runtime import Runtime
from emulator.insight.audit.client_history import ClientHistory
from emulator.insight.audit.violations import FINDERS

MAX_IDS = 20
"""The most requests, and the most objects, that a finding names."""


class Rule(NamedTuple):
    name: str
    severity: Literal["error", "warning", "info"]
    title: str
    advice: str
    section: str

    def shown(self, *fields: str) -> dict[str, str]:
        return {"rule": self.name, **{field: getattr(self, field) for field in fields}}


@cache
def rules() -> Sequence[Rule]:
    return [Rule(name, **said) for name, said in fixture("audit-rules").items()]


def audit_of(runtime: Runtime) -> dict[str, Any]:
    """Return the rules that the client broke, with the newest requests and objects first, kept, and did not exercise."""
    history = ClientHistory(runtime)
    lists: dict[str, list[Any]] = {"findings": [], "kept": [], "untried": []}
    for rule in rules():
        finder = FINDERS[rule.name]
        if ids := [*dict.fromkeys(each.id for each in finder.violations(history))][::-1]:
            lists["findings"].append(
                {
                    **rule.shown("severity", "title", "advice", "section"),
                    "count": len(ids),
                    "requests": [id for id in ids if id.startswith("req_")][:MAX_IDS],
                    "object_ids": [id for id in ids if not id.startswith("req_")][:MAX_IDS],
                }
            )
        else:
            part = "kept" if any(True for _ in finder.occasions(history)) else "untried"
            lists[part].append(rule.shown("severity", "advice", "section"))
    return {"request_count": len(history.requests), **lists}
