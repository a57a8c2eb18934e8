"""A unit of work: what one request or one job does to a world, committed or undone as a whole."""

from __future__ import annotations

import msgspec

from emulator.core.effects import Effect
from emulator.core.events import Event
from emulator.core.records import Record


class Change(msgspec.Struct, frozen=True, gc=False):
    """One record before and after: ``old`` is None for a record that was added, ``new`` for one that was removed.

    ``number`` is the record's number in the order of creation if it was added or removed. Changes hold records and
    nothing else, so the garbage collector need not track them either (see :class:`~emulator.core.records.Record`).
    """

    old: Record | None
    new: Record | None
    number: int

    @property
    def record(self) -> Record:
        """The record after the change; for one that was removed, the record before."""
        record = self.new or self.old
        assert record is not None
        return record


class UnitOfWork(msgspec.Struct, gc=False):
    """The changes, events and effects of one request or one job, in order.

    ``cause`` is the id of the request. ``counters`` are the world's counters before the unit began, for undo.
    ``cleared`` says that it removed all records of the App (a reset), ``is_arranged`` that it set fields directly, past
    the rules, as a tester or a stored world does. ``checked``: the changes that the checks of the registry look at.
    ``failed_checks``: what is wrong with it.
    """

    cause: str | None
    counters: dict[str, int]
    changes: list[Change] = []
    events: list[Event] = []
    effects: list[Effect] = []
    cleared: bool = False
    is_arranged: bool = False
    checked: list[Change] = []
    failed_checks: list[CheckFailed] = []

    @property
    def changed_nothing(self) -> bool:
        """Whether it only read: there is nothing to store, to report or to perform."""
        return not (self.changes or self.effects or self.cleared)

    def touches(self, id: str) -> bool:
        """Whether it added, changed or removed the record with this id."""
        for change in self.changes:  # an explanation asks this of thousands of units
            record = change.new or change.old
            if record is not None and record.id == id:
                return True
        return False


class CheckFailed(Exception):
    """What a check of the registry found wrong with a unit of work. ``unit``: that unit, once it is undone."""

    unit: UnitOfWork | None = None

    def concerns(self, unit: UnitOfWork) -> bool:
        """Whether an earlier unit of work changed what is wrong now."""
        return False
