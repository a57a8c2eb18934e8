"""The audit: how well the client follows the service's guidance, finding by finding."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from emulator.control.audit.client_history import ClientHistory
from emulator.control.audit.rules import RULES, Rule
from emulator.engine.engine import Engine
from emulator.engine.runtime import Runtime

MAX_IDS = 20
"""The most requests, and the most objects, that a finding names."""


async def show(engine: Engine, runtime: Runtime, query: Mapping[str, Any]) -> dict[str, Any]:
    """GET /audit: the rules that were broken, those that were followed, and those that no request was about."""
    await runtime.catch_up()
    return audit_of(runtime)


def audit_of(runtime: Runtime) -> dict[str, Any]:
    """The audit of a world as it is now."""
    history = ClientHistory(runtime)
    findings = [found for rule in RULES if (found := finding(rule, history))]
    broken = {found["rule"] for found in findings}
    others = [(rule, bool(rule.applies(history))) for rule in RULES if rule.name not in broken]
    return {
        "request_count": len(history.requests),
        "findings": findings,
        "kept": [brief(rule) for rule, applies in others if applies],
        "untried": [brief(rule) for rule, applies in others if not applies],
    }


def finding(rule: Rule, history: ClientHistory) -> dict[str, Any] | None:
    """The requests and objects that broke a rule, the newest first; None if there are none."""
    ids = [*dict.fromkeys(rule.violations(history))][::-1]
    if not ids:
        return None
    return {
        "rule": rule.name,
        "severity": rule.severity,
        "title": rule.title,
        "advice": rule.advice,
        "section": rule.section,
        "count": len(ids),
        "requests": [id for id in ids if id.startswith("req_")][:MAX_IDS],
        "object_ids": [id for id in ids if not id.startswith("req_")][:MAX_IDS],
    }


def brief(rule: Rule) -> dict[str, str]:
    """A rule that was not broken, as it is sent."""
    return {"rule": rule.name, "severity": rule.severity, "advice": rule.advice, "section": rule.section}


OPERATIONS = {"audit": show}
