"""What the rules of the audit look for: secrets, retries, reading, webhooks.

Each function finds the violations of one rule in the history of a client.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import pairwise
from urllib.parse import urlsplit

from emulator.core.events import Event
from emulator.document import bundles
from emulator.engine.journal import MAX_REQUESTS
from emulator.engine.outbox import FORGED
from emulator.insight.audit.client_history import (
    PAGE_PARAMETERS,
    RETRY_WINDOW,
    ClientHistory,
    Ids,
    Repetition,
    Request,
    list_of,
    sequences,
)
from emulator.resources.checkout.checkout_sessions import CheckoutSession
from emulator.resources.webhooks.deliveries import DeliveryAttempt, WebhookDelivery
from emulator.resources.webhooks.endpoints import WebhookEndpoint, loopback
from emulator.web.service_app import sandbox_only

# -- secrets, and operations that only the sandbox has


SECRET = re.compile(r"(?i)(sk_(test|prod)_|whsec_)\*{4}")
"""The beginnings of secrets, and how the journal masks the rest."""


def exposed_secrets(history: ClientHistory) -> Ids:
    """Return requests with a secret key, or an endpoint's secret, in the URL or the body."""
    return [each.id for each in history.requests if SECRET.search(each.text)]


def from_browsers(history: ClientHistory) -> Ids:
    """Return requests sent by pages of other sites; the emulator's own API explorer is not one."""
    return [each.id for each in history.requests if _is_foreign(each)]


def _is_foreign(request: Request) -> bool:
    origin, host = (request.headers.get(name, b"").decode("latin-1") for name in (b"origin", b"host"))
    return bool(origin) and _netloc(origin) != host.lower()


def _netloc(origin: str) -> str | None:
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return None


def beyond(history: ClientHistory) -> Ids:
    """Return requests for operations that the specification of the service does not have."""
    return [each.id for each in history.of(*_beyond())]


@cache
def _beyond() -> frozenset[str]:
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


def second_ids(pairs: Iterable[Repetition]) -> list[str]:
    return [pair.again.id for pair in pairs]


def permanent_errors(history: ClientHistory) -> list[Request]:
    """Return requests with an error that a retry cannot change; a 409 is one unless there is an Idempotency-Key."""
    return [each for each in history.requests if each.status in PERMANENT or (each.status == 409 and not each.key)]


def retried_refusals(history: ClientHistory) -> Ids:
    """Return retries with the same error, while nothing changed in the world between."""
    permanent = {each.id for each in permanent_errors(history)}
    return second_ids(
        pair
        for pair in history.retries
        if pair.first.id in permanent and _outcome(pair.first) == _outcome(pair.again) and history.world_unchanged(pair)
    )


def _outcome(request: Request) -> tuple[int, str]:
    return request.status, request.code


def ignored_waits(history: ClientHistory) -> Ids:
    """Return requests sent again before ``Retry-After`` was over. It compares outlines: after a 429 the body is not read."""
    pairs = history.repeated(lambda each: each.outline, within=math.inf)
    return second_ids(
        pair
        for pair in pairs
        if pair.first.status == 429 and _is_early(history, pair, _retry_after(pair) - CLOCK_TOLERANCE)
    )


def _retry_after(pair: Repetition) -> float:
    seconds = pair.first.answer.get("retry_after", 0)
    return float(seconds) if isinstance(seconds, int | float) else 0.0


def failed_sequences(history: ClientHistory) -> Iterator[list[Request]]:
    """Yield requests with a 5xx, each with its retries; the last one may have succeeded.

    One that comes after a long pause, in real time or the world's, is not a retry but another attempt of a buyer (B-100).
    """
    retried = {(pair.first.id, pair.again.id) for pair in history.retries if pair.waited <= RETRY_WINDOW}
    for group in history.grouped(lambda each: each.content):
        for sequence in sequences(group, lambda one, other: one.status >= 500 and (one.id, other.id) in retried):
            if len(sequence) > 1:
                yield sequence


def hasty_retries(history: ClientHistory) -> Ids:
    """Yield retries after less than half of the recommended pause; random variation of pauses is good practice."""
    for sequence in failed_sequences(history):
        for pair, wanted in zip(map(Repetition._make, pairwise(sequence)), PAUSES, strict=False):
            if _is_early(history, pair, wanted / 2):
                yield pair.again.id


