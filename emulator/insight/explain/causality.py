"""Causes in the journal: a change leads back to its request or job, a job to its planner."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from emulator.core.calendar import Timestamp
from emulator.core.jobs import FailedJob, Job
from emulator.core.records import Record
from emulator.core.unit_of_work import Change, Event, UnitOfWork
from emulator.engine.journal import Journal
from emulator.engine.logged_requests import LoggedRequest
from emulator.resources.simulation.emails import Email

CAUSED: frozenset[type[Record]] = frozenset([Job, Event, Email])
"""The kinds of record whose creator an explanation looks for."""


class LoggedUnit(NamedTuple):
    """A unit of work in the journal, with its number in the world's history."""

    number: int
    unit: UnitOfWork

    @property
    def at(self) -> Timestamp | None:
        """The world's instant, from a record that the unit created or changed; None without."""
        for change in self.unit.changes:
            created = None if change.old else getattr(change.new, "created_at", None)
            at: Timestamp | None = getattr(change.new, "updated_at", created)
            if at is not None:
                return at
        return None

    @property
    def job(self) -> Job | None:
        """The job that ran, if any: it was due, and the unit first removes it from the schedule."""
        first = self.unit.changes[0]
        if self.unit.cause is not None or first.new is not None or not isinstance(first.old, Job):
            return None
        # A tester can have the operator answer early: that removes a job first, too, but one that
        # is not due.
        return first.old if self.at is None or first.old.due <= self.at else None

    def created(self, id: str) -> bool:
        return any(change.old is None and change.record.id == id for change in self.unit.changes)


class Causality:
    """Finds the causes of changes as far back as the journal goes.

    After :meth:`read`, by ids: in ``touching`` the units of work that added, changed or removed a
    record, oldest first, and in ``creators`` the one that planned a job, emitted an event or wrote
    an email.
    """

    def __init__(self, journal: Journal) -> None:
        self.units: list[LoggedUnit] = [
            LoggedUnit(number, unit) for number, unit in journal.enumerate()
        ]
        self.touching: dict[str, list[LoggedUnit]] = {}
        self.creators: dict[str, LoggedUnit] = {}
        self.requests: dict[str, LoggedRequest] = {entry.id: entry for entry in journal.entries}

    def read(self) -> None:
        for logged in self.units:
            for change in logged.unit.changes:
                if (units := self.touching.setdefault(change.record.id, [logged]))[
                    -1
                ] is not logged:
                    units.append(logged)
                if change.old is None and type(change.new) in CAUSED:
                    self.creators[change.record.id] = logged

    def between(self, after: int, last: int | None = None) -> list[LoggedUnit]:
        """Return the units of work after one number, up to another one."""
        before = self.units[0].number - 1 if self.units else 0
        return self.units[max(after - before, 0) : None if last is None else max(last - before, 0)]

    @cached_property
    def changes(self) -> list[tuple[LoggedUnit, Change]]:
        """Every change, oldest first, with its unit of work."""
        return [(logged, change) for logged in self.units for change in logged.unit.changes]

    def request_of(self, logged: LoggedUnit) -> str | None:
        """Return the id of the request that a unit of work belongs to, or None.

        Units of work of the control API have no cause. Theirs is the request during which they ran;
        of several at the same time, the one with the fewest units of work.
        """
        if logged.unit.cause is not None:
            return logged.unit.cause
        entries = [
            entry
            for entry in self.requests.values()
            if entry.checkpoint.units < logged.number <= entry.last_unit
        ]
        return (
            min(entries, key=lambda entry: entry.last_unit - entry.checkpoint.units).id
            if entries
            else None
        )

    def planners(self, job: Job | FailedJob) -> Iterator[Job]:
        """Yield the job that planned a job, the one that planned that, and so on."""
        unit = self.creators.get(job.id)
        while unit is not None and (planner := unit.job) is not None:
            yield planner
            unit = self.creators.get(planner.id)
