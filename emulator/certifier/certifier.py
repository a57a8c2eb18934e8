"""The run: every check of a method in order, and what is to be said of each answer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, NamedTuple

import msgspec

from emulator.certifier.checks import GOOD, PING, ReceiverCheck, checks_of
from emulator.certifier.service_world import ServiceWorld
from emulator.core.effects import HttpResult
from emulator.engine.webhook_sender import WebhookSender
from emulator.resources.webhooks import signing
from emulator.resources.webhooks.endpoints import WebhookEndpoint

EXCERPT = 200
"""Characters of an answer's body that are shown."""


class Unreachable(Exception):
    """The receiver did not answer the ping at all; the message says why."""


class ReceiverAnswer(NamedTuple):
    """One delivery of a check: the type of its event and what came back, without the secret in it."""

    event: str
    answer: HttpResult


class Finding(NamedTuple):
    """A check and how the receiver did. Deliveries after one that got no answer are not made."""

    check: ReceiverCheck
    replies: tuple[ReceiverAnswer, ...]

    @property
    def faults(self) -> list[ReceiverAnswer]:
        """The answers that are not those of a good receiver."""
        return [reply for reply in self.replies if not _right(self.check, reply.answer)]

    @property
    def passed(self) -> bool:
        """Whether there are none."""
        return not self.faults


async def findings(service: ServiceWorld, answer_time: float) -> AsyncIterator[Finding]:
    """Make the checks one after the other. Raises :class:`Unreachable` where the ping, the first, gets no answer.

    The good event is the last check where it is not accepted: a receiver that takes none refuses the bad ones too, and
    that says nothing. ``answer_time`` is how many seconds the receiver has for each delivery.
    """
    postman = WebhookSender(answer_time)
    for check in checks_of(service.endpoint.security_profile):
        finding = await _made(check, service, postman)
        if check is PING and (answer := finding.replies[0].answer).status_code is None:
            raise Unreachable(answer.reason)
        yield finding
        if check is GOOD and not finding.passed:
            break


async def _made(check: ReceiverCheck, service: ServiceWorld, postman: WebhookSender) -> Finding:
    sent = check.make(service)
    answers = [_discreet(answer, service.endpoint) for answer in await check.way(postman, sent)]
    types = [msgspec.json.decode(each.body)["type"] for each in sent]
    return Finding(check, tuple(map(ReceiverAnswer, types, answers)))


def _discreet(answer: HttpResult, endpoint: WebhookEndpoint) -> HttpResult:
    """A receiver may answer with what it was sent; reports are read by others."""
    text = answer.body or ""
    for told in (endpoint.secret, signing.credentials(endpoint)):
        text = text.replace(told, "…")
    return msgspec.structs.replace(answer, body=text[:EXCERPT])


def _right(check: ReceiverCheck, answer: HttpResult) -> bool:
    return answer.ok if check.expected == "accepted" else _kind(answer) == 4


def _kind(answer: HttpResult) -> int | None:
    return answer.status_code and answer.status_code // 100


MISPLACED = "Is it the right address, and does it take POST?"
NO_ANSWER = (
    "Answer every delivery, and first of all: what takes time is done afterwards. Without an answer it comes again."
)
REDIRECTED = "Register the address that it redirects to: redirects are not followed (B-82)."
CRASHED = "Refuse it with a 4xx, such as 401: a 5xx is a failure of yours, and has deliveries sent again (B-84)."


def advice_for(finding: Finding) -> str | None:
    """What to do about a check that failed."""
    if finding.passed:
        return None
    answer, own = finding.faults[0].answer, finding.check.advice
    match _kind(answer):
        case None:
            return f"{NO_ANSWER} {own}"
        case 3:
            return REDIRECTED
        case 4 if answer.status_code in (404, 405):
            return f"{MISPLACED} {own}"
        case 5 if finding.check.expected == "refused":
            return f"{CRASHED} {own}"
    return own


def as_json(finding: Finding) -> dict[str, Any]:
    """The finding as plain values."""
    check = finding.check
    return {
        "check": check.name,
        "passed": finding.passed,
        "sent": check.sent,
        "expected": check.expected,
        "rule": check.rule,
        "answers": [
            {
                "event": event,
                "status": answer.status_code,
                "passed": _right(check, answer),
                "error": answer.error,
                "body": answer.body,
                "duration_ms": answer.duration_ms,
            }
            for event, answer in finding.replies
        ],
        "advice": advice_for(finding),
    }
