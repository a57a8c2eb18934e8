"""The journal of a world: its last requests with their answers, and its last turns, which can be taken back."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice

import msgspec

from emulator.core.calendar import Timestamp
from emulator.core.unit_of_work import UnitOfWork
from emulator.engine.coverage import Coverage
from emulator.engine.redaction import redact, redact_header

MAX_REQUESTS = 1000
"""Requests that are kept."""

MAX_UNITS = 5000
"""Turns that are kept; a request before the oldest of them cannot be rewound to."""

BODY = 64 * 1024
"""Bytes of a body that are kept."""

BATCH = 16
"""Requests, or turns, that the coverage notes at a time."""

MAX_UNITS_BETWEEN_REQUESTS = 500
"""Turns after a request whose every change the coverage notes; of a long advance's further ones only the events."""


class Checkpoint(msgspec.Struct, frozen=True, gc=False):
    """A place in a world's history: how many turns came before, and what clock and counters read."""

    units: int
    now: Timestamp
    counters: dict[str, int]


class LoggedRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One request as it is kept. It ``began`` and was ``answered`` in real time, in seconds of a clock that only runs.

    A body, which may hold a card, is masked before it is kept; path, query, headers and answer when they are shown.
    Like records, marks and entries are nothing to the garbage collector.
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
    answer: bytes
    began: float
    answered: float

    @property
    def duration_ms(self) -> float:
        """How long the answer took."""
        return round((self.answered - self.began) * 1000, 3)

    @property
    def target(self) -> str:
        """Path and query as they are shown."""
        path = self.path.encode()
        return shown(path + b"?" + self.query if self.query else path)


class Journal:
    """What happened lately, oldest first."""

    def __init__(self) -> None:
        self.entries: deque[LoggedRequest] = deque(maxlen=MAX_REQUESTS)
        self._units: deque[UnitOfWork] = deque(maxlen=MAX_UNITS)
        self.count = 0
        self._coverage = Coverage()
        # So many requests, and the turns after this one, are not noted yet; here the last request was answered.
        self._uncovered_requests = 0
        self._covered_turns = 0
        self._answered_turns = 0

    def add_unit(self, turn: UnitOfWork) -> None:
        """File a turn that was kept."""
        if turn.changes:
            self.count += 1
            self._units.append(turn)
            if self.count - self._covered_turns == BATCH:
                self.flush_coverage()

    def record(self, entry: LoggedRequest) -> None:
        """File a request that was answered."""
        self.entries.append(entry)
        self._answered_turns = self.count
        self._uncovered_requests += 1
        if self._uncovered_requests == BATCH:
            self.flush_coverage()

    def flush_coverage(self) -> Coverage:
        """What was exercised until now, also by what is no longer kept or was taken back."""
        self._coverage.note_requests(list(islice(reversed(self.entries), self._uncovered_requests)))
        turns = list(islice(reversed(self._units), self.count - self._covered_turns))
        self._coverage.note_turns(turns, whole=self.count - self._answered_turns <= MAX_UNITS_BETWEEN_REQUESTS)
        self._uncovered_requests, self._covered_turns = 0, self.count
        return self._coverage

    def reset_coverage(self) -> None:
        """Begin anew with what is covered."""
        self.flush_coverage()
        self._coverage = Coverage()

    def find(self, id: str) -> LoggedRequest | None:
        """The request with this id."""
        return next((entry for entry in reversed(self.entries) if entry.id == id), None)

    def units_of(self, entry: LoggedRequest) -> list[UnitOfWork]:
        """The turns a request brought about, what became due at once included; those of others meanwhile are not."""
        return [
            turn
            for number, turn in self.enumerate()
            if entry.checkpoint.units < number <= entry.last_unit and turn.cause in (entry.id, None)
        ]

    def enumerate(self) -> Iterator[tuple[int, UnitOfWork]]:
        """Every turn that is kept with its number in the world's history, oldest first."""
        return enumerate(self._units, self.count - len(self._units) + 1)

    def changing(self, id: str) -> set[str]:
        """The requests, by their ids, that changed the object with this id."""
        hits = [(number, turn.cause) for number, turn in self.enumerate() if turn.touches(id)]
        return {
            entry.id
            for entry in self.entries
            for number, cause in hits
            if entry.checkpoint.units < number <= entry.last_unit and cause in (entry.id, None)
        }

    def reaches(self, mark: Checkpoint) -> bool:
        """Whether every turn since a mark is still known."""
        return self.count - len(self._units) <= mark.units

    def since(self, mark: Checkpoint) -> list[UnitOfWork]:
        """The turns since a mark, the last one first."""
        return list(islice(reversed(self._units), self.count - mark.units))

    def take_back(self, mark: Checkpoint) -> None:
        """Forget the turns since a mark, and the requests since then."""
        self.flush_coverage()
        for _ in range(min(self.count - mark.units, len(self._units))):
            self._units.pop()
        self.count = self._covered_turns = self._answered_turns = mark.units
        while (
            self.entries and self.entries[-1].checkpoint.units >= mark.units and self.entries[-1].last_unit > mark.units
        ):
            self.entries.pop()

    def forget(self) -> None:
        """Start anew, in a world that has no past; no mark leads to before."""
        self.flush_coverage()
        self.count = self._covered_turns = self._answered_turns = self.count + 1
        self.entries.clear()
        self._units.clear()


def kept(text: bytes) -> bytes:
    """A body that may be kept, cut to its bound."""
    return redact(text[:BODY]) if text else text


def shown(text: bytes) -> str:
    """A body or path as it is shown."""
    return redact(text[:BODY]).decode("utf-8", "replace")


def headers_shown(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Headers as they are shown."""
    pairs = ((name.decode("latin-1"), value.decode("latin-1")) for name, value in headers)
    return {name: redact_header(name, value) for name, value in pairs}
