"""The audit: how well the client follows the service's guidance, finding by finding.

A rule has a severity, advice and a section of the specification (``fixtures/audit-rules.yaml``).
For most of them a function finds, in the history of a client, the requests or objects that break
the rule, oldest first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Literal, NamedTuple
from urllib.parse import urlsplit

from emulator.document import bundles
from emulator.document.paths import fixture
from emulator.engine.journal import MAX_REQUESTS
from emulator.engine.outbox import FORGED, TAMPERED
from emulator.engine.reading import View
from emulator.insight.audit.client_history import (
    PAGE_PARAMETERS,
    RETRY_WINDOW,
    ClientHistory,
    Repetition,
    Request,
    list_of,
    sequences,
)
from emulator.resources.checkout.checkout_sessions import CheckoutSession
from emulator.resources.webhooks.deliveries import DeliveryAttempt, WebhookDelivery
from emulator.resources.webhooks.endpoints import WebhookEndpoint, loopback
from emulator.web.service_app import sandbox_only

# -- the rules, and their report


MAX_IDS = 20
"""The most requests, and the most objects, that a finding names."""


class Rule(NamedTuple):
    name: str
    severity: Literal["error", "warning", "info"]
    title: str
    advice: str
    section: str
    rolled: Mapping[str, str] = {}

    def report(self, *fields: str) -> dict[str, str]:
        return {"rule": self.name, **{field: getattr(self, field) for field in fields}}


@cache
def rules() -> Sequence[Rule]:
    return [Rule(name, **fields) for name, fields in fixture("audit-rules").items()]


def audit_of(view: View) -> dict[str, Any]:
    """Return the rules broken (newest requests and objects first), kept, and not exercised."""
    history = ClientHistory(view)
    lists: dict[str, list[Any]] = {"findings": [], "kept": [], "untried": []}
    for rule in rules():
        finder = FINDERS[rule.name]
        if ids := _ids(finder.violations(history))[::-1]:
            known = rule.rolled if rule.rolled and has_old_secret(history) else {}
            lists["findings"].append(
                {
                    **rule.report("severity", "title", "section"),
                    "advice": rule.advice,
                    **known,
                    "count": len(ids),
                    "requests": [id for id in ids if id.startswith("req_")][:MAX_IDS],
                    "object_ids": [id for id in ids if not id.startswith("req_")][:MAX_IDS],
                }
            )
        else:
            part = "kept" if _ids(finder.occasions(history)) else "untried"
            lists[part].append(rule.report("severity", "advice", "section"))
    return {"request_count": len(history.requests), **lists}


# -- requests and objects by a condition


Find = Callable[[ClientHistory], Iterable[Request | WebhookDelivery | WebhookEndpoint | None]]
"""Finds requests or objects in a client's history; None stands for one that does not count."""


def _ids(matches: Iterable[Any]) -> list[str]:
    """Return the ids of the matches, once each, in order."""
    return [*dict.fromkeys(match.id for match in matches if match is not None)]


def requests(condition: Callable[[Request], object] = lambda record: True) -> Find:
    return lambda history: (request if condition(request) else None for request in history.requests)


def deliveries(condition: Callable[[WebhookDelivery], object]) -> Find:
    """Find deliveries without a fault's tampering: a client rightly rejects the others."""
    return own_deliveries(
        lambda delivery: (
            all(attempt.error != TAMPERED for attempt in delivery.attempts) and condition(delivery)
        )
    )


def own_deliveries(condition: Callable[[WebhookDelivery], object]) -> Find:
    """Find deliveries among all of them, those that an arranged fault tampered with included."""
    return lambda history: (
        delivery if condition(delivery) else None for delivery in history.deliveries
    )


def endpoints(condition: Callable[[WebhookEndpoint], object] = lambda record: True) -> Find:
    return lambda history: (
        endpoint if condition(endpoint) else None for endpoint in history.endpoints.values()
    )


# -- secrets, and operations that only the sandbox has


