"""State machines: tables of ``(from, trigger, to, event)`` that rule a record's ``status``.

A row may begin in several states, ``"active past_due"``; where its ``to`` is None, each of them
stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, NamedTuple

from emulator.core.errors import ApiError
from emulator.core.handlers import new_record
from emulator.core.jobs import Job
from emulator.core.records import R
from emulator.core.violations import NO_BODY, Body
from emulator.core.world import JobFunction, World


class Transition(NamedTuple):
    """``trigger`` leads from ``source`` (None: new record) to ``target``; may emit ``event``."""

    source: str | None
    trigger: str
    target: str
    event: str | None = None


class StateMachine(Generic[R]):
    """The states of one kind of record and their transitions; nothing else sets ``status``.

    ``event_metadata`` gives the metadata of related objects that an event of the record includes
    (B-80).
    """

    def __init__(
        self,
        kind: type[R],
        *rows: tuple[str | None, str, str | None] | tuple[str | None, str, str | None, str],
        event_metadata: Callable[[World, R, str], Mapping[str, Any]] | None = None,
    ) -> None:
        self.kind = kind
        self.rows: tuple[Transition, ...] = tuple(
            Transition(source, trigger, str(target or source), *event)
            for sources, trigger, target, *event in rows
            for source in (sources.split() if sources else [None])
        )
        self._transitions = {(row.source, row.trigger): row for row in self.rows}
        if len(self._transitions) != len(self.rows):
            raise ValueError(
                f"the state machine of {kind.kind} has two transitions for one state and trigger"
            )
        self._event_metadata = event_metadata

    def allows(self, record: R, trigger: str) -> bool:
        # records with a state machine have a status
        return (record.status, trigger) in self._transitions  # type: ignore[attr-defined]

    def require(self, record: R, trigger: str, wanted: str | None = None) -> Transition:
        """Return the transition for this trigger, or raise 422 ``INVALID_STATUS_TRANSITION``.

        ``wanted`` are words for it in a message, such as ``be paid``, unless the trigger itself is
        what a client asks for.
        """
        # records with a state machine have a status
        status: str = record.status  # type: ignore[attr-defined]
        row = self._transitions.get((status, trigger))
        if row is None:
            raise ApiError(
                "INVALID_STATUS_TRANSITION",
                object=self.kind.kind.replace("_", " "),
                status=status,
                trigger=wanted or trigger,
            )
        return row

    def create(self, world: World, trigger: str, body: Body = NO_BODY, /, **computed: Any) -> R:
        """Add a new record (:func:`new_record`) in the trigger's target state; emit the event."""
        row = self._transitions[None, trigger]
        record = new_record(world, self.kind, body, status=row.target, **computed)
        return self._emit(world, row, world.add(record))

    def transition(self, world: World, record: R, trigger: str, /, **changes: Any) -> R:
        """Set the target state and fields, emit the event; return the record after reactions."""
        row = self.require(record, trigger)
        changes["status"] = row.target
        return self._emit(world, row, world.change(record, changes))

    def job(
        self, trigger: str, act: Callable[[World, R, Job], object] | None = None
    ) -> JobFunction:
        """Return a job's function: a transition, or ``act``, if the state allows the transition."""

        def run(world: World, job: Job) -> None:
            record = world.get(self.kind, job.about)
            if record is not None and self.allows(record, trigger):
                if act is None:
                    self.transition(world, record, trigger)
                else:
                    act(world, record, job)

        return run

    def _emit(self, world: World, row: Transition, record: R) -> R:
        if row.event is None:
            return record
        metadata = self._event_metadata(world, record, row.event) if self._event_metadata else None
        world.emit(row.event, record, metadata)
        return world.get(self.kind, record.id) or record
