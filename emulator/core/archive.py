"""The archive of a world: what reads old records that are in its state and no longer in memory, and when they leave it.

A record that left memory is still in its table: its slot, with an :class:`Archived` in place of the record, stays in
the order of the table and in its indexes. So counts and pages are found as before, and only the records of the page are
read. A record that changes is back in memory first.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple, Protocol, Self

import msgspec

from emulator.core import calendar
from emulator.core.calendar import Timestamp
from emulator.core.records import R

FORM = "a number of records, such as 100000, or of months, such as 12months"

_FORM = re.compile(r"([1-9][0-9]{0,8})(months?)?")

_MOST_MONTHS = 1200


class Archived(msgspec.Struct, frozen=True, gc=False):
    """Stands in the slot of a record that is not in memory; of the record, the slot still needs its ``created_at``."""

    created_at: Timestamp


def is_archived(record: object) -> bool:
    """Whether this stands in the place of a record that is not in memory."""
    return type(record) is Archived


class Archive(Protocol):
    """Reads the records of one world from its state. Each method raises ``ApiError`` if the state cannot be read."""

    def load(self, kind: type[R], numbers: Sequence[int]) -> dict[int, R]:
        """The records with these numbers in the order of creation, by number."""

    def find(self, kind: type[R], id: str) -> tuple[int, R] | None:
        """The record with this id and its number, or None."""

    def about(self, kind: type[R], id: str) -> list[tuple[int, R]]:
        """The records whose JSON has this id at one of the paths of ``kind.mentions``, each with its number."""


class HistoryLimit(NamedTuple):
    """How much of its past a world holds in memory: so many records of each kind, or those of so many months."""

    records: int | None = None
    months: int | None = None

    @classmethod
    def parse(cls, text: str) -> Self:
        """The limit that a text such as ``100000`` or ``12months`` names. Raises ``ValueError``."""
        found = _FORM.fullmatch(text)
        if found is None or (found[2] and int(found[1]) > _MOST_MONTHS):
            raise ValueError(f"{text!r}: {FORM}")
        return cls(months=int(found[1])) if found[2] else cls(records=int(found[1]))

    def since(self, now: Timestamp) -> Timestamp | None:
        """The instant before which records leave memory; None where their number decides."""
        if self.months is None:
            return None
        try:
            return calendar.step(now, "month", -self.months)
        except ValueError:  # before the year 1, when no record can be
            return ""
