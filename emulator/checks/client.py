"""The report of ``test client``: the usage rules that a client broke, from its worlds' audits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from emulator.checks.report import SEVERITIES, Finding, Report
from emulator.checks.runs import counted

SHOWN_IDS = 5
"""How many request and object ids are shown for a finding; the JSON has more."""


def report(audits: Sequence[Any]) -> Report:
    """Return the report of the audits of worlds; one of several has ``app`` in its findings.

    A rule was followed if no audit found it broken, and was not exercised if it was so in all.
    """
    findings = [finding for each in audits for finding in each["findings"]]
    # An audit names a cause before its consequence.
    found = [*dict.fromkeys(finding["rule"] for finding in findings)]
    broken = sorted(
        findings, key=lambda it: (SEVERITIES.index(it["severity"]), found.index(it["rule"]))
    )
    kept = {
        rule["rule"]: rule for each in audits for rule in each["kept"] if rule["rule"] not in found
    }
    known = {*found, *kept}
    untried = {
        rule["rule"]: rule
        for each in audits
        for rule in each["untried"]
        if rule["rule"] not in known
    }
    requests = sum(each["request_count"] for each in audits)
    numbers = [sum(each["severity"] == severity for each in broken) for severity in SEVERITIES]
    counts = f"{counted(numbers[0], 'error')}, {counted(numbers[1], 'warning')}, {numbers[2]} info"
    rules = f"{counted(len(kept), 'rule')} followed, {len(untried)} not exercised"
    return Report(
        "test client",
        f"{counted(requests, 'request')} checked: {counts}; {rules}.",
        [_finding(each) for each in broken],
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


def _finding(found: Any) -> Finding:
    shown = [*found["requests"], *found["object_ids"]][:SHOWN_IDS]
    more = found["count"] - len(shown)
    app = f"App {found['app']}: " if "app" in found else ""
    where = f"{app}{found['count']} x: {' '.join(shown)}{f' and {more} more' if more else ''}"
    fix = f"{found['advice']} ({found['section']})"
    return Finding(
        found["rule"],
        f"{found['title']} ({found['rule']})",
        [where],
        fix,
        severity=found["severity"],
    )
