"""Rules about reading: polling, pages of lists, and checking a payment before delivering goods."""

from __future__ import annotations

from collections.abc import Iterator

from emulator.control.audit.client_history import PAGING, ClientHistory, Ids, Request, list_of, sequences
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
    """Requests that read an object again and again without any change, in a state that ends by itself."""

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
    """Reads of a list with more than one page."""
    return [each for each in history.requests if list_of(each) and _next(each)]


def first_pages(history: ClientHistory) -> Ids:
    """Reads of lists with more than one page of which no other page, and no other page size, was ever requested."""
    for group in history.grouped(lambda each: each.entry.path if list_of(each) else None):
        if not any(PAGING & each.query.keys() for each in group):
            yield from (each.id for each in group if _next(each))


def _next(request: Request) -> object:
    pagination = request.answer.get("pagination")
    return isinstance(pagination, dict) and pagination.get("next")


def small_pages(history: ClientHistory) -> Ids:
    """Reads of a whole list in small pages."""

    def continues(one: Request, other: Request) -> bool:
        return _number(other, "page", 1) == _number(one, "page", 1) + 1 and _gap(one, other) <= BETWEEN_PAGES

    for group in history.grouped(list_of):
        for sequence in sequences(group, continues):
            if len(sequence) >= MANY_PAGES and _number(sequence[0], "page_size", 20) < SMALL_PAGE:
                yield from (each.id for each in sequence[1:])


def _number(request: Request, name: str, default: int) -> int:
    text = request.query.get(name, "")
    return int(text) if text.isdecimal() else default


def unconfirmed(history: ClientHistory) -> Ids:
    """Paid checkout sessions that the client neither read afterwards nor received the event of."""
    if len(history.runtime.journal.entries) == MAX_REQUESTS:
        return  # the journal may have dropped the read
    for creation in completed(history):
        if not _was_notified(history, str(creation.answer["id"])) and not _was_read(
            history, str(creation.answer["id"])
        ):
            yield creation.id


def completed(history: ClientHistory) -> Iterator[Request]:
    """The requests that created a session which is complete by now."""
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
