"""The history of a client: its requests and deliveries in the journal of a world, prepared for the rules."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from emulator.core import calendar
from emulator.core.errors import public_code
from emulator.core.world import World, json_object
from emulator.engine.inbox import PREFIX as INBOXES
from emulator.engine.journal import LoggedRequest, redacted_text
from emulator.engine.outbox import FORGED
from emulator.engine.runtime import Runtime
from emulator.insight.explain.causality import Causality, LoggedUnit
from emulator.resources.faults import Fault
from emulator.resources.webhooks.deliveries import WebhookDelivery
from emulator.resources.webhooks.endpoints import WebhookEndpoint
from emulator.web.root_app import SERVICE

RETRY_WINDOW = 60.0
"""Seconds (real time) within which the same request counts as a retry of the one before."""

Ids = Iterable[str]
"""Ids of requests, or of objects, oldest first."""

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
        pairs = (part.partition("=") for part in self.entry.query.decode("latin-1").split("&") if part)
        return {name: value for name, _, value in pairs}

    @cached_property
    def answer(self) -> dict[str, Any]:
        return json_object(self.entry.answer)

    @property
    def code(self) -> str:
        return public_code(self.answer).upper()

    @property
    def content(self) -> Hashable:
        """Method, path, query and body, by which equal requests are found. None if the body was not read."""
        has_body = b"transfer-encoding" in self.headers or self.headers.get(b"content-length", b"0") != b"0"
        return None if has_body and not self.entry.body else (*self.outline, self.entry.body)

    @property
    def outline(self) -> tuple[Hashable, ...]:
        """Method, path, query and length: what is known of a request whose body was not read."""
        return self.entry.method, self.entry.path, self.entry.query, self.headers.get(b"content-length")

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
        """How long the client waited, in seconds: real time, or the world's where a tester moved that further."""
        begun, again = self.first.entry.checkpoint.now, self.again.entry.checkpoint.now
        return max(self.pause, calendar.seconds_between(begun, again))


class ClientHistory:
    """The requests of the client, oldest first, and the world they were sent to."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self._causality = Causality(runtime.journal)
        self.world: World = runtime.world
        self._entries = [*runtime.journal.entries]
        self.requests: list[Request] = [
            Request(each, n) for n, each in enumerate(self._entries) if each.path.startswith(SERVICE)
        ]

    def of(self, *operations: str) -> list[Request]:
        return [each for each in self.requests if each.operation in operations]

    def grouped(self, key: Callable[[Request], Hashable]) -> list[list[Request]]:
        groups: dict[Hashable, list[Request]] = defaultdict(list)
        for each in self.requests:
            if (value := key(each)) is not None:
                groups[value].append(each)
        return list(groups.values())

    @cached_property
    def retries(self) -> list[Repetition]:
        """Each request that was sent again with the same content."""
        return self.repeated(lambda each: each.content)

    def repeated(self, key: Callable[[Request], Hashable], within: float = RETRY_WINDOW) -> list[Repetition]:
        """Return each request that was followed, within these seconds of real time, by one with the same value of ``key``.

        A request sent before the response to the first is no retry. While a test freezes real time, no retry is found.
        """
        pairs = [Repetition(*pair) for group in self.grouped(key) for pair in pairwise(group)]
        return [pair for pair in pairs if 0 < pair.pause <= within]

    def world_unchanged(self, pair: Repetition) -> bool:
        """Return whether nothing happened between the two: no unit of work, and no call of the control API."""
        between = self._entries[pair.first.number + 1 : pair.again.number]
        no_unit_between = pair.first.entry.last_unit == pair.again.entry.checkpoint.units
        return no_unit_between and all(each.path.startswith(SERVICE) for each in between)

    # -- webhooks

    @cached_property
    def endpoints(self) -> list[WebhookEndpoint]:
        """The client's own endpoints, without inboxes of the emulator."""
        endpoints = self.world.table(WebhookEndpoint)
        return [each for each in endpoints if not urlsplit(each.url).path.startswith(INBOXES)]

    @cached_property
    def deliveries(self) -> list[WebhookDelivery]:
        """The deliveries to them, except those that an injected fault tampered with."""
        own = {each.id for each in self.endpoints}
        tampered = {each.id for each in self.tampered}
        return [each for each in self.world.table(WebhookDelivery) if each.webhook in own and each.id not in tampered]

    @cached_property
    def tampered(self) -> list[WebhookDelivery]:
        """The deliveries that an injected fault tampered with, as they were after that attempt.

        If the fault was for any of several endpoints, the journal does not say which one it was; none is returned.
        """
        own = {each.id for each in self.endpoints}
        only = self._only_endpoint()
        found: list[WebhookDelivery] = []
        endpoint: str | None = None
        for logged in self._causality.units:
            for change in logged.unit.changes:
                if isinstance(change.old, Fault) and change.old.then.tamper and not _cleared(self._causality, logged):
                    endpoint = change.old.match.webhook or only
                elif endpoint and _attempted(change.old, change.new, endpoint):
                    assert isinstance(change.new, WebhookDelivery)
                    found += [change.new] * (endpoint in own)
                    endpoint = None
        return found

    @cached_property
    def forged(self) -> list[WebhookDelivery]:
        """The deliveries to the client's own endpoints that a forged copy preceded, by an injected fault."""
        return [each for each in self.deliveries if any((one.error or "").startswith(FORGED) for one in each.attempts)]

    def _only_endpoint(self) -> str | None:
        """Return the id of the only endpoint there is, and ever was as far as the journal goes; else None."""
        changes = (change for logged in self._causality.units for change in logged.unit.changes)
        deleted = {change.old.id for change in changes if isinstance(change.old, WebhookEndpoint)}
        ids = deleted | {each.id for each in self.world.table(WebhookEndpoint)}
        return ids.pop() if len(ids) == 1 else None


def _cleared(causality: Causality, logged: LoggedUnit) -> bool:
    """Return whether a unit of work removed faults that were not used up."""
    entry = causality.request(causality.request_of(logged) or "")
    return logged.unit.cleared or (entry is not None and entry.operation == "clearFaults")


def _attempted(old: object, new: object, webhook: str) -> bool:
    """Return whether a change records an attempt at an endpoint."""
    return (
        isinstance(old, WebhookDelivery)
        and isinstance(new, WebhookDelivery)
        and new.webhook == webhook
        and new.attempt_count > old.attempt_count
    )


def list_of(request: Request) -> Hashable:
    """Return the path and the filters of a list, without the page; None if the request reads no list."""
    if not request.operation.startswith("list") or request.status != 200:
        return None
    return request.entry.path, frozenset(pair for pair in request.query.items() if pair[0] not in PAGE_PARAMETERS)


def sequences(requests: list[Request], continues: Callable[[Request, Request], bool]) -> Iterator[list[Request]]:
    """Split requests into sequences in which each one continues the one before."""
    sequence: list[Request] = []
    for each in requests:
        if sequence and not continues(sequence[-1], each):
            yield sequence
            sequence = []
        sequence.append(each)
    if sequence:
        yield sequence
