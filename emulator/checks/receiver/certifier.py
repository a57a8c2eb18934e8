"""The run: all checks of a signing method in order, and the advice for those that fail."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import NamedTuple

import msgspec

from emulator.checks.receiver.checks import GOOD, PING, ReceiverCheck, checks_of
from emulator.checks.receiver.service_world import ServiceWorld
from emulator.checks.report import Finding, Report
from emulator.checks.runs import counted
from emulator.core.unit_of_work import HttpResult
from emulator.engine.http_client import WebhookSender
from emulator.engine.redaction import redact_text, stars
from emulator.resources.webhooks import deliveries
from emulator.resources.webhooks.endpoints import WebhookEndpoint

EXCERPT = 200
"""Characters of a response body that are shown."""


class NoReceiver(Exception):
    """The receiver did not respond to the ping; the message says why."""


class ReceiverResponse(NamedTuple):
    """The response to one delivery of a check, with its event type; secrets are removed from it."""

    event: str
    response: HttpResult

    @property
    def status_class(self) -> int | None:
        return self.response.status_code and self.response.status_code // 100


class CheckResult(NamedTuple):
    """A check and the receiver's responses. After a delivery without one no other is sent."""

    check: ReceiverCheck
    responses: tuple[ReceiverResponse, ...]

    @property
    def wrong_responses(self) -> list[ReceiverResponse]:
        """The responses that a correct receiver would not give."""
        right = 2 if self.check.expected == "accepted" else 4
        return [response for response in self.responses if response.status_class != right]

    @property
    def passed(self) -> bool:
        return not self.wrong_responses


async def results(service: ServiceWorld, response_time: float) -> AsyncIterator[CheckResult]:
    """Run the checks in turn. Raises :class:`NoReceiver` if the first, a ping, gets no response.

    If the valid event is not accepted, the run ends there: a receiver that rejects everything would
    pass the checks of invalid events. ``response_time`` is the number of seconds that the
    receiver has for each response.
    """
    sender = WebhookSender(response_time)
    for check in checks_of(service.endpoint.security_profile):
        sent = check.make(service)
        responses = [
            _redacted(response, service.endpoint) for response in await check.send(sender, sent)
        ]
        if check is PING and responses[0].status_code is None:
            raise NoReceiver(responses[0].reason)
        types = [msgspec.json.decode(request.body)["type"] for request in sent]
        result = CheckResult(check, tuple(map(ReceiverResponse, types, responses)))
        yield result
        if check is GOOD and not result.passed:
            break


def _redacted(response: HttpResult, endpoint: WebhookEndpoint) -> HttpResult:
    """Mask a response's secrets: a receiver may echo the request, and others read the report."""
    text = response.body or ""
    for secret in (endpoint.secret, deliveries.credentials(endpoint)):
        text = text.replace(secret, stars(secret))
    return msgspec.structs.replace(
        response,
        body=redact_text(text)[:EXCERPT],
        error=response.error and redact_text(response.error),
    )


WRONG_URL = "Is it the right URL, and does it accept POST?"
NO_RESPONSE = (
    "Respond to every delivery, and respond before you do slow work. Without a response the"
    " delivery is sent again."
)
FAILED = "Your receiver failed with an error of its own: look at its log."
UNUSED = "Respond to events that you do not use with a 2xx."
REDIRECTED = "Register the URL that it redirects to: redirects are not followed (B-82)."
CRASHED = (
    "Reject it with a 4xx such as 401: a 5xx means that your server failed, and the delivery is"
    " retried (B-84)."
)


def advice_for(result: CheckResult) -> str | None:
    """Return how to fix a failed check; None for one that passed."""
    if result.passed:
        return None
    check, wrong = result.check, result.wrong_responses[0]
    code, status = wrong.response.status_code or 0, wrong.status_class
    own = check.by_status.get(code, check.advice)
    if status == 3:
        return REDIRECTED
    if status == 5 and check.expected == "accepted":
        # Advice about signatures (B-83) is for one that was rejected.
        return f"{FAILED} {UNUSED if 'B-83' in check.rule else own}"
    before = WRONG_URL if code in (404, 405) else {None: NO_RESPONSE, 5: CRASHED}.get(status, "")
    return f"{before} {own}".strip()