def _is_early(history: ClientHistory, pair: Repetition, wanted: float) -> bool:
    """Return whether a request was sent again in fewer than these seconds.

    A read that succeeded, and that was sent after them all the same, is another one, such as that of a second webhook.
    """
    if pair.waited >= wanted or pair.again.status >= 400:
        return pair.waited < wanted
    pauses = [
        each.entry.began - pair.first.entry.answered
        for each in history.requests
        if each.outline == pair.first.outline and each.entry.method == "GET"
    ]
    return not any(wanted <= pause <= wanted + RETRY_WINDOW for pause in pauses)


def stubborn_retries(history: ClientHistory) -> Ids:
    return [each.id for sequence in failed_sequences(history) for each in sequence[MAX_TRIES:]]


LONG_SECONDS = 32.0
"""Seconds of a response after which its client has no time limit: one of 30 is over then."""


HELPERS = b"payments-emulator"
"""The user agent of the helpers for tests (``client/api.py`` and the module for Node), which wait as long as it takes."""


def seconds_of(request: Request) -> float:
    """Return how long the response took (real time)."""
    return request.entry.answered - request.entry.began


def unlimited_waits(history: ClientHistory) -> list[str]:
    """Return requests whose client waited for the response however long that took."""
    return [
        each.id
        for each in history.requests
        if seconds_of(each) > LONG_SECONDS and each.headers.get(b"user-agent") != HELPERS
    ]


def unsafe_retries(history: ClientHistory) -> Ids:
    """Return retries of requests that may have succeeded, without the Idempotency-Key of the first one."""
    return second_ids(
        pair
        for pair in history.retries
        if pair.first.operation in CREATING
        and (pair.first.status >= 500 or _still_running(history, pair.first))
        and (pair.again.key is None or pair.again.key != pair.first.key)
    )


def _still_running(history: ClientHistory, request: Request) -> bool:
    """Return whether a conflict is with the same request, still running or done, and not with another one."""
    return request.code == "IDEMPOTENCY_CONFLICT" and any(
        each is not request and each.key == request.key and each.content == request.content for each in history.requests
    )


def reused_keys(history: ClientHistory) -> Ids:
    """Yield requests with a key that was used for another request."""
    for group in history.grouped(lambda each: each.key):
        for number, each in enumerate(group):
            if each.code == "IDEMPOTENCY_CONFLICT" and any(one.content != each.content for one in group[:number]):
                yield each.id


def keyless_refunds(history: ClientHistory) -> Ids:
    return [each.id for each in history.of("createRefund") if each.key is None]


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


def polling(history: ClientHistory) -> Ids:
    """Yield requests that read an object again and again without any change, in a state that ends by itself."""

    def waits(each: Request) -> bool:
        return each.answer.get("status") in WAITING.get(each.operation, ())

    def continues(one: Request, other: Request) -> bool:
        return waits(other) and one.entry.answer == other.entry.answer and _gap(one, other) <= BETWEEN_READS

    for group in history.grouped(lambda each: each.entry.path if each.operation in WAITING else None):
        for sequence in sequences(group, continues):
            if len(sequence) >= MANY_READS and waits(sequence[0]):
                yield from (each.id for each in sequence)


def _gap(one: Request, other: Request) -> float:
    return other.entry.began - one.entry.began


def long_lists(history: ClientHistory) -> list[Request]:
    """Return reads of a list with more than one page."""
    return [each for each in history.requests if list_of(each) and _next(each)]


def first_pages(history: ClientHistory) -> Ids:
    """Yield reads of lists with several pages if no other page, and no other page size, was ever requested."""
    for group in history.grouped(lambda each: each.entry.path if list_of(each) else None):
        if not any(PAGE_PARAMETERS & each.query.keys() for each in group):
            yield from (each.id for each in group if _next(each))


def _next(request: Request) -> object:
    pagination = request.answer.get("pagination")
    return isinstance(pagination, dict) and pagination.get("next")


def small_pages(history: ClientHistory) -> Ids:
    def continues(one: Request, other: Request) -> bool:
        return _number(other, "page", 1) == _number(one, "page", 1) + 1 and _gap(one, other) <= BETWEEN_PAGES

    for group in history.grouped(list_of):
        for sequence in sequences(group, continues):
            if len(sequence) >= MANY_PAGES and _number(sequence[0], "page_size", 20) < SMALL_PAGE:
                yield from (each.id for each in sequence[1:])


