"""The journal of a world: last requests, responses and units of work, and the coverage of both.

A request is stored as it is shown: without card numbers, keys and secrets. Units of work can be
undone as long as they are here; the coverage counts what of the document was exercised, also by
those that were forgotten since. Whoever follows the world gets each request and each event as a
message.
"""

from __future__ import annotations

import asyncio
import re
import string
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cached_property, lru_cache
from itertools import islice
from typing import Any, NamedTuple
from urllib.parse import unquote_plus

import msgspec

from emulator.core.calendar import Timestamp
from emulator.core.errors import ERRORS, ApiError
from emulator.core.limits import STREAMS
from emulator.core.records import Record
from emulator.core.unit_of_work import Change, CheckFailed, Event, UnitOfWork
from emulator.core.world import json_or_text
from emulator.document.bundles import operation_specs
from emulator.engine.redaction import redact, redact_header
from emulator.resources.payments.payment_intents import PaymentIntent
from emulator.resources.payments.refunds import Refund
from emulator.resources.registry import STATE_MACHINES
from emulator.resources.simulation.emails import Email
from emulator.resources.webhooks.deliveries import WebhookDelivery

# -- a request as it is stored and shown


MAX_BODY_BYTES = 64 * 1024
"""Bytes of a body that are stored and shown."""

_NO_LETTERS = (string.digits + string.punctuation + string.whitespace).encode()

WAITING = ("requires_action", "processing")
"""What the status of a payment intent is while the operator has not answered."""


class Checkpoint(msgspec.Struct, frozen=True, gc=False):
    """A place in a world's history: the units of work before, and the clock and counters then.

    ``replaced`` is how often the world had been rewound, restored or reset by then.
    """

    units: int
    now: Timestamp
    counters: dict[str, int]
    replaced: int


class LoggedRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One request and its response; the history before (``checkpoint``) and after (``last_unit``).

    ``began`` and ``answered`` are real time, in seconds of a monotonic clock. The request's body,
    which may hold a card number, is redacted before it is stored; path, query, headers and answer
    when they are shown. Checkpoints and requests hold no reference to themselves, so the garbage
    collector need not look at them (see ``Record``).
    """

    id: str
    checkpoint: Checkpoint
    last_unit: int
    operation: str | None
    method: str
    path: str
    query: bytes
    headers: list[tuple[bytes, bytes]]
    body: bytes
    status: int
    response: bytes
    began: float
    answered: float

    @property
    def duration_ms(self) -> float:
        return round((self.answered - self.began) * 1000, 3)

    @property
    def target(self) -> str:
        path = self.path.encode()
        return redacted_text(path + b"?" + self.query if self.query else path)

    @property
    def error_code(self) -> str | None:
        """The response's error code, in any shape (B-10); None for a success or another body."""
        found = _CODE_IN_RESPONSE.search(self.response) if self.status >= 400 else None
        return found[1].decode() if found else None


_CODE_IN_RESPONSE = re.compile(rb'"code":\s?"(\w{1,60})"')


def redacted_body(body: bytes) -> bytes:
    """Return a body as it is stored: redacted and cut to ``MAX_BODY_BYTES``."""
    if not body:
        return body
    whole = redact(_cut(body))
    return whole if len(whole) <= MAX_BODY_BYTES else _cut(whole)


def _cut(body: bytes) -> bytes:
    """Return a large body's beginning, not ending in a number: it may begin a card number."""
    return body if len(body) <= MAX_BODY_BYTES else body[:MAX_BODY_BYTES].rstrip(_NO_LETTERS)


def redacted_text(text: bytes) -> str:
    return redact(_cut(text)).decode("utf-8", "replace")


def readable(body: bytes) -> Any:
    """Return a body as it is shown: as JSON if it is JSON, else as text; None if it is empty."""
    return json_or_text(redacted_text(body))


@lru_cache(maxsize=256)
def redacted_path(path: str) -> str:
    """Return a path as it is shown; cached, because clients ask for few paths again and again."""
    return redacted_text(path.encode())


