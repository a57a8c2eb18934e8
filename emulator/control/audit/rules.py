"""The rules of the audit: severity, advice, section of the specification, and the check that finds violations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

from emulator.control.audit import lists, retries, secrets, webhooks
from emulator.control.audit.client_history import ClientHistory, Ids
from emulator.core.translatable import N_

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
        retries.ignored_waits,
    ),
    Rule(
        "unsafe-retry",
        "error",
        N_("A request that may have succeeded was sent again without its first Idempotency-Key"),
        N_("Give every request that must not be done twice an Idempotency-Key, and keep that key when you try again."),
        RETRIES,
        lambda history: any(each.status >= 500 or each.status == 409 for each in history.of(*retries.CREATING)),
        retries.unsafe_retries,
    ),
    Rule(
        "idempotency-key-reused",
        "error",
        N_("An Idempotency-Key was used for two different requests"),
        N_("A key stands for one attempt at one thing: make a new one, such as a UUID, for the next."),
        REFUNDS,
        lambda history: any(each.key for each in history.requests),
        retries.reused_keys,
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
        secrets.exposed_secrets,
    ),
    Rule(
        "forged-webhook-believed",
        "error",
        N_("A webhook that was tampered with was accepted"),
        N_("Recompute the signature over the raw body, compare in constant time, and reject what does not match."),
        DELIVERIES,
        lambda history: history.tampered or history.forged,
        webhooks.accepted_tampered,
    ),
    Rule(
        "webhook-without-tls",
        "error",
        N_("Webhooks are sent over plain HTTP"),
        N_("Register an https:// address; http:// is for a receiver on the machine it is developed on."),
        ENDPOINTS,
        lambda history: history.endpoints,
        webhooks.endpoints_that(webhooks.is_plain),
    ),
    Rule(
        "retried-refusal",
        "warning",
        N_("A request with a permanent error was sent again unchanged"),
        N_("Of the 4xx, retry only a 429. Fix the request, key or id first; after a 409, fetch the existing object."),
        RETRIES,
        retries.permanent_errors,
        retries.retried_refusals,
    ),
    Rule(
        "retried-too-soon",
        "warning",
        N_("A request that failed with a 5xx was tried again too soon"),
        N_("Wait longer each time: 1 second, then 2, 4 and 8."),
        RETRIES,
        lambda history: any(each.status >= 500 for each in history.requests),
        retries.hasty_retries,
    ),
    Rule(
        "retried-too-often",
        "warning",
        N_("A request that kept failing with a 5xx was tried again more than three times"),
        N_("Stop after three retries and raise an alert."),
        RETRIES,
        lambda history: any(each.status >= 500 for each in history.requests),
        retries.stubborn_retries,
    ),
    Rule(
        "refund-without-key",
        "warning",
        N_("A refund was asked for without an Idempotency-Key"),
        N_("Send a new Idempotency-Key, such as a UUID, with each refund; without it a repeated call refunds twice."),
        REFUNDS,
        lambda history: history.of("createRefund"),
        retries.keyless_refunds,
    ),
    Rule(
        "completion-unconfirmed",
        "warning",
        N_("A checkout session was paid, and the shop never checked that it was"),
        N_(
            "A buyer who is back at your success_url has proved nothing: read the session and deliver once it is "
            "complete, or listen to checkout.session.completed."
        ),
        SESSIONS,
        lambda history: any(lists.completed(history)),
        lists.unconfirmed,
    ),
    Rule(
        "polling",
        "warning",
        N_("One object was read again and again while it did not change"),
        N_("Register a webhook endpoint and wait for the event."),
        "Events",
        lambda history: history.of(*lists.WAITING),
        lists.polling,
    ),
    Rule(
        "secret-key-in-browser",
        "warning",
        N_("A secret key was used by a page in a browser"),
        N_("Call the service from your server; in a browser everybody can read the key."),
        KEYS,
        lambda history: history.requests,
        secrets.from_browsers,
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
        webhooks.attempted,
        webhooks.slow,
    ),
    Rule(
        "webhook-not-acknowledged",
        "warning",
        N_("A webhook was rejected by its receiver"),
        N_("Answer 200 to every genuine delivery, also to one you have no use for; ask only for the types you need."),
        DELIVERIES,
        webhooks.attempted,
        webhooks.unacknowledged,
    ),
    Rule(
        "webhook-basic",
        "warning",
        N_("Webhooks are authenticated by a password"),
        N_("BASIC sends the secret with each delivery and vouches for no body. Choose HMAC_SHA256."),
        ENDPOINTS,
        lambda history: history.endpoints,
        webhooks.endpoints_that(webhooks.is_basic),
    ),
    Rule(
        "webhook-certificate-unchecked",
        "warning",
        N_("Webhooks are sent without checking the certificate of the receiver"),
        N_("Leave ssl_verification on; it is to be off only while developing with a certificate you signed yourself."),
        ENDPOINTS,
        lambda history: history.endpoints,
        webhooks.endpoints_that(webhooks.is_unchecked),
    ),
    Rule(
        "first-page-only",
        "info",
        N_("A list had more pages than the one that was read"),
        N_("To read everything, follow pagination.next; to read only the newest, set page_size."),
        LISTS,
        lists.long_lists,
        lists.first_pages,
    ),
    Rule(
        "small-pages",
        "info",
        N_("A long list was read a few objects at a time"),
        N_("Use page_size=100 when reading the whole list."),
        LISTS,
        lists.long_lists,
        lists.small_pages,
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
        secrets.beyond,
    ),
)
"""In order of severity."""