SECRET = re.compile(r"(?i)(sk_(test|prod)_|whsec_)\*{4}")
"""The beginnings of secrets, and how the journal masks the rest."""


def is_foreign(request: Request) -> bool:
    """Return whether another site's page sent a request; the emulator's API explorer is none."""
    origin, host = (request.headers.get(name, b"").lower() for name in (b"origin", b"host"))
    return bool(origin) and origin.partition(b"://")[2] != host


@cache
def beyond() -> frozenset[str]:
    """Return the operations that the specification of the service does not have."""
    return sandbox_only(bundles.load("service"))


# -- retries: after errors, after limits, after failures, and with an Idempotency-Key


PERMANENT = frozenset({400, 401, 403, 404, 405, 422})
"""Statuses that the same request will get again."""

PAUSES = (1.0, 2.0, 4.0)
"""Seconds to wait before each retry after a 5xx (B-100)."""

MAX_TRIES = 4
"""The first request and three retries."""

CLOCK_TOLERANCE = 0.05
"""Seconds by which the clocks of client and server may differ."""

CREATING = frozenset(
    {
        "createRefund",
        "createPaymentIntent",
        "createSubscription",
        "createInvoice",
        "createCheckoutSession",
        "createPaymentLink",
    }
)
"""Operations that a repeated request would perform twice."""


def is_permanent(request: Request) -> bool:
    """Return whether a retry cannot change an error; so for a 409 without an Idempotency-Key."""
    return request.status in PERMANENT or (request.status == 409 and not request.key)


def retried_refusals(history: ClientHistory) -> Iterator[Request]:
    """Yield retries with the same error, while nothing changed in the world between."""
    for first, again in history.equal_retries:
        is_same = (first.status, first.code) == (again.status, again.code)
        if is_permanent(first) and is_same and history.world_unchanged(first, again):
            yield again


def ignored_waits(history: ClientHistory) -> Iterator[Request]:
    """Yield requests repeated before ``Retry-After``."""

    def wait(request: Request, tried: int) -> float | None:
        if request.status != 429:
            return None
        seconds = request.response.get("retry_after")
        return (seconds if isinstance(seconds, int | float) else 0) - CLOCK_TOLERANCE

    for group in history.alike:
        yield from _too_early(group, wait)


def _too_early(
    group: Sequence[Request], wait: Callable[[Request, int], float | None]
) -> Iterator[Request]:
    """Yield requests that were sent before the wait after a failed one was over.

    ``wait`` returns the seconds wanted after a request, which is the retry of so many; None if it
    has not failed. Two threads, or a buyer and a webhook, may send the same: a request is no early
    retry if the failed one has another retry, which has waited. Each counts for one failed request.
    """
    tries: dict[str, int] = {}
    taken: set[str] = set()
    for number, first in enumerate(group):
        tried = tries.get(first.id, 0)
        wanted = wait(first, tried)
        if wanted is None:
            continue
        later = [Repetition(first, again) for again in group[number + 1 :]]
        later = [pair for pair in later if pair.pause > 0 and pair.again.id not in taken]
        patient = [pair for pair in later if wanted <= pair.waited <= wanted + RETRY_WINDOW]
        early = [pair for pair in later[:1] if pair.waited < wanted]
        for pair in (patient or early)[:1]:
            taken.add(pair.again.id)
            tries[pair.again.id] = tried + 1
            if not patient:
                yield pair.again


def failed_sequences(history: ClientHistory) -> Iterator[list[Request]]:
    """Yield requests with a 5xx, each with its retries; the last one may have succeeded.

    One that comes after a long pause, in real time or the world's, is not a retry but another
    attempt of a buyer (B-100).
    """

    def is_retried(earlier: Request, later: Request) -> bool:
        pair = Repetition(earlier, later)
        return earlier.status >= 500 and pair.pause > 0 and pair.waited <= RETRY_WINDOW

    for group in history.alike:
        yield from (sequence for sequence in sequences(group, is_retried) if len(sequence) > 1)