def redacted_headers(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    pairs = ((name.decode("latin-1"), value.decode("latin-1")) for name, value in headers)
    return {name: redact_header(name, value) for name, value in pairs}


# -- units of work that failed a check


class Failure(msgspec.Struct):
    """A check that a unit of work failed: the unit's number and, after the response, its request.

    A unit that was undone because of it has the number that it would have had.
    """

    error: CheckFailed
    number: int
    unit: UnitOfWork
    is_undone: bool = False
    request: LoggedRequest | None = None

    def note(self, entry: LoggedRequest) -> None:
        """Note the request that caused the unit or, where none did, during which the unit ran."""
        ran_during = entry.checkpoint.units < self.number <= entry.last_unit + self.is_undone
        if self.request is None and (
            entry.id == self.unit.cause or (self.unit.cause is None and ran_during)
        ):
            self.request = entry


# -- what was exercised of the document


FAILURES = frozenset(["payment_intent.failed", "refund.failed"])
"""The events of objects that have the operator's reason in them."""

CODES = {
    public: row.flat or code for code, row in ERRORS.items() for public in (code, code.lower())
}
"""The documented codes by the codes of responses, in every shape of errors (B-10)."""

_WITH_STATUS = frozenset(machine.kind for machine in STATE_MACHINES)

_decoded = msgspec.json.Decoder().decode


class Coverage:
    """The document's coverage. It outlasts the journal, and holds only names, no sent values.

    ``answers`` counts requests by operation and status. ``fields`` and ``parameters`` are those of
    requests that succeeded, by operation; the fields within a field with a dot:
    ``retry_policy.max_attempts``. ``transitions`` are changes of status, whatever caused them: the
    kind of record, the former status (None of a new record) and the new one. ``took_time``: a
    payment was answered later than in the second in which it began.
    """

    def __init__(self) -> None:
        self.responses: Counter[tuple[str | None, int]] = Counter()
        self.fields: defaultdict[str, set[str]] = defaultdict(set)
        self.parameters: defaultdict[str, set[str]] = defaultdict(set)
        self.transitions: set[tuple[type[Record], str | None, str]] = set()
        self.took_time: bool = False
        self.events: set[str] = set()
        self.errors: set[str] = set()

    # These two see every request and every unit of work, so each microsecond counts.

    def note_request(self, entry: LoggedRequest) -> None:
        """Note a request that was answered; one to the control API counts for nothing."""
        self.responses[entry.operation, entry.status] += 1
        if entry.status >= 400:
            self._note_error(entry)
        elif entry.body or entry.query:
            self._note_sent(entry)

    def note_unit(self, unit: UnitOfWork) -> None:
        """Note the changes of status and the events of a unit of work that was committed."""
        for change in () if unit.cleared else unit.changes:
            new: Any = change.new
            if type(new) in _WITH_STATUS:
                old: Any = change.old
                if old is None:
                    self.transitions.add((type(new), None, new.status))
                elif old.status != new.status:
                    self.transitions.add((type(new), old.status, new.status))
                    if isinstance(new, PaymentIntent) and old.status in WAITING:
                        self.took_time |= new.updated_at[:19] != old.updated_at[:19]
        for event in unit.events:
            self.events.add(event.type)
            if event.type in FAILURES:
                self._note_failure(event)

    def _note_sent(self, entry: LoggedRequest) -> None:
        operation = entry.operation or ""
        if (spec := operation_specs().get(operation)) is None:
            return
        if entry.body:
            _note_fields(self.fields[operation], spec.fields, _parsed(entry.body))
        if entry.query:
            self.parameters[operation] |= _names(entry.query)

    def _note_error(self, entry: LoggedRequest) -> None:
        code = entry.error_code if entry.operation in operation_specs() else None
        if code in CODES:  # an injected fault may answer with any code
            self.errors.add(CODES[code])

    def _note_failure(self, event: Event) -> None:
        match event.data.object:
            case PaymentIntent(last_error=error) if error is not None:
                self.errors.add(error.code)
            case Refund(failure_reason=str(code)) if code in ERRORS:
                self.errors.add(code)


def _note_fields(noted: set[str], known: Mapping[str, Any], sent: Any, before: str = "") -> None:
    """Note the known fields of an object, or of each in a list, with those within them."""
    for each in sent if isinstance(sent, list) else [sent]:
        if isinstance(each, dict):
            for name, value in each.items():
                if (path := before + name) in known:
                    noted.add(path)
                    if isinstance(value, (dict, list)):
                        _note_fields(noted, known, value, f"{path}.")


@lru_cache(maxsize=256)
def _names(query: bytes) -> frozenset[str]:
    return frozenset(
        unquote_plus(pair.partition("=")[0]) for pair in query.decode("latin-1").split("&")
    )


def _parsed(text: bytes) -> Any:
    try:
        return _decoded(text)
    except (msgspec.DecodeError, RecursionError):
        pass
    try:  # any number will do in the place of one that was redacted
        return _decoded(text.replace(b"****", b"1"))
    except (msgspec.DecodeError, RecursionError):
        return None


# -- those who follow a world: each has a queue of messages, and cannot hold the world up


KINDS = ("request", "event", "delivery", "email", "clock", "reset")

MAX_WAITING = 1000
"""Messages that wait for one subscriber; a slow one loses the oldest."""

CLOCK_SECONDS = 0.25
"""Seconds (real time) between two messages about a clock that advances."""


class Message(NamedTuple):
    """One message. ``about`` is the record or facts of it; each world counts messages from 1."""

    number: int
    kind: str
    about: Any


class Subscriber:
    """One queue of messages of certain kinds. ``lost`` counts the messages beyond its limit."""

    def __init__(self, kinds: Collection[str]) -> None:
        self.lost: int = 0
        self._kinds = frozenset(kinds)
        self._waiting: deque[Message] = deque(maxlen=MAX_WAITING)
        self.wakeup: asyncio.Event = asyncio.Event()

    def put(self, message: Message) -> None:
        if message.kind in self._kinds:
            self.lost += len(self._waiting) == MAX_WAITING
            self._waiting.append(message)
            self.wakeup.set()

    async def next_batch(self, timeout: float) -> list[Message]:
        """Return all waiting messages, at once if any; empty after ``timeout`` (real seconds)."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                await self.wakeup.wait()
        self.wakeup.clear()
        batch, self._waiting = list(self._waiting), deque(maxlen=MAX_WAITING)
        return batch


class Broker:
    def __init__(self) -> None:
        self.subscribers: list[Subscriber] = []
        self._published = 0
        self._ticked = 0.0

    @cached_property
    def closed(self) -> asyncio.Event:
        """Set when no more messages follow. Made on first use: few worlds are followed."""
        return asyncio.Event()

    @contextmanager
    def subscribe(self, kinds: Collection[str]) -> Iterator[Subscriber]:
        """Subscribe to these kinds while the context lasts. Raises 429 for too many subscribers."""
        if len(self.subscribers) >= STREAMS.most:
            message = f"The world has {STREAMS.most} open streams and held polls already."
            raise ApiError("TOO_MANY_REQUESTS", message=message, retry_after=1)
        subscriber = Subscriber(kinds)
        self.subscribers.append(subscriber)
        try:
            yield subscriber
        finally:
            self.subscribers.remove(subscriber)

    def publish(self, kind: str, about: Any) -> None:
        if self.subscribers:
            self._published += 1
            message = Message(self._published, kind, about)
            for subscriber in self.subscribers:
                subscriber.put(message)

    def publish_changes(self, changes: Iterable[Change]) -> None:
        for change in changes:
            if (kind := _kind(change)) is not None:
                self.publish(kind, change.new)

    def tick(self, read: Callable[[], Any]) -> None:
        """Publish where the clock is, if the last such message is ``CLOCK_SECONDS`` old."""
        # The loop's own time, which a test that freezes the clocks of this process does not freeze.
        if (
            self.subscribers
            and (now := asyncio.get_running_loop().time()) >= self._ticked + CLOCK_SECONDS
        ):
            self._ticked = now
            self.publish("clock", read())

    def close(self) -> None:
        self.closed.set()
        for subscriber in self.subscribers:
            subscriber.wakeup.set()


def _kind(change: Change) -> str | None:
    """Return the kind of message a change is published as; None for most changes."""
    match change:
        case Change(old=None, new=Event()):
            return "event"
        case Change(old=None, new=Email()):
            return "email"
        case Change(old=WebhookDelivery() as old, new=WebhookDelivery() as new):
            # An attempt has its outcome, or will never be made.
            is_over = (old.status, new.status) == ("pending", "failed")
            return "delivery" if is_over or new.attempt_count > old.attempt_count else None
    return None


def restarted(cause: str, now: str, **more: Any) -> dict[str, Any]:
    """Return the message of kind ``reset``: ``cause`` ends all that was known of the world."""
    return {"cause": cause, "now": now, **more}


# -- the journal


MAX_REQUESTS = 1000
"""Requests that are stored."""

MAX_UNITS = 5000
"""Units of work that are stored; a request before the oldest of them cannot be rewound to."""

MAX_FAILURES = 100
"""Failed checks that are stored, however long ago they were."""


class Journal:
    """The last requests and units of work, oldest first. ``count`` counts all units so far.

    ``failures``: the first checks that failed, also of units of work that were undone because of
    it.
    """

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self.entries: list[
            LoggedRequest
        ] = []  # an empty deque takes ten times as much, in each of thousands of worlds
        self.failures: list[Failure] = []
        self.count: int = 0

    # Made on first use: most worlds are only looked at.

    @cached_property
    def coverage(self) -> Coverage:
        """It includes what is no longer stored, and what was rewound."""
        return Coverage()

    @cached_property
    def _units(self) -> deque[UnitOfWork]:
        return deque(maxlen=MAX_UNITS)

    @property
    def changes(self) -> int:
        """How many changes are stored.

        A unit of work may have many: a reset of a large world does.
        """
        return sum(len(unit.changes) for unit in self._units)

    def copied(self) -> Journal:
        """Return the journal as it is now, to be read only."""
        journal = Journal(self._broker)
        journal.entries, journal.failures, journal.count = (
            self.entries.copy(),
            self.failures.copy(),
            self.count,
        )
        journal._units.extend(self._units)
        return journal

    def add_unit(self, unit: UnitOfWork) -> None:
        if unit.changes:
            self.count += 1
            self._units.append(unit)
            self.coverage.note_unit(unit)
            if unit.failed_checks:
                self._add_failures(self.count, unit)
            if self._broker.subscribers:
                self._broker.publish_changes(unit.changes)

    def add_undone(self, error: CheckFailed) -> None:
        """Add the failed checks of a unit of work that was undone because of them."""
        assert error.unit is not None  # only a strict world raises it
        self._add_failures(self.count + 1, error.unit, is_undone=True)

    def _add_failures(self, number: int, unit: UnitOfWork, *, is_undone: bool = False) -> None:
        for error in unit.failed_checks[: MAX_FAILURES - len(self.failures)]:
            self.failures.append(Failure(error, number, unit, is_undone))

    def before(self, failure: Failure) -> Failure | None:
        """Return the last unit of work before it that changed what is wrong now."""
        for number, unit in reversed([*self.enumerate()]):
            if number < failure.number and failure.error.concerns(unit):
                earlier = Failure(failure.error, number, unit)
                for entry in self.entries:
                    earlier.note(entry)
                return earlier
        return None

    def record(self, entry: LoggedRequest) -> None:
        self.entries.append(entry)
        if len(self.entries) > MAX_REQUESTS:
            del self.entries[0]
        for failure in self.failures:
            failure.note(entry)
        self.coverage.note_request(entry)
        self._broker.publish("request", entry)

    def find(self, id: str) -> LoggedRequest | None:
        return next((entry for entry in reversed(self.entries) if entry.id == id), None)

    def require(self, id: str, param: str | None = None) -> LoggedRequest:
        """Return the request with this id; 404 ``NOT_FOUND`` if it is not in the journal."""
        if (entry := self.find(id)) is None:
            raise ApiError(
                "NOT_FOUND", param=param, message=f"There is no request {id[:60]} in the journal."
            )
        return entry

    def units_of(self, entry: LoggedRequest) -> list[UnitOfWork]:
        """Return the units of a request and the jobs due at once, not of concurrent requests."""
        first = self.count - len(self._units)
        own = islice(
            self._units, max(entry.checkpoint.units - first, 0), max(entry.last_unit - first, 0)
        )
        return [unit for unit in own if unit.cause in (entry.id, None)]

    def enumerate(self) -> Iterator[tuple[int, UnitOfWork]]:
        """Return every stored unit of work with its number in the world's history, oldest first."""
        return enumerate(self._units, self.count - len(self._units) + 1)

    def changing(self, id: str) -> set[str]:
        """Return the ids of the requests that changed the object with this id."""
        hits = [(number, unit.cause) for number, unit in self.enumerate() if unit.touches(id)]
        return {
            entry.id
            for entry in self.entries
            for number, cause in hits
            if entry.checkpoint.units < number <= entry.last_unit and cause in (entry.id, None)
        }

    def reaches(self, checkpoint: Checkpoint) -> bool:
        """Return whether every unit of work since a checkpoint is still stored."""
        return self.count - len(self._units) <= checkpoint.units

    def since(self, checkpoint: Checkpoint) -> list[UnitOfWork]:
        """Return the units of work since a checkpoint, the last one first."""
        return list(islice(reversed(self._units), self.count - checkpoint.units))

    def rewind(self, to: Checkpoint) -> None:
        for _ in range(min(self.count - to.units, len(self._units))):
            self._units.pop()
        self.count = to.units
        self.failures = [failure for failure in self.failures if failure.number <= to.units]
        # Also those that changed nothing: their ids are given out again.
        drawn = to.counters.get("draw", 0)
        while (
            self.entries
            and (at := self.entries[-1].checkpoint).units >= to.units
            and at.counters.get("draw", 0) >= drawn
        ):
            self.entries.pop()

    def clear(self) -> None:
        """Drop everything, for a world without history; earlier checkpoints lead nowhere."""
        self.count += 1
        self.entries.clear()
        self.failures.clear()
        self._units.clear()
