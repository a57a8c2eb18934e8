"""Evidence: what the journal and the records of a world tell about its client, made ready to be judged by rules."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from emulator.control import inbox
from emulator.control.causality import Causality, LoggedUnit
from emulator.core.world import World
from emulator.engine.logged_request import LoggedRequest, redacted_text
from emulator.engine.runtime import Runtime
from emulator.errors import public_code
from emulator.resources.sandbox.faults import Fault
from emulator.resources.webhooks.deliveries import WebhookDelivery
from emulator.resources.webhooks.endpoints import WebhookEndpoint
from emulator.web.request_log import SERVICE

SOON = 60.0
"""Seconds (real time) within which a request that is sent again counts as a retry of the one before."""

Quote = Iterable[str]
"""Ids of requests, or of objects, oldest first."""

PAGING = frozenset({"page", "page_size"})


class Request:
    """One request to the service, read when it is asked for. ``number`` is its place in the journal."""

    def __init__(self, entry: LoggedRequest, number: int) -> None:
        self.entry = entry
        self.number = number
        self.id = entry.id
        self.operation = entry.operation or ""
        self.status = entry.status

    @cached_property
    def headers(self) -> dict[bytes, bytes]:
        """By lower-case name."""
        return dict(self.entry.headers)

    @property
    def key(self) -> bytes | None:
        """Its Idempotency-Key."""
        return self.headers.get(b"idempotency-key")

    @cached_property
    def query(self) -> dict[str, str]:
        """The query's parameters as texts."""
        pairs = (part.partition("=") for part in self.entry.query.decode("latin-1").split("&") if part)
        return {name: value for name, _, value in pairs}

    @cached_property
    def answer(self) -> dict[str, Any]:
        """The answer's JSON object; empty where it is none."""
        try:
            answer = json.loads(self.entry.answer)
        except ValueError:
            return {}
        return answer if isinstance(answer, dict) else {}

    @property
    def code(self) -> str:
        """The error's code; empty where there is none."""
        return public_code(self.answer).upper()

    @property
    def words(self) -> Hashable:
        """Method, path, query and body: requests that say the same have the same. None where the body was not read."""
        has_body = b"transfer-encoding" in self.headers or self.headers.get(b"content-length", b"0") != b"0"
        return None if has_body and not self.entry.body else (*self.outline, self.entry.body)

    @property
    def outline(self) -> tuple[Hashable, ...]:
        """What is known of the words of a request whose body was not read."""
        return self.entry.method, self.entry.path, self.entry.query, self.headers.get(b"content-length")

    @property
    def text(self) -> str:
        """Path, query and body as they are shown, where keys are masked and still seen to be keys."""
        return f"{self.entry.target} {redacted_text(self.entry.body)}"


class Repetition(NamedTuple):
    """A request, and the next one that says the same and was sent once the answer to the first was there."""

    first: Request
    again: Request

    @property
    def pause(self) -> float:
        """Seconds (real time) between the answer and the next try."""
        return self.again.entry.began - self.first.entry.answered


