"""The report of ``test client``: the usage rules that a client broke, from its worlds' audits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NotRequired, TypedDict

from emulator.checks.report import SEVERITIES, Finding, Report
from emulator.checks.runs import counted
from emulator.client.messages import JSON

SHOWN_IDS = 5
"""How many request and object ids are shown for a finding; the JSON has more."""


class AuditRule(TypedDict):
    """A rule of the audit that was kept, or not exercised."""

    rule: str
    severity: str
    advice: str
    section: str


class AuditFinding(AuditRule):
    """A broken rule, with the newest requests and objects that broke it."""

    title: str
    count: int
    requests: list[str]
    object_ids: list[str]
    app: NotRequired[str]


def report(audits: Sequence[JSON]) -> Report:
    """Return the report of the audits of worlds; one of several has ``app`` in its findings.

    A rule was followed if no audit found it broken, and was not exercised if it was so in all.
    """
    findings: list[AuditFinding] = [finding for audit in audits for finding in audit["findings"]]
    # An audit names a cause before its consequence.
    rules = [*dict.fromkeys(finding["rule"] for finding in findings)]
    broken = sorted(
        findings,
        key=lambda finding: (SEVERITIES.index(finding["severity"]), rules.index(finding["rule"])),
    )
    kept: dict[str, AuditRule] = {
        rule["rule"]: rule
        for audit in audits
        for rule in audit["kept"]
        if rule["rule"] not in rules
    }
    known = {*rules, *kept}
    untried: dict[str, AuditRule] = {
        rule["rule"]: rule
        for audit in audits
        for rule in audit["untried"]
        if rule["rule"] not in known
    }
    requests = sum(audit["request_count"] for audit in audits)
    numbers = [
        sum(finding["severity"] == severity for finding in broken) for severity in SEVERITIES
    ]
    counts = f"{counted(numbers[0], 'error')}, {counted(numbers[1], 'warning')}, {numbers[2]} info"
    rule_counts = f"{counted(len(kept), 'rule')} followed, {len(untried)} not exercised"
    return Report(
        "test client",
        f"{counted(requests, 'request')} checked: {counts}; {rule_counts}.",
        [_finding(finding) for finding in broken],
        right=[*kept],
        notes=[
            f"{title}: {', '.join(names)}."
            for title, names in (("Followed", kept), ("Not exercised", untried))
            if names
        ],
        facts={
            "request_count": requests,
            "broken": broken,
            "kept": [*kept.values()],
            "untried": [*untried.values()],
        },
    )


def _finding(finding: AuditFinding) -> Finding:
    shown_ids = [*finding["requests"], *finding["object_ids"]][:SHOWN_IDS]
    more = finding["count"] - len(shown_ids)
    app = f"App {finding['app']}: " if "app" in finding else ""
    where = f"{app}{finding['count']} x: {' '.join(shown_ids)}{f' and {more} more' if more else ''}"
    fix = f"{finding['advice']} ({finding['section']})"
    return Finding(
        finding["rule"],
        f"{finding['title']} ({finding['rule']})",
        [where],
        fix,
        severity=finding["severity"],
    )
