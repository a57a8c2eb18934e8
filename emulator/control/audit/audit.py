"""The audit: how well the client follows the service's guidance, finding by finding.

A rule has a severity, advice, a section of the specification, and the check that finds violations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

from emulator.control.audit import violations
from emulator.control.audit.client_history import ClientHistory, Ids
from emulator.core.records import N_
from emulator.engine.engine import Engine
from emulator.engine.runtime import Runtime

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


RETRIES, REFUNDS, LISTS, SESSIONS = "Errors: Retry guidance", "Refunds", "General conventions", "Checkout sessions"
KEYS, ENDPOINTS, DELIVERIES = "Authentication", "Webhook endpoints", "Events: Delivery rules"


RULES: tuple[Rule, ...] = (
    Rule(
        "ignored-retry-after",
        "error",
        N_("A request was sent again before the Retry-After of a 429 was over"),
        N_("After a 429 wait as many seconds as its Retry-After header says, then try again."),
        RETRIES,
        lambda history: any(each.status == 429 for each in history.requests),
        violations.ignored_waits,
    ),
    Rule(
        "unsafe-retry",
        "error",
        N_("A request that may have succeeded was sent again without its first Idempotency-Key"),
        N_("Give every request that must not be done twice an Idempotency-Key, and keep that key when you try again."),
        RETRIES,
        lambda history: any(each.status >= 500 or each.status == 409 for each in history.of(*violations.CREATING)),
        violations.unsafe_retries,
    ),
    Rule(
        "idempotency-key-reused",
        "error",
        N_("An Idempotency-Key was used for two different requests"),
        N_("A key stands for one attempt at one thing: make a new one, such as a UUID, for the next."),
        REFUNDS,
        lambda history: any(each.key for each in history.requests),
        violations.reused_keys,
    ),
    Rule(
        "secret-exposed",
        "error",
        N_("A secret was put into a URL or a body"),
        N_(
            "Send secret keys only in the Authorization header, and never send a webhook secret: URLs and bodies are "
            "logged. Replace a secret that was sent."
        ),
        KEYS,
        lambda history: history.requests,
        violations.exposed_secrets,
    ),
    Rule(
        "forged-webhook-believed",
        "error",
        N_("A webhook that was tampered with was accepted"),
        N_("Recompute the signature over the raw body, compare in constant time, and reject what does not match."),
        DELIVERIES,
        lambda history: history.tampered or history.forged,
        violations.accepted_tampered,
    ),
    Rule(
        "webhook-without-tls",
        "error",
        N_("Webhooks are sent over plain HTTP"),
        N_("Register an https:// address; http:// is for a receiver on the machine it is developed on."),
        ENDPOINTS,
        lambda history: history.endpoints,
        violations.endpoints_that(violations.is_plain),
    ),
    Rule(
        "retried-refusal",
        "warning",
        N_("A request with a permanent error was sent again unchanged"),
        N_("Of the 4xx, retry only a 429. Fix the request, key or id first; after a 409, fetch the existing object."),
        RETRIES,
        violations.permanent_errors,
        violations.retried_refusals,
    ),
    Rule(
        "retried-too-soon",
        "warning",
        N_("A request that failed with a 5xx was tried again too soon"),
        N_("Wait longer each time: 1 second, then 2, 4 and 8."),
        RETRIES,
        lambda history: any(each.status >= 500 for each in history.requests),
        violations.hasty_retries,
    ),
    Rule(
        "retried-too-often",
        "warning",
        N_("A request that kept failing with a 5xx was tried again more than three times"),
        N_("Stop after three retries and raise an alert."),
        RETRIES,
        lambda history: any(each.status >= 500 for each in history.requests),
        violations.stubborn_retries,
    ),
    Rule(
        "refund-without-key",
        "warning",
        N_("A refund was asked for without an Idempotency-Key"),
        N_("Send a new Idempotency-Key, such as a UUID, with each refund; without it a repeated call refunds twice."),
        REFUNDS,
        lambda history: history.of("createRefund"),
        violations.keyless_refunds,
    ),
    Rule(
        "completion-unconfirmed",
        "warning",
        N_("A checkout session was paid, and the shop never checked that it was"),
        N_(
            "A visit to your success_url does not prove a payment: read the session and deliver once it is "
            "complete, or listen to checkout.session.completed."
        ),
        SESSIONS,
        lambda history: any(violations.completed(history)),
        violations.unconfirmed,
    ),
    Rule(
        "polling",
        "warning",
        N_("One object was read again and again while it did not change"),
        N_("Register a webhook endpoint and wait for the event."),
        "Events",
        lambda history: history.of(*violations.WAITING),
        violations.polling,
    ),
    Rule(
        "secret-key-in-browser",
        "warning",
        N_("A secret key was used by a page in a browser"),
        N_("Call the service from your server; in a browser everybody can read the key."),
        KEYS,
        lambda history: history.requests,
        violations.from_browsers,
    ),
    Rule(
        "slow-webhook-answer",
        "warning",
        N_("A webhook was answered after more than five seconds, or not in time"),
        N_(
            "Answer 200 at once and do the work afterwards: what takes longer than ten seconds has failed and comes "
            "again."
        ),
        DELIVERIES,
        violations.attempted,
        violations.slow,
    ),
    Rule(
        "webhook-not-acknowledged",
        "warning",
        N_("A webhook was rejected by its receiver"),
        N_("Answer 200 to every genuine delivery, also to one you have no use for; ask only for the types you need."),
        DELIVERIES,
        violations.attempted,
        violations.unacknowledged,
    ),
    Rule(
        "webhook-basic",
        "warning",
        N_("Webhooks are authenticated by a password"),
        N_("BASIC exposes the secret and does not sign the body. Choose HMAC_SHA256."),
        ENDPOINTS,
        lambda history: history.endpoints,
        violations.endpoints_that(violations.is_basic),
    ),
    Rule(
        "webhook-certificate-unchecked",
        "warning",
        N_("Webhooks are sent without checking the certificate of the receiver"),
        N_("Leave ssl_verification on; it is to be off only while developing with a certificate you signed yourself."),
        ENDPOINTS,
        lambda history: history.endpoints,
        violations.endpoints_that(violations.is_unchecked),
    ),
    Rule(
        "first-page-only",
        "info",
        N_("A list had more pages than the one that was read"),
        N_("To read everything, follow pagination.next; to read only the newest, set page_size."),
        LISTS,
        violations.long_lists,
        violations.first_pages,
    ),
    Rule(
        "small-pages",
        "info",
        N_("A long list was read a few objects at a time"),
        N_("Use page_size=100 when reading the whole list."),
        LISTS,
        violations.long_lists,
        violations.small_pages,
    ),
    Rule(
        "beyond-the-specification",
        "info",
        N_("Operations were used that only this sandbox has"),
        N_(
            "Fine for setting up a test. In the application use what the service has: it answers these with "
            "SANDBOX_ONLY."
        ),
        "Endpoints",
        lambda history: history.requests,
        violations.beyond,
    ),
)
"""In order of severity."""


# -- findings


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