def _number(request: Request, name: str, default: int) -> int:
    text = request.query.get(name, "")
    return int(text) if text.isdecimal() else default


def placeholders(history: ClientHistory) -> list[Request]:
    """Return requests for a session with the placeholder of its id in an address."""
    return [each for each in history.of("createCheckoutSession") if "CHECKOUT_SESSION_ID" in each.text]


def escaped_placeholders(history: ClientHistory) -> Ids:
    """Return those in which it is percent-encoded, and so is not replaced."""
    return [each.id for each in placeholders(history) if re.search("(?i)%7BCHECKOUT_SESSION_ID%7D", each.text)]


def unconfirmed(history: ClientHistory) -> Ids:
    """Yield paid checkout sessions that the client neither read afterwards nor received the event of."""
    if len(history.runtime.journal.entries) == MAX_REQUESTS:
        return  # the journal may have dropped the read
    for creation in _completed(history):
        id = str(creation.answer["id"])
        if not _was_notified(history, id) and not _was_read(history, id):
            yield creation.id


def is_confirmed(history: ClientHistory) -> bool:
    """Return whether the client read each paid session. What it makes of an event that it acknowledged cannot be seen."""
    ids = [str(creation.answer["id"]) for creation in _completed(history)]
    return bool(ids) and all(_was_read(history, id) for id in ids)


def _completed(history: ClientHistory) -> Iterator[Request]:
    """Yield the requests that created a session which is complete by now."""
    for each in history.of("createCheckoutSession"):
        session = history.world.get(CheckoutSession, each.answer.get("id"))
        if each.status == 201 and session is not None and session.status == "complete":
            yield each


def _was_read(history: ClientHistory, id: str) -> bool:
    sessions = [each.answer for each in history.of("getCheckoutSession")]
    sessions += [item for each in history.of("listCheckoutSessions") for item in each.answer.get("data", [])]
    return any(session.get("id") == id and session.get("status") == "complete" for session in sessions)


def _was_notified(history: ClientHistory, id: str) -> bool:
    events = history.world.table(Event).where("type", "checkout.session.completed")
    return any(
        delivery.status == "succeeded"
        for event in events
        if event.about == id
        for delivery in history.world.table(WebhookDelivery).where("event", event.id)
    )


# -- webhooks: how a client has them signed, and how its receiver answers


SLOW_MS = 5000
"""Milliseconds (real time) above which an answer is slow; after 10 s an attempt has failed."""

LATE = "no answer within"
"""The beginning of the error of an attempt that was not answered in time."""


def attempted(history: ClientHistory) -> list[WebhookDelivery]:
    """Return the deliveries that reached a receiver."""
    return [
        each
        for each in history.deliveries
        if any(attempt.status_code is not None or _is_late(attempt) for attempt in each.attempts)
    ]


def _is_late(attempt: DeliveryAttempt) -> bool:
    return (attempt.error or "").startswith(LATE) or (attempt.status_code is not None and attempt.duration_ms > SLOW_MS)


def slow(history: ClientHistory) -> Ids:
    """Return deliveries that were answered slowly or not in time."""
    return [each.id for each in history.deliveries if any(map(_is_late, each.attempts))]


def unacknowledged(history: ClientHistory) -> Ids:
    """Return failed deliveries whose last answer was not 2xx; attempts without any answer do not count."""
    return [
        each.id
        for each in history.deliveries
        if each.status == "failed" and each.attempts and (each.attempts[-1].status_code or 0) >= 300
    ]


def accepted_tampered(history: ClientHistory) -> Ids:
    """Return acknowledged deliveries that were tampered with, or that had a forged copy."""
    tampered = [each.id for each in history.tampered if (each.attempts[-1].status_code or 500) < 300]
    return tampered + [
        each.id for each in history.forged if any(one.error == f"{FORGED}accepted" for one in each.attempts)
    ]


def endpoints_that(condition: Callable[[WebhookEndpoint], bool]) -> Callable[[ClientHistory], Ids]:
    """Return a check that finds the endpoints for which a condition is true."""
    return lambda history: [each.id for each in history.endpoints if condition(each)]


def is_in_development(endpoint: WebhookEndpoint) -> bool:
    """Return whether an endpoint is on this machine, of a test App: what goes there need not be protected."""
    return not endpoint.livemode and loopback(urlsplit(endpoint.url).hostname or "")