BADNESS = {2: 0, 5: 1, None: 2}
"""A failed check's badness by response: accepted forgery, error, silence; 3 for anything else."""


# -- the report


def report(results: Sequence[CheckResult], service: ServiceWorld, response_time: float) -> Report:
    """Return the report: one finding for each check that failed, the worst first."""
    method, total = service.endpoint.security_profile, counted(len(results), "check")
    failed = [result for result in results if not result.passed]
    names = {result.check.name for result in failed}
    failed.sort(
        key=lambda result: (
            BADNESS.get(result.wrong_responses[0].status_class, 3),
            result.check.follows in names,
        )
    )
    verdict = f"{len(failed)} of {total} failed" if failed else f"All {total} passed"
    return Report(
        "test receiver",
        f"{verdict} ({method}, {response_time:g} s for a response).",
        [*map(_finding, failed)],
        right=[result.check.name for result in results if result.passed],
        notes=[*_notes(results, service)],
        facts={"checks": [_row(result) for result in results]},
    )


def _row(result: CheckResult) -> dict[str, object]:
    check, wrong = result.check, result.wrong_responses
    responses = [
        {
            "event": response.event,
            "status": response.response.status_code,
            "passed": response not in wrong,
            "error": response.response.error,
            "body": response.response.body,
            "duration_ms": response.response.duration_ms,
        }
        for response in result.responses
    ]
    facts = {
        "sent": check.sent,
        "expected": check.expected,
        "rule": check.rule,
        "answers": responses,
    }
    return {"check": check.name, "passed": not wrong, **facts, "advice": advice_for(result)}


def _finding(result: CheckResult) -> Finding:
    check = result.check
    status, wanted = ("2xx", "accepted") if check.expected == "accepted" else ("4xx", "rejected")
    details = [
        f"{check.name}: expected: a {status} ({check.rule})",
        f"got: {'; '.join(_got(result.wrong_responses))}",
    ]
    title = f"{check.sent}: not {wanted}"
    return Finding(check.name, title[0].upper() + title[1:], details, advice_for(result) or "")


def _got(wrong: Sequence[ReceiverResponse]) -> Iterator[str]:
    """Yield each wrong response once, with its body and the types of the events it responds to."""
    groups: dict[str, list[ReceiverResponse]] = {}
    for response in wrong:
        groups.setdefault(response.response.error or str(response.response.status_code), []).append(
            response
        )
    for outcome, alike in groups.items():
        body = f", saying {alike[0].response.body!r}" if alike[0].response.body else ""
        events = ", ".join(dict.fromkeys(response.event for response in alike))
        yield f"{outcome} to {events}{body}"


def _notes(results: Sequence[CheckResult], service: ServiceWorld) -> Iterator[str]:
    if left := len(checks_of(service.endpoint.security_profile)) - len(results):
        yield (
            f"{counted(left, 'check')} not run: a receiver that rejects the valid event rejects the"
            " others as well."
        )
    valid = [result for result in results if result.check.expected == "accepted"]
    if not service.is_readable and not all(result.passed for result in valid):
        with_url = (
            "they exist only with --url (PAYMENTS_EMULATOR_URL), which names the emulator that it"
            " reads from"
        )
        yield f"If the receiver reads the objects of events: {with_url}."
    statuses = {
        response.response.status_code
        for result in valid
        for response in result.responses
        if response.response.ok
    }
    if others := sorted(status for status in statuses if status and status != 200):
        yield (
            f"The specification requires a 200 (Delivery rule 2); accepting {others[0]} is an"
            " assumption (B-84)."
        )
