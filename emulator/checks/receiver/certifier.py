"""The run: all checks of a signing method in order, and the advice for those that fail; deliveries as plain values.

The values are for unit tests of a verifier: what the checks would send, and what to make of it.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator
from typing import Any, NamedTuple

import msgspec

from emulator.checks.receiver.checks import GOOD, PING, ReceiverCheck, checks_of
from emulator.checks.receiver.service_world import ServiceWorld
from emulator.core.unit_of_work import HttpResult
from emulator.engine.outbox import WebhookSender
from emulator.engine.redaction import redact_text, stars
from emulator.resources.webhooks import deliveries
from emulator.resources.webhooks.endpoints import WebhookEndpoint

EXCERPT = 200
"""Characters of a response body that are shown."""


class NoReceiver(Exception):
    """The receiver did not answer the ping; the message says why."""


class ReceiverAnswer(NamedTuple):
    """The answer to one delivery of a check, with its event type; secrets are removed from it."""

    event: str
    answer: HttpResult


class CheckResult(NamedTuple):
    """A check and the receiver's answers. After a delivery without an answer the remaining ones are not sent."""

    check: ReceiverCheck
    answers: tuple[ReceiverAnswer, ...]

    @property
    def wrong_answers(self) -> list[ReceiverAnswer]:
        """The answers that a correct receiver would not give."""
        return [each for each in self.answers if not _is_right(self.check, each.answer)]

    @property
    def passed(self) -> bool:
        """Whether every answer is right."""
        return not self.wrong_answers


async def results(service: ServiceWorld, answer_time: float) -> AsyncIterator[CheckResult]:
    """Run the checks one after the other. Raises :class:`NoReceiver` if the first one, the ping, gets no answer.

    If the valid event is not accepted, the run ends there: a receiver that rejects everything would pass the checks of
    invalid events. ``answer_time`` is the number of seconds the receiver has for each answer.
    """
    sender = WebhookSender(answer_time)
    for check in checks_of(service.endpoint.security_profile):
        result = await _run(check, service, sender)
        if check is PING and (answer := result.answers[0].answer).status_code is None:
            raise NoReceiver(answer.reason)
        yield result
        if check is GOOD and not result.passed:
            break


async def _run(check: ReceiverCheck, service: ServiceWorld, sender: WebhookSender) -> CheckResult:
    sent = check.make(service)
    answers = [_redacted(answer, service.endpoint) for answer in await check.send(sender, sent)]
    types = [msgspec.json.decode(each.body)["type"] for each in sent]
    return CheckResult(check, tuple(map(ReceiverAnswer, types, answers)))


def _redacted(answer: HttpResult, endpoint: WebhookEndpoint) -> HttpResult:
    """Mask the secrets in an answer: a receiver may echo the request, and other people read the report."""
    text = answer.body or ""
    for secret in (endpoint.secret, deliveries.credentials(endpoint)):
        text = text.replace(secret, stars(secret))
    return msgspec.structs.replace(
        answer, body=redact_text(text)[:EXCERPT], error=answer.error and redact_text(answer.error)
    )


def _is_right(check: ReceiverCheck, answer: HttpResult) -> bool:
    return answer.ok if check.expected == "accepted" else _status_class(answer) == 4


def _status_class(answer: HttpResult) -> int | None:
    return answer.status_code and answer.status_code // 100


WRONG_URL = "Is it the right URL, and does it accept POST?"
NO_ANSWER = "Answer every delivery, and answer before you do slow work. Without an answer the delivery is sent again."
REDIRECTED = "Register the URL that it redirects to: redirects are not followed (B-82)."
CRASHED = "Reject it with a 4xx such as 401: a 5xx means that your server failed, and the delivery is retried (B-84)."


def advice_for(result: CheckResult) -> str | None:
    """Return how to fix a failed check; None for one that passed."""
    if result.passed:
        return None
    answer, own = result.wrong_answers[0].answer, result.check.advice
    match _status_class(answer):
        case None:
            return f"{NO_ANSWER} {own}"
        case 3:
            return REDIRECTED
        case 4 if answer.status_code in (404, 405):
            return f"{WRONG_URL} {own}"
        case 5 if result.check.expected == "refused":
            return f"{CRASHED} {own}"
    return own


def as_json(result: CheckResult) -> dict[str, Any]:
    check = result.check
    return {
        "check": check.name,
        "passed": result.passed,
        "sent": check.sent,
        "expected": check.expected,
        "rule": check.rule,
        "answers": [
            {
                "event": event,
                "status": answer.status_code,
                "passed": _is_right(check, answer),
                "error": answer.error,
                "body": answer.body,
                "duration_ms": answer.duration_ms,
            }
            for event, answer in result.answers
        ],
        "advice": advice_for(result),
    }


# -- deliveries as plain values


def exported(service: ServiceWorld) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every delivery of every check of the endpoint's signing method, each with a name for its file.

    ``at`` is the system's time in seconds when it was signed: by it a JWT is judged, as if it arrived then.
    """
    method = service.endpoint.security_profile
    for check in checks_of(method):
        for number, sent in enumerate(check.make(service), 1):
            delivery = {
                "check": check.name,
                "sent": check.sent,
                "expected": check.expected,
                "rule": check.rule,
                "method": method,
                "webhook": service.endpoint.id,
                "at": int(time.time()),
                "headers": sent.headers,
                "body": sent.body.decode(),
            }
            yield f"{method.lower()}-{check.name}-{number}", delivery
