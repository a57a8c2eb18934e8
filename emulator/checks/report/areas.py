"""The areas of the exam, each made from the report of one of the other commands."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from emulator.checks.app.findings import AppReport
from emulator.checks.report.exam import Area, ExamFinding
from emulator.checks.suite.doubt_report import SuiteReport

APP = Area("app", "Does a lost answer or webhook change how it ends?", "test-app")
RECEIVER = Area("receiver", "Does the webhook receiver accept what is valid and reject what is not?", "signatures")
CLIENT = Area("client", "Does the client follow the service's usage rules?", "test-client")
USAGE = Area("usage", "Do the tests see what can go wrong with what they use?", "ci")
SUITE = Area("suite", "Would the tests notice if the service were wrong?", "test-suite")
ASSUMPTIONS = Area("assumptions", "Do the tests pass whichever way the specification is read?", "assumptions")

EXPECTED: Mapping[str, str] = {"accepted": "accepted", "refused": "rejected"}
"""How sentences name what ``test receiver --json`` expects of a receiver."""

FIX_ASSUMPTION = "Do not depend on how this sentence of the specification is read (/docs/assumptions)."

GOES_WRONG: Mapping[str, tuple[str, str]] = {
    "payment_intent succeeded": ("payment_intent canceled", "a payment that fails"),
    "refund succeeded": ("refund failed", "a refund that fails"),
    "checkout_session complete": ("checkout_session expired", "a checkout session that expires"),
    "subscription active": ("subscription past_due", "a renewal that fails"),
    "subscription trialing": ("subscription active", "a trial that ends"),
}
"""By a state that tests reach when all goes well: the state that they also have to see, and when it is reached."""


def of_app(report: AppReport) -> Area:
    """What was found in an application; each run but the two undisturbed ones is a question."""
    if report.failure or report.unstable:
        reason = report.failure or report.unstable[0]
        return APP._replace(not_asked=f"The command does not end the same way twice: {reason}")
    findings = [
        ExamFinding(
            finding.case.kind.name,
            f"{finding.case.sentence}: {finding.differences[0]}",
            finding.fix,
        )
        for finding in report.findings
    ]
    asked = report.runs - 2
    return APP._replace(asked=asked, passed=asked - len(findings), findings=findings)


def of_receiver(results: Iterable[Mapping[str, Any]]) -> Area:
    """What a webhook receiver made of valid and invalid deliveries."""
    shown = [*results]
    findings = [
        ExamFinding(
            each["check"],
            f"{each['sent']}: expected to be {EXPECTED[each['expected']]} ({each['rule']})",
            each["advice"],
        )
        for each in shown
        if not each["passed"]
    ]
    return RECEIVER._replace(asked=len(shown), passed=len(shown) - len(findings), findings=findings)


def of_client(audits: Sequence[Mapping[str, Any]]) -> Area:
    """What the audits of all worlds found: each rule is asked in each world that it is about.

    A test that provokes a failure breaks a rule in its own world alone. Remarks (``info``) cost nothing.
    """
    broken = [found for audit in audits for found in audit["findings"] if found["severity"] != "info"]
    findings = {found["rule"]: ExamFinding(found["rule"], found["title"], found["advice"]) for found in broken}
    passed = sum(len(audit["kept"]) for audit in audits)
    if not broken and not passed:
        return CLIENT._replace(not_asked="No rule is about what the command does.")
    ordered = [findings[rule] for rule in sorted(findings)]
    return CLIENT._replace(asked=passed + len(broken), passed=passed, findings=ordered)


def of_usage(reached: Collection[str]) -> Area:
    """Whether the tests reach the states of failure of what they use; ``reached``: states such as ``invoice paid``."""
    used = {good: bad for good, bad in GOES_WRONG.items() if good in reached}
    missing = [(state, when) for state, when in used.values() if state not in reached]
    findings = [
        ExamFinding(state, f"no test sees {when} ({state})", f"Add a test of {when} (guide: Magic values).")
        for state, when in missing
    ]
    if not used:
        return USAGE._replace(not_asked="The command reaches no state in which something has gone well.")
    return USAGE._replace(asked=len(used), passed=len(used) - len(missing), findings=findings)


def of_suite(report: SuiteReport) -> Area:
    """Which wrong services no test notices."""
    findings = [ExamFinding(row.name, row.sentence, row.look) for row in report.unnoticed]
    if not report.asked:
        return SUITE._replace(not_asked="No wrong service concerns what the command does.")
    return SUITE._replace(asked=report.asked, passed=len(report.noticed), findings=findings)


def of_assumptions(runs: Sequence[Any]) -> Area:
    """On which other values of assumptions the command depends; each but the first of the runs is a question."""
    others = runs[1:]
    findings = [
        ExamFinding(str(run.assumption), f"the tests {'fail' if run.status else 'pass'} {run.title}", FIX_ASSUMPTION)
        for run in others
        if run.depends
    ]
    return ASSUMPTIONS._replace(asked=len(others), passed=len(others) - len(findings), findings=findings)