class ClientHistory:
    """The requests of the client, oldest first, and the world they were sent to."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self._causes = Causality(runtime.journal)
        self.world: World = runtime.world
        self._entries = [*runtime.journal.entries]
        self.requests = [Request(each, n) for n, each in enumerate(self._entries) if each.path.startswith(SERVICE)]

    def of(self, *operations: str) -> list[Request]:
        """The requests for these operations."""
        return [each for each in self.requests if each.operation in operations]

    def alike(self, trait: Callable[[Request], Hashable]) -> list[list[Request]]:
        """The requests with the same trait together; those whose trait is None are left out."""
        groups: dict[Hashable, list[Request]] = defaultdict(list)
        for each in self.requests:
            if (value := trait(each)) is not None:
                groups[value].append(each)
        return list(groups.values())

    @cached_property
    def retries(self) -> list[Repetition]:
        """Each request that was sent again in the same words."""
        return self.repeated(lambda each: each.words)

    def repeated(self, trait: Callable[[Request], Hashable], within: float = SOON) -> list[Repetition]:
        """Each request that was followed within so many seconds (real time) by one with the same trait.

        One that was sent before the first was answered is no retry; nor can any be told where a test has frozen time.
        """
        pairs = [Repetition(*pair) for group in self.alike(trait) for pair in pairwise(group)]
        return [pair for pair in pairs if 0 < pair.pause <= within]

    def left_alone(self, pair: Repetition) -> bool:
        """Whether the world was the same for both: no turn was made between them, and the tester did nothing."""
        between = self._entries[pair.first.number + 1 : pair.again.number]
        same_turn = pair.first.entry.last_unit == pair.again.entry.checkpoint.units
        return same_turn and all(each.path.startswith(SERVICE) for each in between)

    # -- webhooks

    @cached_property
    def endpoints(self) -> list[WebhookEndpoint]:
        """The client's own endpoints: an inbox of the emulator is not one."""
        every = self.world.table(WebhookEndpoint)
        return [each for each in every if not urlsplit(each.url).path.startswith(inbox.PREFIX)]

    @cached_property
    def deliveries(self) -> list[WebhookDelivery]:
        """What was delivered to them, or was to be, but for what was forged on the way."""
        own = {each.id for each in self.endpoints}
        forged = {each.id for each in self.forged}
        return [each for each in self.world.table(WebhookDelivery) if each.webhook in own and each.id not in forged]

    @cached_property
    def forged(self) -> list[WebhookDelivery]:
        """The deliveries that an arranged fault tampered with, as they were once that attempt was on record.

        Where several endpoints may have been meant, nobody can tell which one was, and none is.
        """
        own = {each.id for each in self.endpoints}
        only = self._only_endpoint()
        found: list[WebhookDelivery] = []
        struck: str | None = None
        for act in self._causes.units:
            for change in act.unit.changes:
                if isinstance(change.old, Fault) and change.old.then.tamper and not _cleared(self._causes, act):
                    struck = change.old.match.webhook or only
                elif struck and _attempted(change.old, change.new, struck):
                    assert isinstance(change.new, WebhookDelivery)
                    found += [change.new] * (struck in own)
                    struck = None
        return found

    def _only_endpoint(self) -> str | None:
        """The one endpoint there is and, as far as the journal knows, ever was."""
        changes = (change for act in self._causes.units for change in act.unit.changes)
        gone = {change.old.id for change in changes if isinstance(change.old, WebhookEndpoint)}
        every = gone | {each.id for each in self.world.table(WebhookEndpoint)}
        return every.pop() if len(every) == 1 else None


def _cleared(causes: Causality, act: LoggedUnit) -> bool:
    """Whether a turn takes out faults that have not struck."""
    entry = causes.known(causes.request(act) or "")
    return act.unit.cleared or (entry is not None and entry.operation == "clearFaults")


def _attempted(old: object, new: object, webhook: str) -> bool:
    """Whether a change files the outcome of an attempt at an endpoint."""
    return (
        isinstance(old, WebhookDelivery)
        and isinstance(new, WebhookDelivery)
        and new.webhook == webhook
        and new.attempt_count > old.attempt_count
    )


def of_list(request: Request) -> Hashable:
    """A list and its filters, whatever the page; None for what reads no list."""
    if not request.operation.startswith("list") or request.status != 200:
        return None
    return request.entry.path, frozenset(pair for pair in request.query.items() if pair[0] not in PAGING)


def runs(requests: list[Request], goes_on: Callable[[Request, Request], bool]) -> Iterator[list[Request]]:
    """Requests in rows: a row goes on as long as each goes on from the one before."""
    row: list[Request] = []
    for each in requests:
        if row and not goes_on(row[-1], each):
            yield row
            row = []
        row.append(each)
    if row:
        yield row
