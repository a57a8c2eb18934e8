"""Causes: the journal read backwards, from a turn to the request or job that it was, and to who planned that."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from emulator.core.calendar import Timestamp
from emulator.core.jobs import FailedJob, Job
from emulator.core.records import Record
from emulator.core.unit_of_work import UnitOfWork
from emulator.core.world import Event
from emulator.engine.journal import Journal
from emulator.engine.logged_request import LoggedRequest
from emulator.resources.sandbox.emails import Email


class LoggedUnit(NamedTuple):
    """A turn that is kept, with its number in the world's history."""

    number: int
    unit: UnitOfWork

    @property
    def at(self) -> Timestamp | None:
        """The world's instant while it ran, as the first record it made or changed tells; None where none does."""
        for change in self.unit.changes:
            made = None if change.old else getattr(change.new, "created_at", None)
            at: Timestamp | None = getattr(change.new, "updated_at", made)
            if at is not None:
                return at
        return None

    @property
    def job(self) -> Job | None:
        """The job it was, if it was one: that is taken off the schedule before anything else, and it was due."""
        first = self.unit.changes[0]
        if self.unit.cause is not None or first.new is not None or not isinstance(first.old, Job):
            return None
        # The tester may have an operator answer before its time: that takes a job off too, but one that is not due.
        return first.old if self.at is None or first.old.due <= self.at else None

    def created(self, id: str) -> bool:
        """Whether it made the record with this id."""
        return any(change.old is None and change.record.id == id for change in self.unit.changes)


class Causality:
    """What the journal still knows of who did what."""

    def __init__(self, journal: Journal) -> None:
        self.units = [LoggedUnit(*kept) for kept in journal.enumerate()]
        self._entries = journal.entries

    def of(self, id: str) -> list[LoggedUnit]:
        """The turns that touched a record, oldest first."""
        return [act for act in self.units if act.unit.touches(id)]

    def maker(self, record: Record) -> LoggedUnit | None:
        """The turn that planned a job, told an event or wrote an email."""
        return self._makers.get(record.id)

    @cached_property
    def _makers(self) -> dict[str, LoggedUnit]:
        return {record.id: act for act in self.units for record in _made(act)}

    @cached_property
    def _requests(self) -> dict[str, LoggedRequest]:
        return {entry.id: entry for entry in self._entries}

    def known(self, id: str) -> LoggedRequest | None:
        """The request with this id."""
        return self._requests.get(id)

    def request(self, act: LoggedUnit) -> str | None:
        """The id of the request that a turn was, or None.

        Turns of the control API name no cause: there it is the request during which the turn was made, and if several
        were under way, the one that made the fewest.
        """
        if act.unit.cause is not None:
            return act.unit.cause
        around = [entry for entry in self._entries if entry.checkpoint.units < act.number <= entry.last_unit]
        return min(around, key=lambda entry: entry.last_unit - entry.checkpoint.units).id if around else None

    def above(self, job: Job | FailedJob) -> Iterator[Job]:
        """The jobs above a job: the one that planned it, the one that planned that, and so on."""
        planner = self.maker(job)
        while planner is not None and (above := planner.job) is not None:
            yield above
            planner = self.maker(above)


def _made(act: LoggedUnit) -> Iterator[Record]:
    for change in act.unit.changes:
        if change.old is None and isinstance(change.new, (Job, Event, Email)):
            yield change.new
