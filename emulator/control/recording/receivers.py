"""Inboxes in the place of a recorded world's webhook receivers: a test must not need, or disturb, its application."""

from __future__ import annotations

from emulator.control.recording.exchanges import Exchange, Lookup
from emulator.control.recording.model import URL, Call, Reference

INBOXES = "/_emulator/inbox/"


def inbox(url: str, exchange: Exchange, lookup: Lookup, own: str) -> str:
    """The URL of a webhook endpoint in a recording; ``own`` is the emulator's. An inbox stays what it is."""
    path = url.removeprefix(own)
    if not path.startswith(INBOXES):
        path = f"{INBOXES}{_name(exchange) if _failure(exchange, lookup, own) else 'recorded'}"
    return f"{Reference(URL)}{path}"


def response(exchange: Exchange, lookup: Lookup, own: str) -> Call | None:
    """The call after which the inbox of a new endpoint fails as its receiver always did; None if that did not.

    It comes after the endpoint was created, since a receiver has to answer the ping that validates its URL.
    """
    if (status := _failure(exchange, lookup, own)) is None:
        return None
    return Call(
        operation="setInboxResponse",
        method="PUT",
        path=f"{INBOXES}{_name(exchange)}/response",
        status=200,
        parameters={"name": _name(exchange)},
        body={"status": status},
    )


def _name(exchange: Exchange) -> str:
    return f"recorded-{exchange.place}"


def _failure(exchange: Exchange, lookup: Lookup, own: str) -> int | None:
    """The status that the receiver of a new endpoint gave each time, unless it is 200 or the receiver is an inbox."""
    answer = exchange.answer
    if exchange.operation != "createWebhook" or not isinstance(answer, dict):
        return None
    if str(answer.get("url")).startswith(own + INBOXES):
        return None
    status = lookup.receiver_status(str(answer.get("id")))
    return None if status == 200 else status