def hasty_retries(history: ClientHistory) -> Iterator[Request]:
    """Yield retries after under half the recommended pause. Random variation is good practice."""

    def wait(request: Request, tried: int) -> float | None:
        if request.status < 500:
            return None
        return PAUSES[tried] / 2 if tried < len(PAUSES) else 0.0

    for group in history.alike:
        yield from _too_early(group, wait)


def stubborn_retries(history: ClientHistory) -> Iterator[Request]:
    for sequence in failed_sequences(history):
        yield from sequence[MAX_TRIES:]


LONG_MS = 32_000
"""Milliseconds of a response that prove a client without a time limit: 30 seconds are over."""

HELPERS = b"payments-emulator"
"""The test helpers' user agent (``client/api.py``, the module for Node). They wait for any time."""


def unsafe_retries(history: ClientHistory) -> Iterator[Request]:
    """Yield retries of possibly successful requests without the first one's Idempotency-Key.

    Where the first one was sent again with its key, another of the same content is another buyer's.
    """
    safe = {pair.first.id for pair in history.equal_retries if pair.first.key}
    for first, again in history.retries:
        is_done = first.id not in safe and (first.status >= 500 or _still_running(history, first))
        if (
            first.operation in CREATING
            and is_done
            and (again.key is None or again.key != first.key)
        ):
            yield again


def _still_running(history: ClientHistory, request: Request) -> bool:
    """Return whether a conflict is with the same request, running or done, not with another."""
    return request.code == "IDEMPOTENCY_CONFLICT" and any(
        other is not request and other.key == request.key and other.content == request.content
        for other in history.requests
    )


def reused_keys(history: ClientHistory) -> Iterator[Request]:
    """Yield requests with a key that was used for another request."""
    for group in history.grouped(lambda request: request.key):
        for number, request in enumerate(group):
            if request.code == "IDEMPOTENCY_CONFLICT" and any(
                earlier.content != request.content for earlier in group[:number]
            ):
                yield request


# -- reading: polling, pages of lists, and checking a payment before delivering goods


WAITING = {
    "getCheckoutSession": frozenset({"open", "processing"}),
    "getPaymentIntent": frozenset({"requires_action", "processing"}),
    "getRefund": frozenset({"pending", "processing"}),
    "getTransaction": frozenset({"pending", "approved"}),
    "getInvoice": frozenset({"open"}),
}
"""Operations that read one object, with the states in which clients wait for another one."""

MANY_READS = 10
"""Reads of one object in sequence, without any change, that count as polling."""

BETWEEN_READS = 30.0
"""The most seconds (real time) between two of them."""

MANY_PAGES = 5
"""Pages read in sequence that count as reading the whole list."""

SMALL_PAGE = 50
"""The ``page_size`` below which pages are small."""

BETWEEN_PAGES = 2.0
"""The most seconds (real time) between two of them."""


def polling(history: ClientHistory) -> Iterator[Request]:
    """Yield repeated reads of an unchanged object in a state that ends by itself."""

    def waits(request: Request) -> bool:
        return request.response.get("status") in WAITING.get(request.operation, ())

    def continues(earlier: Request, later: Request) -> bool:
        return waits(later) and earlier.entry.response == later.entry.response

    for group in history.grouped(
        lambda request: request.entry.path if request.operation in WAITING else None
    ):
        for sequence in sequences(group, continues, within=BETWEEN_READS):
            if len(sequence) >= MANY_READS and waits(sequence[0]):
                yield from sequence


def is_long_list(request: Request) -> object:
    """Return whether a request reads a list with more than one page."""
    pagination = request.response.get("pagination")
    return list_of(request) and isinstance(pagination, dict) and pagination.get("next")


def first_pages(history: ClientHistory) -> Iterator[Request]:
    """Yield first pages of longer lists if the client never asked for another page or page size."""
    for group in history.grouped(lambda request: request.entry.path if list_of(request) else None):
        if not any(PAGE_PARAMETERS & request.query.keys() for request in group):
            yield from filter(is_long_list, group)


