"""The audit: how well the client follows the service's guidance, finding by finding.

A rule has a severity, advice, a section of the specification, and the check that finds violations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Literal, NamedTuple

from emulator.document.paths import fixture
from emulator.engine.runtime import Runtime
from emulator.insight.audit import violations
from emulator.insight.audit.client_history import ClientHistory, Ids, Request

# -- rules


Severity = Literal["error", "warning", "info"]


class Rule(NamedTuple):
    """One rule. ``applies`` says whether any request was about it, ``violations`` gives the ids that broke it."""

    name: str
    severity: Severity
    title: str
    advice: str
    section: str
    applies: Callable[[ClientHistory], object]
    violations: Callable[[ClientHistory], Ids]


def any_request(condition: Callable[[Request], bool]) -> Callable[[ClientHistory], bool]:
    return lambda history: any(map(condition, history.requests))


FINDERS: Mapping[str, tuple[Callable[[ClientHistory], object], Callable[[ClientHistory], Ids]]] = {
    "ignored-retry-after": (any_request(lambda each: each.status == 429), violations.ignored_waits),
    "unsafe-retry": (
        lambda history: any(each.status >= 500 or each.status == 409 for each in history.of(*violations.CREATING)),
        violations.unsafe_retries,
    ),
    "idempotency-key-reused": (any_request(lambda each: bool(each.key)), violations.reused_keys),
    "secret-exposed": (lambda history: history.requests, violations.exposed_secrets),
    "forged-webhook-believed": (lambda history: history.tampered or history.forged, violations.accepted_tampered),
    "webhook-without-tls": (
        lambda history: history.endpoints,
        violations.endpoints_that(lambda it: it.url.startswith("http:") and not violations.is_in_development(it)),
    ),
    "retried-refusal": (violations.permanent_errors, violations.retried_refusals),
    "retried-too-soon": (any_request(lambda each: each.status >= 500), violations.hasty_retries),
    "retried-too-often": (any_request(lambda each: each.status >= 500), violations.stubborn_retries),
    "no-time-limit": (any_request(lambda each: violations.seconds_of(each) > 1), violations.unlimited_waits),
    "refund-without-key": (lambda history: history.of("createRefund"), violations.keyless_refunds),
    "session-id-escaped": (violations.placeholders, violations.escaped_placeholders),
    "completion-unconfirmed": (violations.is_confirmed, violations.unconfirmed),
    "polling": (lambda history: history.of(*violations.WAITING), violations.polling),
    "secret-key-in-browser": (lambda history: history.requests, violations.from_browsers),
    "slow-webhook-answer": (violations.attempted, violations.slow),
    "webhook-not-acknowledged": (violations.attempted, violations.unacknowledged),
    "webhook-basic": (
        lambda history: history.endpoints,
        violations.endpoints_that(lambda it: it.security_profile == "BASIC"),
    ),
    "webhook-certificate-unchecked": (
        lambda history: history.endpoints,
        violations.endpoints_that(lambda it: not it.ssl_verification and not violations.is_in_development(it)),
    ),
    "first-page-only": (violations.long_lists, violations.first_pages),
    "small-pages": (violations.long_lists, violations.small_pages),
    "beyond-the-specification": (lambda history: history.requests, violations.beyond),
}
"""By the name of each rule: whether any request was about it, and the ids that broke it."""


@cache
def rules() -> Sequence[Rule]:
    texts = fixture("audit-rules")
    return [Rule(name, **said, applies=FINDERS[name][0], violations=FINDERS[name][1]) for name, said in texts.items()]


# -- findings


MAX_IDS = 20
"""The most requests, and the most objects, that a finding names."""


def audit_of(runtime: Runtime) -> dict[str, Any]:
    history = ClientHistory(runtime)
    findings = [found for rule in rules() if (found := finding(rule, history))]
    broken = {found["rule"] for found in findings}
    others = [(rule, bool(rule.applies(history))) for rule in rules() if rule.name not in broken]
    return {
        "request_count": len(history.requests),
        "findings": findings,
        "kept": [brief(rule) for rule, applies in others if applies],
        "untried": [brief(rule) for rule, applies in others if not applies],
    }


def finding(rule: Rule, history: ClientHistory) -> dict[str, Any] | None:
    """Return the requests and objects that broke a rule, the newest first, or None."""
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
    return {"rule": rule.name, "severity": rule.severity, "advice": rule.advice, "section": rule.section}
