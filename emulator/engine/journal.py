"""The journal of a world: its last requests with their answers, and its last turns, which can be taken back."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice

import msgspec

from emulator.core.calendar import Timestamp
from emulator.core.turns import Turn
from emulator.engine.coverage import Coverage
from emulator.engine.masking import masked, masked_header

REQUESTS = 1000
"""Requests that are kept."""

TURNS = 5000
"""Turns that are kept; a request before the oldest of them cannot be rewound to."""

BODY = 64 * 1024
"""Bytes of a body that are kept."""

BATCH = 16
"""Requests, or turns, that the coverage notes at a time."""

IN_A_ROW = 500
"""Turns after a request whose every change the coverage notes; of a long advance's further ones only the events."""


class Mark(msgspec.Struct, frozen=True, gc=False):
    """A place in a world's history: how many turns came before, and what clock and counters read."""

    turns: int
    now: Timestamp
    counters: dict[str, int]


class Entry(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One request as it is kept. It ``began`` and was ``answered`` in real time, in seconds of a clock that only runs.

    A body, which may hold a card, is masked before it is kept; path, query, headers and answer when they are shown.
    Like records, marks and entries are nothing to the garbage collector.
    """

    id: str
    mark: Mark
    last_turn: int
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
        self.entries: deque[Entry] = deque(maxlen=REQUESTS)
        self._turns: deque[Turn] = deque(maxlen=TURNS)
        self.count = 0
        self._coverage = Coverage()
        # So many requests, and the turns after this one, are not noted yet; here the last request was answered.
        self._untold = 0
        self._told = 0
        self._answered = 0

    def keep(self, turn: Turn) -> None:
        """File a turn that was kept."""
        if turn.changes:
            self.count += 1
            self._turns.append(turn)
            if self.count - self._told == BATCH:
                self.covered()

    def record(self, entry: Entry) -> None:
        """File a request that was answered."""
        self.entries.append(entry)
        self._answered = self.count
        self._untold += 1
        if self._untold == BATCH:
            self.covered()

    def covered(self) -> Coverage:
        """What was exercised until now, also by what is no longer kept or was taken back."""
        self._coverage.note_requests(list(islice(reversed(self.entries), self._untold)))
        turns = list(islice(reversed(self._turns), self.count - self._told))
        self._coverage.note_turns(turns, whole=self.count - self._answered <= IN_A_ROW)
        self._untold, self._told = 0, self.count
        return self._coverage

    def uncover(self) -> None:
        """Begin anew with what is covered."""
        self.covered()
        self._coverage = Coverage()

    def find(self, id: str) -> Entry | None:
        """The request with this id."""
        return next((entry for entry in reversed(self.entries) if entry.id == id), None)

    def turns_of(self, entry: Entry) -> list[Turn]:
        """The turns a request brought about, what became due at once included; those of others meanwhile are not."""
        return [
            turn
            for number, turn in self.numbered()
            if entry.mark.turns < number <= entry.last_turn and turn.cause in (entry.id, None)
        ]

    def numbered(self) -> Iterator[tuple[int, Turn]]:
        """Every turn that is kept with its number in the world's history, oldest first."""
        return enumerate(self._turns, self.count - len(self._turns) + 1)

    def changing(self, id: str) -> set[str]:
        """The requests, by their ids, that changed the object with this id."""
        hits = [(number, turn.cause) for number, turn in self.numbered() if turn.touches(id)]
        return {
            entry.id
            for entry in self.entries
            for number, cause in hits
            if entry.mark.turns < number <= entry.last_turn and cause in (entry.id, None)
        }

    def reaches(self, mark: Mark) -> bool:
        """Whether every turn since a mark is still known."""
        return self.count - len(self._turns) <= mark.turns

    def since(self, mark: Mark) -> list[Turn]:
        """The turns since a mark, the last one first."""
        return list(islice(reversed(self._turns), self.count - mark.turns))

    def take_back(self, mark: Mark) -> None:
        """Forget the turns since a mark, and the requests since then."""
        self.covered()
        for _ in range(min(self.count - mark.turns, len(self._turns))):
            self._turns.pop()
        self.count = self._told = self._answered = mark.turns
        while self.entries and self.entries[-1].mark.turns >= mark.turns and self.entries[-1].last_turn > mark.turns:
            self.entries.pop()

    def forget(self) -> None:
        """Start anew, in a world that has no past; no mark leads to before."""
        self.covered()
        self.count = self._told = self._answered = self.count + 1
        self.entries.clear()
        self._turns.clear()


def kept(text: bytes) -> bytes:
    """A body that may be kept, cut to its bound."""
    return masked(text[:BODY]) if text else text


def shown(text: bytes) -> str:
    """A body or path as it is shown."""
    return masked(text[:BODY]).decode("utf-8", "replace")


def headers_shown(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Headers as they are shown."""
    pairs = ((name.decode("latin-1"), value.decode("latin-1")) for name, value in headers)
    return {name: masked_header(name, value) for name, value in pairs}