def small_pages(history: ClientHistory) -> Iterator[Request]:
    def continues(earlier: Request, later: Request) -> bool:
        return _number(later, "page", 1) == _number(earlier, "page", 1) + 1

    for group in history.grouped(list_of):
        for sequence in sequences(group, continues, within=BETWEEN_PAGES):
            if len(sequence) >= MANY_PAGES and _number(sequence[0], "page_size", 20) < SMALL_PAGE:
                yield from sequence[1:]


def _number(request: Request, name: str, default: int) -> int:
    text = request.query.get(name, "")
    return int(text) if text.isdecimal() else default


def has_placeholder(request: Request, pattern: str = "CHECKOUT_SESSION_ID") -> object:
    """Return whether a request is for a session with the placeholder of its id in an address."""
    return request.operation == "createCheckoutSession" and re.search(pattern, request.text)


def unconfirmed(history: ClientHistory) -> Iterator[Request]:
    """Yield paid checkout sessions that the client neither read nor got the event of."""
    if len(history.journal.entries) == MAX_REQUESTS:
        return  # the journal may have dropped the read
    for creation in _completed(history):
        if creation.response["id"] not in history.notified and not _was_read(history, creation):
            yield creation


def confirmed(history: ClientHistory) -> list[Request]:
    """Return the paid sessions if all were read. The use of an acknowledged event is not seen."""
    completed = [*_completed(history)]
    return completed if all(_was_read(history, creation) for creation in completed) else []


def _completed(history: ClientHistory) -> Iterator[Request]:
    """Yield the requests that created a session which is complete by now."""
    for request in history.requests:
        if request.operation == "createCheckoutSession" and request.status == 201:
            session = history.world.get(CheckoutSession, request.response.get("id"))
            if session is not None and session.status == "complete":
                yield request


def _was_read(history: ClientHistory, creation: Request) -> bool:
    reads = (
        request
        for request in history.requests
        if request.operation in ("getCheckoutSession", "listCheckoutSessions")
    )
    sessions = (session for read in reads for session in read.response.get("data", [read.response]))
    wanted = (creation.response["id"], "complete")
    return any((session.get("id"), session.get("status")) == wanted for session in sessions)


# -- webhooks: how a client has them signed, and the responses of its receiver


SLOW_MS = 5000
"""Milliseconds (real time) above which a response is slow; after 10 s an attempt has failed."""

LATE = "no response within"
"""The beginning of the error of an attempt without a response in time."""


def is_attempted(delivery: WebhookDelivery) -> bool:
    """Return whether a delivery reached a receiver."""
    return any(attempt.status_code is not None or is_late(attempt) for attempt in delivery.attempts)


def is_late(attempt: DeliveryAttempt) -> bool:
    return (attempt.error or "").startswith(LATE) or (
        attempt.status_code is not None and attempt.duration_ms > SLOW_MS
    )


def is_rejected(delivery: WebhookDelivery) -> bool:
    """Return whether a delivery failed with a non-2xx response; others do not count."""
    return delivery.status == "failed" and any(
        (attempt.status_code or 0) >= 300 for attempt in delivery.attempts[-1:]
    )


def has_old_secret(history: ClientHistory) -> bool:
    """Return whether a receiver rejects all since its secret was rolled, and rejected none before.

    Of deliveries at the very instant, on a frozen clock, those after the first rejection count.
    """
    rolled = {
        request.entry.path.rstrip("/").split("/")[-2]: request.entry.checkpoint.now
        for request in history.requests
        if request.operation == "rollWebhookSecret" and request.status < 300
    }
    for endpoint, at in rolled.items():
        ended = [
            delivery
            for delivery in history.deliveries
            if delivery.webhook == endpoint and delivery.status != "pending"
        ]
        rejected = [number for number, delivery in enumerate(ended) if is_rejected(delivery)]
        first = len(ended) - len(rejected)
        if (
            rejected == [*range(first, len(ended))]
            and all(delivery.created_at <= at for delivery in ended[:first])
            and all(delivery.created_at >= at for delivery in ended[first:])
            and rejected
        ):
            return True
    return False


