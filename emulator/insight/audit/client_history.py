"""A client's history: a world's requests and deliveries in the journal, ready for the rules."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from emulator.core import calendar
from emulator.core.unit_of_work import Event
from emulator.core.world import World, json_object
from emulator.engine.inbox import PREFIX as INBOXES
from emulator.engine.journal import Journal
from emulator.engine.logged_requests import LoggedRequest, redacted_text
from emulator.engine.reading import View
from emulator.resources.webhooks.deliveries import WebhookDelivery
from emulator.resources.webhooks.endpoints import WebhookEndpoint
from emulator.web.root_app import SERVICE

RETRY_WINDOW = 60.0
"""Seconds (real time) within which the same request counts as a retry of the one before."""

PAGE_PARAMETERS = frozenset({"page", "page_size"})


class Request:
    """One request to the service, parsed on demand. ``number`` is its place in the journal."""

    def __init__(self, entry: LoggedRequest, number: int) -> None:
        self.entry = entry
        self.number = number
        self.id: str = entry.id
        self.operation: str = entry.operation or ""
        self.status: int = entry.status

    @cached_property
    def headers(self) -> dict[bytes, bytes]:
        return dict(self.entry.headers)

    @property
    def key(self) -> bytes | None:
        return self.headers.get(b"idempotency-key")

    @cached_property
    def query(self) -> dict[str, str]:
        pairs = (
            part.partition("=") for part in self.entry.query.decode("latin-1").split("&") if part
        )
        return {name: value for name, _, value in pairs}

    @cached_property
    def response(self) -> dict[str, Any]:
        return json_object(self.entry.response)

    @property
    def code(self) -> str:
        return (self.entry.error_code or "").upper()

    @property
    def content(self) -> Hashable:
        """Return method, path, query and body, to find equal requests; None if no body was read."""
        has_body = (
            b"transfer-encoding" in self.headers
            or self.headers.get(b"content-length", b"0") != b"0"
        )
        return None if has_body and not self.entry.body else (*self.outline, self.entry.body)

    @property
    def identity(self) -> Hashable:
        """Return the same for a request and its retries: by Idempotency-Key, else by content.

        None if there is no key and the body was not read, as that of a request beyond a limit.
        """
        return (self.entry.method, self.entry.path, self.key) if self.key else self.content

    @property
    def outline(self) -> tuple[Hashable, ...]:
        """Method, path, query and length, which are known even if the body was not read."""
        return (
            self.entry.method,
            self.entry.path,
            self.entry.query,
            self.headers.get(b"content-length"),
        )

    @property
    def text(self) -> str:
        """Path, query and body as text. Keys in it are masked, but can be recognised as keys."""
        return f"{self.entry.target} {redacted_text(self.entry.body)}"


class Repetition(NamedTuple):
    """A request, and the next equal one, sent after the response to the first."""

    first: Request
    again: Request

    @property
    def pause(self) -> float:
        """Seconds (real time) between the response and the second request."""
        return self.again.entry.began - self.first.entry.answered

    @property
    def waited(self) -> float:
        """The client's wait in seconds: real time, or the world's if a tester moved it more."""
        begun, again = self.first.entry.checkpoint.now, self.again.entry.checkpoint.now
        return max(self.pause, calendar.seconds_between(begun, again))


class ClientHistory:
    """The requests of the client, oldest first, and the world they were sent to.

    It has the client's ``endpoints`` by id, without the emulator's inboxes, the ``deliveries`` to
    them, and the sessions of whose completion the client was ``notified``.
    """

    def __init__(self, view: View) -> None:
        self.world: World = view.world
        self.journal: Journal = view.journal
        self._entries = view.journal.entries
        self.requests: list[Request] = [
            Request(entry, number)
            for number, entry in enumerate(self._entries)
            if entry.path.startswith(SERVICE)
        ]
        self.endpoints: dict[str, WebhookEndpoint] = {}
        self.deliveries: list[WebhookDelivery] = []
        self.notified: set[str | None] = set()
        self._read_webhooks()

    def grouped(self, key: Callable[[Request], Hashable]) -> list[list[Request]]:
        groups: dict[Hashable, list[Request]] = defaultdict(list)
        for request in self.requests:
            if (value := key(request)) is not None:
                groups[value].append(request)
        return list(groups.values())

    @cached_property
    def alike(self) -> list[list[Request]]:
        """Each request with its retries, and with what other threads sent in the same words."""
        return self.grouped(lambda request: request.identity)

    @cached_property
    def retries(self) -> list[Repetition]:
        """Each request that was sent again with the same content, whatever its key."""
        return _repeated(self.grouped(lambda request: request.content))

    @cached_property
    def equal_retries(self) -> list[Repetition]:
        """Each request that was sent again with the same key, if any, and the same content."""
        return [pair for pair in _repeated(self.alike) if pair.first.content == pair.again.content]

    def world_unchanged(self, first: Request, again: Request) -> bool:
        """Return whether nothing happened between: no unit of work, no control API call."""
        between = self._entries[first.number + 1 : again.number]
        no_unit_between = first.entry.last_unit == again.entry.checkpoint.units
        return no_unit_between and all(entry.path.startswith(SERVICE) for entry in between)

    def _read_webhooks(self) -> None:
        for endpoint in self.world.table(WebhookEndpoint):
            if not urlsplit(endpoint.url).path.startswith(INBOXES):
                self.endpoints[endpoint.id] = endpoint
        for delivery in self.world.table(WebhookDelivery):
            if delivery.webhook not in self.endpoints:
                continue
            self.deliveries.append(delivery)
            event = self.world.get(Event, delivery.event)
            if (
                event
                and event.type == "checkout.session.completed"
                and delivery.status == "succeeded"
            ):
                self.notified.add(event.about)


def _repeated(groups: list[list[Request]]) -> list[Repetition]:
    """Return requests followed within a minute of real time by the next one of their group.

    A request sent before the response to the first is no retry. While a test freezes real time, no
    retry is found.
    """
    pairs = [Repetition(*pair) for group in groups for pair in pairwise(group)]
    return [pair for pair in pairs if 0 < pair.pause <= RETRY_WINDOW]


def list_of(request: Request) -> Hashable:
    """Return a list's path and filters without the page; None if the request reads no list."""
    if not request.operation.startswith("list") or request.status != 200:
        return None
    return request.entry.path, frozenset(
        pair for pair in request.query.items() if pair[0] not in PAGE_PARAMETERS
    )


def sequences(
    requests: list[Request], continues: Callable[[Request, Request], bool], within: float = math.inf
) -> Iterator[list[Request]]:
    """Split requests into sequences that continue each other ``within`` seconds of real time."""
    sequence: list[Request] = []
    for request in requests:
        if sequence and (
            request.entry.began - sequence[-1].entry.began > within
            or not continues(sequence[-1], request)
        ):
            yield sequence
            sequence = []
        sequence.append(request)
    if sequence:
        yield sequence
