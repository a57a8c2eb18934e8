"""Life cycles: tables of ``from | trigger | to | event``. What is not in the table cannot happen (idea 1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, NamedTuple

from emulator.core.records import R, Record
from emulator.core.world import World
from emulator.errors import ApiError


class Transition(NamedTuple):
    """One move: in state ``source`` (None: not yet made) the ``trigger`` leads to ``target`` and tells ``event``."""

    source: str | None
    trigger: str
    target: str
    event: str | None = None


class StateMachine(Generic[R]):
    """The only place that sets ``status``.

    ``carried`` gives the metadata of other objects that goes with the events of a record (B-80).
    """

    def __init__(
        self,
        kind: type[R],
        *rows: tuple[str | None, str, str] | tuple[str | None, str, str, str | None],
        carried: Callable[[World, R, str], Mapping[str, Any]] | None = None,
    ) -> None:
        self.kind = kind
        self.rows = tuple(Transition(*row) for row in rows)
        self._transitions = {(row.source, row.trigger): row for row in self.rows}
        if len(self._transitions) != len(self.rows):
            raise ValueError(f"the life cycle of {kind.kind} says two things about one trigger")
        self._event_metadata = carried

    def allows(self, record: R, trigger: str) -> bool:
        """Whether the trigger leads anywhere from the record's state."""
        return (record.status, trigger) in self._transitions  # type: ignore[attr-defined]  # a record with a life cycle has a status

    def create(self, world: World, trigger: str, record: R) -> R:
        """File a new record in the state its trigger leads to. The record's own ``status`` must say just that."""
        row = self._transitions[None, trigger]
        assert record.status == row.target, f"{row}: {record.status}"  # type: ignore[attr-defined]  # see allows
        return self._emit(world, row, world.add(record))

    def transition(self, world: World, record: R, trigger: str, /, **changes: Any) -> R:
        """Move a record along its table, with changes to other fields in the same breath.

        Raises :class:`Refusal` ``INVALID_STATUS_TRANSITION`` where the table has no such row.
        """
        status: str = record.status  # type: ignore[attr-defined]  # see allows
        row = self._transitions.get((status, trigger))
        if row is None:
            raise ApiError("INVALID_STATUS_TRANSITION", object=_words(self.kind), status=status, trigger=trigger)
        changes["status"] = row.target
        return self._emit(world, row, world.change(record, changes))

    def _emit(self, world: World, row: Transition, record: R) -> R:
        if row.event is None:
            return record
        metadata = self._event_metadata(world, record, row.event) if self._event_metadata else None
        world.emit(row.event, record, metadata)
        return world.get(self.kind, record.id) or record


def _words(kind: type[Record]) -> str:
    return kind.kind.replace("_", " ")