def is_forged(delivery: WebhookDelivery, *, believed: bool = False) -> bool:
    """Return whether a delivery was forged or had a forged copy (``believed``: and accepted)."""
    return any(
        (attempt.error == TAMPERED and (not believed or (attempt.status_code or 500) < 300))
        or (attempt.error or "").startswith(f"{FORGED}accepted" if believed else FORGED)
        for attempt in delivery.attempts
    )


def is_in_development(endpoint: WebhookEndpoint) -> bool:
    """Return whether an endpoint is a test App's on this machine, which needs no protection."""
    return not endpoint.livemode and loopback(urlsplit(endpoint.url).hostname or "")


# -- all


class Finder(NamedTuple):
    """Requests or objects: ``occasions`` exercise a rule, ``violations`` break it."""

    occasions: Find
    violations: Find


FINDERS: Mapping[str, Finder] = {
    "ignored-retry-after": Finder(requests(lambda request: request.status == 429), ignored_waits),
    "unsafe-retry": Finder(
        requests(
            lambda request: (
                request.operation in CREATING and (request.status >= 500 or request.status == 409)
            )
        ),
        unsafe_retries,
    ),
    "idempotency-key-reused": Finder(requests(lambda request: request.key), reused_keys),
    "secret-exposed": Finder(requests(), requests(lambda request: SECRET.search(request.text))),
    "forged-webhook-believed": Finder(
        own_deliveries(is_forged),
        own_deliveries(lambda delivery: is_forged(delivery, believed=True)),
    ),
    "webhook-without-tls": Finder(
        endpoints(),
        endpoints(
            lambda endpoint: endpoint.url.startswith("http:") and not is_in_development(endpoint)
        ),
    ),
    "retried-refusal": Finder(requests(is_permanent), retried_refusals),
    "retried-too-soon": Finder(requests(lambda request: request.status >= 500), hasty_retries),
    "retried-too-often": Finder(requests(lambda request: request.status >= 500), stubborn_retries),
    "no-time-limit": Finder(
        requests(lambda request: request.entry.duration_ms > 1000),
        requests(
            lambda request: (
                request.entry.duration_ms > LONG_MS
                and request.headers.get(b"user-agent") != HELPERS
            )
        ),
    ),
    "refund-without-key": Finder(
        requests(lambda request: request.operation == "createRefund"),
        requests(lambda request: request.operation == "createRefund" and request.key is None),
    ),
    "session-id-escaped": Finder(
        requests(has_placeholder),
        requests(lambda request: has_placeholder(request, "(?i)%7BCHECKOUT_SESSION_ID%7D")),
    ),
    "completion-unconfirmed": Finder(confirmed, unconfirmed),
    "polling": Finder(requests(lambda request: request.operation in WAITING), polling),
    "secret-key-in-browser": Finder(requests(), requests(is_foreign)),
    "slow-webhook-response": Finder(
        deliveries(is_attempted), deliveries(lambda delivery: any(map(is_late, delivery.attempts)))
    ),
    "webhook-not-acknowledged": Finder(deliveries(is_attempted), deliveries(is_rejected)),
    "webhook-basic": Finder(
        endpoints(), endpoints(lambda endpoint: endpoint.security_profile == "BASIC")
    ),
    "webhook-certificate-unchecked": Finder(
        endpoints(),
        endpoints(
            lambda endpoint: not endpoint.ssl_verification and not is_in_development(endpoint)
        ),
    ),
    "first-page-only": Finder(requests(is_long_list), first_pages),
    "small-pages": Finder(requests(is_long_list), small_pages),
    "beyond-the-specification": Finder(
        requests(), requests(lambda request: request.operation in beyond())
    ),
}
"""By the name of each rule in ``fixtures/audit-rules.yaml``."""
