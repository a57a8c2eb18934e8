"""Rules about retries: after errors, after limits, after failures, and with an Idempotency-Key."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import pairwise

from emulator.control.audit.client_history import ClientHistory, Ids, Repetition, Request, sequences

PERMANENT = frozenset({400, 401, 403, 404, 405, 422})
"""Statuses that the same request will get again."""

PAUSES = (1.0, 2.0, 4.0, 8.0)
"""Seconds to wait before each retry after a 5xx."""

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
    """The ids of the second requests."""
    return [pair.again.id for pair in pairs]


def permanent_errors(history: ClientHistory) -> list[Request]:
    """Requests with an error that a retry cannot change; a 409 is one unless there is an Idempotency-Key."""
    return [each for each in history.requests if each.status in PERMANENT or (each.status == 409 and not each.key)]


def retried_refusals(history: ClientHistory) -> Ids:
    """Retries with the same error, while nothing changed in the world between."""
    permanent = {each.id for each in permanent_errors(history)}
    return second_ids(
        pair
        for pair in history.retries
        if pair.first.id in permanent and _outcome(pair.first) == _outcome(pair.again) and history.world_unchanged(pair)
    )


def _outcome(request: Request) -> tuple[int, str]:
    return request.status, request.code


def ignored_waits(history: ClientHistory) -> Ids:
    """Requests sent again before ``Retry-After`` was over. Compared by outline: after a 429 the body is not read."""
    pairs = history.repeated(lambda each: each.outline, within=math.inf)
    return second_ids(
        pair for pair in pairs if pair.first.status == 429 and pair.pause + CLOCK_TOLERANCE < _retry_after(pair)
    )


def _retry_after(pair: Repetition) -> float:
    seconds = pair.first.answer.get("retry_after", 0)
    return float(seconds) if isinstance(seconds, int | float) else 0.0


def failed_sequences(history: ClientHistory) -> Iterator[list[Request]]:
    """Requests with a 5xx, each with its retries; the last one may have succeeded."""
    retried = {(pair.first.id, pair.again.id) for pair in history.retries}
    for group in history.grouped(lambda each: each.content):
        for sequence in sequences(group, lambda one, other: one.status >= 500 and (one.id, other.id) in retried):
            if len(sequence) > 1:
                yield sequence


def hasty_retries(history: ClientHistory) -> Ids:
    """Retries after less than half of the recommended pause; random variation of pauses is good practice."""
    for sequence in failed_sequences(history):
        for pair, wanted in zip(map(Repetition._make, pairwise(sequence)), PAUSES, strict=False):
            if pair.pause < wanted / 2:
                yield pair.again.id


def stubborn_retries(history: ClientHistory) -> Ids:
    """Retries after the third one."""
    return [each.id for sequence in failed_sequences(history) for each in sequence[MAX_TRIES:]]


def unsafe_retries(history: ClientHistory) -> Ids:
    """Retries of requests that may have succeeded, without the Idempotency-Key of the first one."""
    return second_ids(
        pair
        for pair in history.retries
        if pair.first.operation in CREATING
        and (pair.first.status >= 500 or _still_running(history, pair.first))
        and (pair.again.key is None or pair.again.key != pair.first.key)
    )


def _still_running(history: ClientHistory, request: Request) -> bool:
    """Whether a conflict is with the same request, still running or done, and not with another one."""
    return request.code == "IDEMPOTENCY_CONFLICT" and any(
        each is not request and each.key == request.key and each.content == request.content for each in history.requests
    )


def reused_keys(history: ClientHistory) -> Ids:
    """Requests with a key that was used for another request."""
    for group in history.grouped(lambda each: each.key):
        for number, each in enumerate(group):
            if each.code == "IDEMPOTENCY_CONFLICT" and any(one.content != each.content for one in group[:number]):
                yield each.id


def keyless_refunds(history: ClientHistory) -> Ids:
    """Refunds without a key."""
    return [each.id for each in history.of("createRefund") if each.key is None]
