"""The records of a world, in tables, and the note of each change in the unit of work that runs."""

from __future__ import annotations

import copy
from collections import defaultdict
from functools import cache
from typing import Any, Generic, NoReturn, Self, TypeVar

from msgspec.structs import replace

from emulator.core.calendar import Timestamp
from emulator.core.records import R, Record
from emulator.core.slices import Slices, completed
from emulator.core.tables import Earlier, Slot, Table
from emulator.core.unit_of_work import Change, UnitOfWork


class Tables(dict[type[Record], Table[Any]]):
    """The tables of a world by kind, each made with its first record: most worlds hold records of a few kinds.

    Kinds without records share one empty table, to which nothing is ever added.
    """

    def __init__(self, kinds: tuple[type[Record], ...]) -> None:
        super().__init__()
        self.kinds = kinds
        self._empty = _empty(kinds)

    def __missing__(self, kind: type[Record]) -> Table[Any]:
        return self._empty[kind]

    def make(self, kind: type[Record]) -> Table[Any]:
        """Return the table for the first record of a kind. Raises ``KeyError`` for a kind that this world does not hold."""
        if kind not in self.kinds:
            raise KeyError(kind)
        table = self[kind] = Table(kind)
        return table


@cache
def _empty(kinds: tuple[type[Record], ...]) -> dict[type[Record], Table[Any]]:
    return {kind: Table(kind) for kind in kinds}


class Repository:
    """Records by kind and counters by name. They change only inside a unit of work, which notes each change for undo.

    ``now`` (UTC) is the instant that a changed record gets as its ``updated_at``.
    """

    def __init__(self, kinds: tuple[type[Record], ...], now: Timestamp) -> None:
        self.now: Timestamp = now
        self.counters: dict[str, int] = {}
        self._tables = Tables(kinds)
        self._unit: UnitOfWork | None = None

    def copy(self) -> Self:
        """Return another one in the same state. Records never change, so both share them; only the tables are copied."""
        return completed(Copying(self).slices())

    def emptied(self) -> Self:
        duplicate = copy.copy(self)
        duplicate.counters = self.counters.copy()
        duplicate._tables = Tables(self.kinds)
        return duplicate

    def after_copying(self) -> None:
        """Take over the tables of a finished copy, where a subclass refers to one of them by itself."""

    # -- reading

    @property
    def kinds(self) -> tuple[type[Record], ...]:
        return self._tables.kinds

    def table(self, kind: type[R]) -> Table[R]:
        return self._tables[kind]

    def tables(self) -> list[Table[Any]]:
        """Return the tables in which there is something, or was, in the order of the kinds."""
        return [self._tables[kind] for kind in self.kinds if kind in self._tables]

    def holds(self, kind: type[Record]) -> bool:
        """Return whether there is a record of this kind, or was one."""
        return kind in self._tables

    def get(self, kind: type[R], id: str | None) -> R | None:
        slot = self._tables[kind].slots[id]  # type: ignore[index]  # None may be looked up; no record has it as its id
        return None if slot is None else slot.record

    def require(self, kind: type[R], id: str | None) -> R:
        """Return the record that another one refers to, so that it must exist. Raises ``KeyError`` if it does not."""
        slot: Slot[R] | None = self._tables[kind].slots[id]  # type: ignore[index]  # as above
        if slot is None:
            raise KeyError(id)
        return slot.record

    # -- changing, inside a unit of work

    def add(self, record: R, number: int | None = None) -> R:
        """Add a new record at the end of the order of creation, or at the given ``number`` in it."""
        if number is None:
            number = self.counters["record"] = self.counters.get("record", 0) + 1  # as count(); inlined for speed
        unit = self._unit or no_unit_of_work()
        # If the table raises, it has changed nothing, and there must be no change to undo.
        if (table := self._tables.get(type(record))) is None:
            table = self._tables.make(type(record))
        table.add(record, number)
        unit.changes.append(change := Change(None, record, number))
        if table.checks_additions:
            unit.checked.append(change)
        return record

    def replace(self, record: R, /, **changes: Any) -> R:
        """Replace a record by a copy with some fields changed, and with ``updated_at`` set if it has that field.

        Raises ``RuntimeError``, as :meth:`remove` does, if the world no longer holds this very record: a change that
        was made since would be lost.
        """
        return self.change(record, changes)

    def change(self, record: R, changes: dict[str, Any]) -> R:
        """Do what :meth:`replace` does, with the changes in a dict, which may be modified."""
        unit = self._unit or no_unit_of_work()
        table = self._tables[type(record)]
        if table.stamped:
            changes.setdefault("updated_at", self.now)
        changed = replace(record, **changes)
        table.replace(record, changed, changes)
        unit.changes.append(change := Change(record, changed, 0))
        if table.checked and not table.checked.isdisjoint(changes):
            unit.checked.append(change)
        return changed

    def remove(self, record: Record) -> None:
        unit = self._unit or no_unit_of_work()
        table = self._tables[type(record)]
        unit.changes.append(change := Change(record, None, table.remove(record)))
        if table.checks_additions:
            unit.checked.append(change)

    def clear(self, keep: tuple[type[Record], ...]) -> dict[type[Record], int]:
        """Delete every record of all kinds but those to keep; returns how many there were of each kind."""
        tables = [table for table in self.tables() if table.kind not in keep]
        removed = {table.kind: len(table) for table in tables}
        (self._unit or no_unit_of_work()).cleared = True
        for table in tables:
            # From the newest to the oldest, so that each removal takes the end of a list.
            for record in reversed(list(table)):
                self.remove(record)
        return removed

    def arrange(self) -> None:
        """Note that the running unit of work sets fields directly, past the rules; no check is made of it."""
        (self._unit or no_unit_of_work()).is_arranged = True

    def count(self, name: str) -> int:
        """Return the next number of a counter; the first is 1."""
        number = self.counters[name] = self.counters.get(name, 0) + 1
        return number

    def undo(self, unit: UnitOfWork) -> None:
        """Undo every change of a unit of work: of one that raised, or of the last one committed."""
        for change in reversed(unit.changes):
            table = self._tables[type(change.record)]
            if change.old is None:
                table.remove(change.record)
            elif change.new is None:
                table.add(change.record, change.number)
            else:
                table.replace(change.new, change.old)
        self.counters = unit.counters


C = TypeVar("C", bound=Repository)


class Copying(Generic[C]):
    """A repository that is copied in slices as it is now, though it changes meanwhile: :meth:`note` is told how."""

    def __init__(self, original: C) -> None:
        if original._unit is not None:
            raise RuntimeError("a unit of work is running; a world is copied between two of them")
        self._tables = [*original._tables.items()]
        self._copy = original.emptied()
        self._earlier: defaultdict[type[Record], dict[str, Earlier]] = defaultdict(dict)

    def note(self, unit: UnitOfWork) -> None:
        for change in unit.changes:
            earlier, id = self._earlier[type(change.record)], change.record.id
            if id not in earlier:
                earlier[id] = Earlier(change.old, change.number)
            elif change.new is None:
                earlier[id] = earlier[id]._replace(number=change.number)

    def slices(self) -> Slices[C]:
        for kind, table in self._tables:
            self._copy._tables[kind] = yield from table.copying(self._earlier[kind])
        self._copy.after_copying()
        return self._copy


def no_unit_of_work() -> NoReturn:
    raise RuntimeError("a world changes only inside a unit of work")
