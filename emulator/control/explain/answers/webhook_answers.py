"""How events, deliveries and endpoints stand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from emulator.control.explain.answers.answer import AnswerWriter
from emulator.control.names import name_of
from emulator.core.events import Event
from emulator.core.records import Record
from emulator.resources.webhooks.deliveries import WebhookDelivery
from emulator.resources.webhooks.endpoints import WebhookEndpoint


def _delivery(answer: AnswerWriter, each: WebhookDelivery) -> list[str]:
    endpoint = name_of(answer.world, each.webhook, answer.language) or each.webhook
    last = each.attempts[-1] if each.attempts else None
    if each.status == "succeeded":
        arrived = answer.ngettext(
            "Delivered to {endpoint} at the first attempt.",
            "Delivered to {endpoint} after {count} attempts.",
            each.attempt_count,
            endpoint=endpoint,
        )
        return [arrived]
    if last is None:
        return [answer.gettext("Not sent to {endpoint} yet.", endpoint=endpoint), answer.next()]
    failed = answer.ngettext(
        "Not delivered to {endpoint}: 1 attempt, which got {result}.",
        "Not delivered to {endpoint}: {count} attempts, the last of which got {result}.",
        each.attempt_count,
        endpoint=endpoint,
        result=last.status_code or last.error or answer.gettext("no answer"),
    )
    return [failed, answer.next()]


def _endpoint(answer: AnswerWriter, each: WebhookEndpoint) -> list[str]:
    deliveries = answer.world.table(WebhookDelivery).where("webhook", each.id)
    failed = sum(one.status == "failed" for one in deliveries)
    waiting = sum(one.status == "pending" for one in deliveries)
    return [
        "" if each.enabled else answer.gettext("Switched off: it is sent nothing."),
        answer.ngettext("1 delivery so far.", "{count} deliveries so far.", len(deliveries)),
        answer.ngettext("1 failed.", "{count} failed.", failed) if failed else "",
        answer.ngettext("1 will be retried.", "{count} will be retried.", waiting) if waiting else "",
    ]


def _event(answer: AnswerWriter, each: Event) -> list[str]:
    deliveries = answer.world.table(WebhookDelivery).where("event", each.id)
    if not deliveries:
        return [answer.gettext("No endpoint is registered for it, so it was sent nowhere.")]
    arrived = sum(one.status == "succeeded" for one in deliveries)
    sent = answer.ngettext("Sent to 1 endpoint;", "Sent to {count} endpoints;", len(deliveries))
    return [
        sent,
        answer.ngettext("1 accepted it.", "{count} accepted it.", arrived)
        if arrived
        else answer.gettext("none accepted it."),
    ]


ANSWERS: Mapping[type[Record], Callable[[AnswerWriter, Any], list[str]]] = {
    WebhookDelivery: _delivery,
    WebhookEndpoint: _endpoint,
    Event: _event,
}
