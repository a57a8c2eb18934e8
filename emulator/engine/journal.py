"""The journal of a world: its last requests with their answers, and its last units of work, which can be undone."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from functools import cached_property
from itertools import islice

from emulator.core.unit_of_work import CheckFailed, UnitOfWork
from emulator.engine.coverage import Coverage
from emulator.engine.failures import Failure, NumberedUnit
from emulator.engine.logged_request import Checkpoint, LoggedRequest

MAX_REQUESTS = 1000
"""Requests that are stored."""

MAX_UNITS = 5000
"""Units of work that are stored; a request before the oldest of them cannot be rewound to."""

BATCH = 16
"""Requests, or units of work, that are added to the coverage at a time."""

MAX_FAILURES = 100
"""Failed checks that are stored, however long ago they were."""

MAX_UNITS_BETWEEN_REQUESTS = 500
"""Units of work after a request of which the coverage notes every change; of later ones it notes only the events."""


class Journal:
    """The last requests and units of work, oldest first. ``count`` is how many units of work there were in all.

    ``failures``: the first checks that failed, also of units of work that were undone because of it.
    """

    def __init__(self) -> None:
        self.entries: list[LoggedRequest] = []  # an empty deque takes ten times as much, in each of thousands of worlds
        self.failures: list[Failure] = []
        self.count = 0
        self._coverage: Coverage | None = None
        # The coverage is brought up to date in batches. Of requests this is the number that it lacks; of units of work
        # it is the number (as in ``count``) of the last one that it has, and of the last one when a request was logged.
        self._uncovered_requests = 0
        self._last_covered_unit = 0
        self._last_answered_unit = 0

    @cached_property
    def _units(self) -> deque[UnitOfWork]:
        """Made with the first unit of work: most worlds are only looked at."""
        return deque(maxlen=MAX_UNITS)

    def add_unit(self, unit: UnitOfWork) -> None:
        """Add a unit of work that was committed."""
        if unit.changes:
            self.count += 1
            self._units.append(unit)
            if unit.failed_checks:
                self._add_failures(NumberedUnit(self.count, unit))
            if self.count - self._last_covered_unit == BATCH:
                self.flush_coverage()

    def add_undone(self, unit: UnitOfWork) -> None:
        """Add the failed checks of a unit of work that was undone because of them."""
        self._add_failures(NumberedUnit(self.count + 1, unit, is_undone=True))

    def _add_failures(self, failed: NumberedUnit) -> None:
        for error in failed.unit.failed_checks[: MAX_FAILURES - len(self.failures)]:
            self.failures.append(Failure(error, failed, self._before(failed, error)))

    def _before(self, failed: NumberedUnit, error: CheckFailed) -> NumberedUnit | None:
        """The last unit of work before it that changed what is wrong now; its request may be answered already."""
        for number, unit in reversed([*self.enumerate()]):
            if number < failed.number and error.concerns(unit):
                earlier = NumberedUnit(number, unit)
                for entry in self.entries:
                    earlier.note(entry)
                return earlier
        return None

    def record(self, entry: LoggedRequest) -> None:
        """Add a request that was answered."""
        self.entries.append(entry)
        if len(self.entries) > MAX_REQUESTS:
            del self.entries[0]
        for failure in self.failures:
            failure.note(entry)
        self._last_answered_unit = self.count
        self._uncovered_requests += 1
        if self._uncovered_requests == BATCH:
            self.flush_coverage()

    def flush_coverage(self) -> Coverage:
        """The coverage, brought up to date. It includes what is no longer stored, and what was rewound."""
        self._coverage = self._coverage or Coverage()
        self._coverage.note_requests(list(islice(reversed(self.entries), self._uncovered_requests)))
        units = list(islice(reversed(self._units), self.count - self._last_covered_unit))
        with_changes = self.count - self._last_answered_unit <= MAX_UNITS_BETWEEN_REQUESTS
        self._coverage.note_units(units, with_changes=with_changes)
        self._uncovered_requests, self._last_covered_unit = 0, self.count
        return self._coverage

    def reset_coverage(self) -> None:
        """Start over with an empty coverage."""
        self.flush_coverage()
        self._coverage = None

    def find(self, id: str) -> LoggedRequest | None:
        """The request with this id."""
        return next((entry for entry in reversed(self.entries) if entry.id == id), None)

    def units_of(self, entry: LoggedRequest) -> list[UnitOfWork]:
        """The units of work that a request caused, jobs due at once included.

        Those of other requests that were served at the same time are left out.
        """
        return [
            unit
            for number, unit in self.enumerate()
            if entry.checkpoint.units < number <= entry.last_unit and unit.cause in (entry.id, None)
        ]

    def enumerate(self) -> Iterator[tuple[int, UnitOfWork]]:
        """Every stored unit of work with its number in the world's history, oldest first."""
        return enumerate(self._units, self.count - len(self._units) + 1)

    def changing(self, id: str) -> set[str]:
        """The ids of the requests that changed the object with this id."""
        hits = [(number, unit.cause) for number, unit in self.enumerate() if unit.touches(id)]
        return {
            entry.id
            for entry in self.entries
            for number, cause in hits
            if entry.checkpoint.units < number <= entry.last_unit and cause in (entry.id, None)
        }

    def reaches(self, checkpoint: Checkpoint) -> bool:
        """Whether every unit of work since a checkpoint is still stored."""
        return self.count - len(self._units) <= checkpoint.units

    def since(self, checkpoint: Checkpoint) -> list[UnitOfWork]:
        """The units of work since a checkpoint, the last one first."""
        return list(islice(reversed(self._units), self.count - checkpoint.units))

    def rewind(self, to: Checkpoint) -> None:
        """Drop the units of work and the requests since a checkpoint."""
        self.flush_coverage()
        for _ in range(min(self.count - to.units, len(self._units))):
            self._units.pop()
        self.count = self._last_covered_unit = self._last_answered_unit = to.units
        self.failures = [failure for failure in self.failures if failure.unit.number <= to.units]
        while self.entries and self.entries[-1].checkpoint.units >= to.units and self.entries[-1].last_unit > to.units:
            self.entries.pop()

    def clear(self) -> None:
        """Drop everything, for a world that has no history. Checkpoints of before no longer lead anywhere."""
        self.flush_coverage()
        self.count = self._last_covered_unit = self._last_answered_unit = self.count + 1
        self.entries.clear()
        self.failures.clear()
        self._units.clear()
