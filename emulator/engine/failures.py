"""Failures: units of work that failed a check, with what names their causes once the journal has moved on."""

from __future__ import annotations

import msgspec

from emulator.core.unit_of_work import CheckFailed, UnitOfWork
from emulator.engine.logged_request import LoggedRequest


class NumberedUnit(msgspec.Struct):
    """A unit of work with its number in the world's history, and the request it belongs to, once that is known.

    One that was undone has the number that it would have had.
    """

    number: int
    unit: UnitOfWork
    is_undone: bool = False
    request: LoggedRequest | None = None

    def note(self, entry: LoggedRequest) -> None:
        """Note a request that was answered, if the unit of work belongs to it.

        Units of work of the control API have no cause. Theirs is the request during which they ran.
        """
        if self.request is None and (entry.id == self.unit.cause or self._ran_during(entry)):
            self.request = entry

    def _ran_during(self, entry: LoggedRequest) -> bool:
        last = entry.last_unit + self.is_undone
        return self.unit.cause is None and entry.checkpoint.units < self.number <= last


class Failure(msgspec.Struct):
    """A check that a unit of work failed. ``earlier``: the last one before it that changed what is wrong now."""

    error: CheckFailed
    unit: NumberedUnit
    earlier: NumberedUnit | None

    def note(self, entry: LoggedRequest) -> None:
        """Note a request that was answered, if it is one of the two causes."""
        self.unit.note(entry)
        if self.earlier is not None:
            self.earlier.note(entry)
