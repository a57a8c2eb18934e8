"""Retries: what a client does about a refusal, a limit, a failure, and what it does so that nothing is done twice."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import pairwise

from emulator.control.audit_rules.client_history import ClientHistory, Quote, Repetition, Request, runs

HOPELESS = frozenset({400, 401, 403, 404, 405, 422})
"""Statuses after which the same request can only be refused again."""

PAUSES = (1.0, 2.0, 4.0, 8.0)
"""Seconds to wait before each retry of a 500."""

TRIES = 4
"""The first try and three more."""

SLACK = 0.05
"""Seconds by which two clocks may differ."""

MAKING = frozenset(
    {
        "createRefund",
        "createPaymentIntent",
        "createSubscription",
        "createInvoice",
        "createCheckoutSession",
        "createPaymentLink",
    }
)
"""Operations that do twice what they are asked twice."""


def again(pairs: Iterable[Repetition]) -> list[str]:
    """The second of each pair."""
    return [pair.again.id for pair in pairs]


def refused(evidence: ClientHistory) -> list[Request]:
    """Requests that were refused for good; a conflict is one unless a key may bring the first answer after all."""
    return [each for each in evidence.requests if each.status in HOPELESS or (each.status == 409 and not each.key)]


def retried_refusals(evidence: ClientHistory) -> Quote:
    """The same once more, to the same end, though nothing had changed in the world meanwhile."""
    hopeless = {each.id for each in refused(evidence)}
    return again(
        pair
        for pair in evidence.retries
        if pair.first.id in hopeless and _answers(pair.first) == _answers(pair.again) and evidence.left_alone(pair)
    )


def _answers(request: Request) -> tuple[int, str]:
    return request.status, request.code


def ignored_waits(evidence: ClientHistory) -> Quote:
    """Sent again before the seconds of ``Retry-After`` were over. Of what a limit refuses the body is not even read."""
    pairs = evidence.repeated(lambda each: each.outline, within=math.inf)
    return again(pair for pair in pairs if pair.first.status == 429 and pair.pause + SLACK < _asked(pair))


def _asked(pair: Repetition) -> float:
    seconds = pair.first.answer.get("retry_after", 0)
    return float(seconds) if isinstance(seconds, int | float) else 0.0


def failing_rows(evidence: ClientHistory) -> Iterator[list[Request]]:
    """Requests that failed on the service's side, each with the tries after it; the last one may have succeeded."""
    retried = {(pair.first.id, pair.again.id) for pair in evidence.retries}
    for group in evidence.alike(lambda each: each.words):
        for row in runs(group, lambda one, other: one.status >= 500 and (one.id, other.id) in retried):
            if len(row) > 1:
                yield row


def hasty_retries(evidence: ClientHistory) -> Quote:
    """Less than half of the pause that the guidance asks for; some chance in it is good practice."""
    for row in failing_rows(evidence):
        for pair, wanted in zip(map(Repetition._make, pairwise(row)), PAUSES, strict=False):
            if pair.pause < wanted / 2:
                yield pair.again.id


def stubborn_retries(evidence: ClientHistory) -> Quote:
    """Whatever comes after the third retry."""
    return [each.id for row in failing_rows(evidence) for each in row[TRIES:]]


def unsafe_retries(evidence: ClientHistory) -> Quote:
    """Sent again after nobody knew whether it had been done, and not under the key of the first try."""
    return again(
        pair
        for pair in evidence.retries
        if pair.first.operation in MAKING
        and (pair.first.status >= 500 or _still_running(evidence, pair.first))
        and (pair.again.key is None or pair.again.key != pair.first.key)
    )


def _still_running(evidence: ClientHistory, request: Request) -> bool:
    """Whether a conflict is with the very same request, which was being done or had been."""
    return request.code == "IDEMPOTENCY_CONFLICT" and any(
        each is not request and each.key == request.key and each.words == request.words for each in evidence.requests
    )


def reused_keys(evidence: ClientHistory) -> Quote:
    """A key that stood for something else already."""
    for group in evidence.alike(lambda each: each.key):
        for number, each in enumerate(group):
            if each.code == "IDEMPOTENCY_CONFLICT" and any(one.words != each.words for one in group[:number]):
                yield each.id


def keyless_refunds(evidence: ClientHistory) -> Quote:
    """A refund asked for without a key."""
    return [each.id for each in evidence.of("createRefund") if each.key is None]
