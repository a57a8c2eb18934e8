"""Causes: the journal read backwards, from a turn to the request or job that it was, and to who planned that."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from emulator.core.calendar import Timestamp
from emulator.core.jobs import FailedJob, Job
from emulator.core.records import Record
from emulator.core.turns import Turn
from emulator.core.world import Event
from emulator.engine.journal import Entry, Journal
from emulator.resources.emails import Email


class Act(NamedTuple):
    """A turn that is kept, with its number in the world's history."""

    number: int
    turn: Turn

    @property
    def at(self) -> Timestamp | None:
        """The world's instant while it ran, as the first record it made or changed tells; None where none does."""
        for change in self.turn.changes:
            made = None if change.old else getattr(change.new, "created_at", None)
            at: Timestamp | None = getattr(change.new, "updated_at", made)
            if at is not None:
                return at
        return None

    @property
    def job(self) -> Job | None:
        """The job it was, if it was one: that is taken off the schedule before anything else, and it was due."""
        first = self.turn.changes[0]
        if self.turn.cause is not None or first.new is not None or not isinstance(first.old, Job):
            return None
        # The tester may have an operator answer before its time: that takes a job off too, but one that is not due.
        return first.old if self.at is None or first.old.due <= self.at else None

    def makes(self, id: str) -> bool:
        """Whether it made the record with this id."""
        return any(change.old is None and change.record.id == id for change in self.turn.changes)


class Causes:
    """What the journal still knows of who did what."""

    def __init__(self, journal: Journal) -> None:
        self.acts = [Act(*kept) for kept in journal.numbered()]
        self._entries = journal.entries

    def of(self, id: str) -> list[Act]:
        """The turns that touched a record, oldest first."""
        return [act for act in self.acts if act.turn.touches(id)]

    def maker(self, record: Record) -> Act | None:
        """The turn that planned a job, told an event or wrote an email."""
        return self._makers.get(record.id)

    @cached_property
    def _makers(self) -> dict[str, Act]:
        return {record.id: act for act in self.acts for record in _made(act)}

    @cached_property
    def _requests(self) -> dict[str, Entry]:
        return {entry.id: entry for entry in self._entries}

    def known(self, id: str) -> Entry | None:
        """The request with this id."""
        return self._requests.get(id)

    def request(self, act: Act) -> str | None:
        """The id of the request that a turn was, or None.

        Turns of the control API name no cause: there it is the request during which the turn was made, and if several
        were under way, the one that made the fewest.
        """
        if act.turn.cause is not None:
            return act.turn.cause
        around = [entry for entry in self._entries if entry.mark.turns < act.number <= entry.last_turn]
        return min(around, key=lambda entry: entry.last_turn - entry.mark.turns).id if around else None

    def above(self, job: Job | FailedJob) -> Iterator[Job]:
        """The jobs above a job: the one that planned it, the one that planned that, and so on."""
        planner = self.maker(job)
        while planner is not None and (above := planner.job) is not None:
            yield above
            planner = self.maker(above)


def _made(act: Act) -> Iterator[Record]:
    for change in act.turn.changes:
        if change.old is None and isinstance(change.new, (Job, Event, Email)):
            yield change.new
