"""The audit: how well the client follows the service's guidance, finding by finding."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from emulator.control.audit_rules.client_history import ClientHistory
from emulator.control.audit_rules.rules import RULES, Rule
from emulator.engine.engine import Engine
from emulator.engine.runtime import Runtime

MOST = 20
"""Requests, and objects, that a finding names."""


async def show(engine: Engine, runtime: Runtime, query: Mapping[str, Any]) -> dict[str, Any]:
    """GET /audit: what was broken, what was kept, and what there was no occasion for."""
    runtime.run_due()
    evidence = ClientHistory(runtime)
    findings = [found for rule in RULES if (found := finding(rule, evidence))]
    broken = {found["rule"] for found in findings}
    rest = [(rule, bool(rule.tried(evidence))) for rule in RULES if rule.name not in broken]
    return {
        "request_count": len(evidence.requests),
        "findings": findings,
        "kept": [brief(rule) for rule, tried in rest if tried],
        "untried": [brief(rule) for rule, tried in rest if not tried],
    }


def finding(rule: Rule, evidence: ClientHistory) -> dict[str, Any] | None:
    """What shows that a rule was broken, the newest first, or None."""
    shown = [*dict.fromkeys(rule.breaches(evidence))][::-1]
    if not shown:
        return None
    return {
        "rule": rule.name,
        "severity": rule.severity,
        "title": rule.title,
        "advice": rule.advice,
        "section": rule.section,
        "count": len(shown),
        "requests": [id for id in shown if id.startswith("req_")][:MOST],
        "object_ids": [id for id in shown if not id.startswith("req_")][:MOST],
    }


def brief(rule: Rule) -> dict[str, str]:
    """A rule that was not broken."""
    return {"rule": rule.name, "severity": rule.severity, "advice": rule.advice, "section": rule.section}


OPERATIONS = {"audit": show}
