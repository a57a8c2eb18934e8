"""Reading: whether a client waits to be told, takes lists as they are meant, and looks before it delivers goods."""

from __future__ import annotations

from collections.abc import Iterator

from emulator.control.audit_rules.client_history import PAGING, ClientHistory, Quote, Request, of_list, runs
from emulator.core.events import Event
from emulator.engine.journal import MAX_REQUESTS
from emulator.resources.checkout.checkout_sessions import CheckoutSession
from emulator.resources.webhooks.deliveries import WebhookDelivery

WAITING = {
    "getCheckoutSession": frozenset({"open", "processing"}),
    "getPaymentIntent": frozenset({"requires_action", "processing"}),
    "getRefund": frozenset({"pending", "processing"}),
    "getTransaction": frozenset({"pending", "approved"}),
    "getInvoice": frozenset({"open"}),
}
"""Operations that read one object, with the states of it that somebody may wait in."""

MANY_READS = 10
"""Reads of one object, in a row and to no avail, that are no longer chance."""

BETWEEN_READS = 30.0
"""Seconds (real time) that may lie between two of them."""

MANY_PAGES = 5
"""Pages read one after the other by somebody who reads the whole list."""

SMALL_PAGE = 50
BETWEEN_PAGES = 2.0


def polling(evidence: ClientHistory) -> Quote:
    """The same object read again and again, waiting, and always the same."""

    def waits(each: Request) -> bool:
        return each.answer.get("status") in WAITING.get(each.operation, ())

    def goes_on(one: Request, other: Request) -> bool:
        return waits(other) and one.entry.answer == other.entry.answer and _gap(one, other) <= BETWEEN_READS

    for group in evidence.alike(lambda each: each.entry.path if each.operation in WAITING else None):
        for row in runs(group, goes_on):
            if len(row) >= MANY_READS and waits(row[0]):
                yield from (each.id for each in row)


def _gap(one: Request, other: Request) -> float:
    return other.entry.began - one.entry.began


def long_lists(evidence: ClientHistory) -> list[Request]:
    """Reads of a list that has more pages than one."""
    return [each for each in evidence.requests if of_list(each) and _next(each)]


def cut_lists(evidence: ClientHistory) -> Quote:
    """A list with more than one page, of which nobody ever asked for another one, or for a size of his own."""
    for group in evidence.alike(lambda each: each.entry.path if of_list(each) else None):
        if not any(PAGING & each.query.keys() for each in group):
            yield from (each.id for each in group if _next(each))


def _next(request: Request) -> object:
    pagination = request.answer.get("pagination")
    return isinstance(pagination, dict) and pagination.get("next")


def small_pages(evidence: ClientHistory) -> Quote:
    """A whole list read by a program, few objects at a time."""

    def goes_on(one: Request, other: Request) -> bool:
        return _number(other, "page", 1) == _number(one, "page", 1) + 1 and _gap(one, other) <= BETWEEN_PAGES

    for group in evidence.alike(of_list):
        for row in runs(group, goes_on):
            if len(row) >= MANY_PAGES and _number(row[0], "page_size", 20) < SMALL_PAGE:
                yield from (each.id for each in row[1:])


def _number(request: Request, name: str, default: int) -> int:
    text = request.query.get(name, "")
    return int(text) if text.isdecimal() else default


def unconfirmed(evidence: ClientHistory) -> Quote:
    """Sessions of the client that were paid, and it neither read that nor was told."""
    if len(evidence.runtime.journal.entries) == MAX_REQUESTS:
        return  # the read may have been there, and is forgotten
    for made in completed(evidence):
        if not _was_told(evidence, str(made.answer["id"])) and not _was_read(evidence, str(made.answer["id"])):
            yield made.id


def completed(evidence: ClientHistory) -> Iterator[Request]:
    """The requests that made a session which is complete by now."""
    for each in evidence.of("createCheckoutSession"):
        session = evidence.world.get(CheckoutSession, each.answer.get("id"))
        if each.status == 201 and session is not None and session.status == "complete":
            yield each


def _was_read(evidence: ClientHistory, id: str) -> bool:
    shown = [each.answer for each in evidence.of("getCheckoutSession")]
    shown += [item for each in evidence.of("listCheckoutSessions") for item in each.answer.get("data", [])]
    return any(session.get("id") == id and session.get("status") == "complete" for session in shown)


def _was_told(evidence: ClientHistory, id: str) -> bool:
    events = evidence.world.table(Event).where("type", "checkout.session.completed")
    return any(
        delivery.status == "succeeded"
        for event in events
        if event.about == id
        for delivery in evidence.world.table(WebhookDelivery).where("event", event.id)
    )
