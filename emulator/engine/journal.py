"""The journal of a world: its last requests, units of work and failed checks.

A unit of work can be undone as long as it is here. The coverage and all who follow the world learn
of each request and each unit of work from the journal.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from functools import cached_property
from itertools import islice

import msgspec

from emulator.core.errors import ApiError
from emulator.core.unit_of_work import CheckFailed, UnitOfWork
from emulator.engine.broker import Broker
from emulator.engine.coverage import Coverage
from emulator.engine.logged_requests import Checkpoint, LoggedRequest

MAX_REQUESTS = 1000
"""Requests that are stored."""

MAX_UNITS = 5000
"""Units of work that are stored; a request before the oldest of them cannot be rewound to."""

MAX_FAILURES = 100
"""Failed checks that are stored, however long ago they were."""


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


class Journal:
    """The last requests and units of work, oldest first. ``count`` counts all units so far.

    ``failures``: the first checks that failed, also of units of work that were undone because of
    it.
    """

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        # An empty deque takes ten times as much, in each of thousands of worlds.
        self.entries: list[LoggedRequest] = []
        self.failures: list[Failure] = []
        self.count: int = 0

    # Made on first use: most worlds are only looked at.

    @cached_property
    def coverage(self) -> Coverage:
        """The coverage, also of requests that are no longer stored or were rewound."""
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
        journal.entries = self.entries.copy()
        journal.failures = self.failures.copy()
        journal.count = self.count
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
        """Return the last unit of work before it that changed the record that is wrong now."""
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
