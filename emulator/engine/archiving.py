"""Archiving: has the old records of a world leave memory, as far as its history is limited."""

from __future__ import annotations

from emulator.core import calendar
from emulator.core.archive import HistoryLimit
from emulator.core.archived_table import ArchivedTable
from emulator.core.calendar import LAST
from emulator.core.records import Record
from emulator.core.world import World

STEP = 2000
"""The most records of a kind that leave memory at a time. For all kinds together that takes some milliseconds."""

SLACK = 8
"""While fewer than this part of the limit are too many, none leaves memory, so that they leave many at a time."""


class Archiving:
    """Limits one world's history. All records of the world are stored when it is called.

    Where months decide, records leave memory once a day, each day those of one more day.
    """

    def __init__(self, limit: HistoryLimit) -> None:
        self._limit = limit
        self._world: World | None = None
        self._before_then = ""

    def on_commit(self, world: World) -> list[Record]:
        """Have some records beyond the limit leave memory; the records that did."""
        before = self._before(world)
        if self._limit.months is not None and (self._world, self._before_then) == (world, before):
            return []
        left = [self._archive(table, before, self._slack) for table in world.archived_tables()]
        if all(len(records) < STEP for records in left):
            self._world, self._before_then = world, before
        return [record for records in left for record in records]

    def trim(self, world: World) -> None:
        """Have all records beyond the limit leave memory."""
        before = self._before(world)
        for table in world.archived_tables():
            while self._archive(table, before):
                pass

    @property
    def _slack(self) -> int:
        return min((self._limit.records or 0) // SLACK, STEP)

    def _before(self, world: World) -> str:
        return self._limit.since(calendar.midnight(calendar.day(world.now))) or LAST

    def _archive(self, table: ArchivedTable[Record], before: str, slack: int = 0) -> list[Record]:
        excess = STEP if self._limit.records is None else table.slots.size() - self._limit.records
        return table.archive_oldest(min(excess, STEP), before) if excess > slack else []
