"""A world: everything one App is at one instant, and the only way to change it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, NamedTuple, NoReturn, Self, cast

import msgspec

from emulator.core.calendar import Timestamp
from emulator.core.effects import Effect
from emulator.core.ids import IdSource
from emulator.core.jobs import FailedJob, Job, JobQueue
from emulator.core.records import R, Record, to_wire
from emulator.core.tables import Table
from emulator.core.unit_of_work import Change, UnitOfWork, UnitOfWorkContext


class EventData(msgspec.Struct, frozen=True, gc=False):
    """What an event tells: its object and, where some is carried along, the metadata of others (B-80)."""

    object: Any
    metadata: Mapping[str, Any] | msgspec.UnsetType = msgspec.UNSET


class Event(Record, frozen=True, kw_only=True):
    """Something that happened, with its object as it was at that moment (B-80)."""

    kind: ClassVar[str] = "event"
    prefix: ClassVar[str] = "evt"
    indexes: ClassVar[tuple[str, ...]] = ("type",)

    object: str = "event"
    type: str
    api_version: str = "v1"
    app: str
    livemode: bool
    created_at: Timestamp
    request: str | None
    data: EventData

    @property
    def about(self) -> str:
        """The id of what it tells of."""
        told = self.data.object
        return str(told["id"] if isinstance(told, dict) else told.id)

    def public_view(self) -> Self:
        """The event as it goes on the wire, its object without what is hidden."""
        return self.replace(data=EventData(to_wire(self.data.object), self.data.metadata))


_OWN_KINDS: tuple[type[Record], ...] = (Job, FailedJob, Event)
"""The kinds of every world, whatever its wiring."""


Reaction = Callable[["World", Event], None]
JobFunction = Callable[["World", Job], None]


class Registry(NamedTuple):
    """How news comes up: which reactions follow an event (``*``: every event) and which function does a job."""

    kinds: tuple[type[Record], ...]
    reactions: Mapping[str, tuple[Reaction, ...]]
    jobs: Mapping[str, JobFunction]


class World:
    """The state of one App, side test or live: its records, its jobs, its events, its counters, its instant.

    ``now`` is set by the engine before each turn and stands still during it. Changes are made only inside a turn
    (:meth:`turn`), and a turn that raises leaves no trace. ``facts`` is what the rules know of the outside and never
    changes, such as the operator's magic values; ``base_url`` is where the emulator is reached.
    """

    def __init__(
        self,
        *,
        name: str,
        livemode: bool,
        wiring: Registry,
        facts: Any,
        seed: str,
        now: Timestamp,
        base_url: str,
    ) -> None:
        self.reference_data = facts
        self.name = name
        self.seed = seed
        self.livemode = livemode
        self.base_url = base_url
        self.now = now
        self.registry = wiring
        self.counters: dict[str, int] = {}
        self._ids = IdSource(f"{seed}/{name}/{'live' if livemode else 'test'}")
        self.app = IdSource(name).id("app", int(livemode))
        self._unit: UnitOfWork | None = None
        self.jobs = JobQueue()
        self._tables: dict[type[Record], Table[Any]] = {kind: Table(kind) for kind in (*_OWN_KINDS, *wiring.kinds)}
        self._tables[Job] = self.jobs

    def copy(self) -> World:
        """This world once more, to try the future on: what is done to one does not reach the other.

        Records never change, so both share them; only their filing is copied.
        """
        if self._unit is not None:
            raise RuntimeError("a turn is running; a world is copied between turns")
        twin = copy.copy(self)
        twin.counters = self.counters.copy()
        twin._tables = {kind: table.copy() for kind, table in self._tables.items()}
        twin.jobs = cast("JobQueue", twin._tables[Job])
        return twin

    # -- reading

    def table(self, kind: type[R]) -> Table[R]:
        return self._tables[kind]

    def tables(self) -> Iterator[Table[Any]]:
        """Every table."""
        return iter(self._tables.values())

    def get(self, kind: type[R], id: str | None) -> R | None:
        """The record of this kind with this id, or None."""
        slot = self._tables[kind].slots.get(id)  # type: ignore[arg-type]  # nothing has the id None
        return None if slot is None else slot.record

    def require(self, kind: type[R], id: str | None) -> R:
        """The record that must be there: a reference between records. Raises ``KeyError`` where it is not."""
        return self._tables[kind].slots[id].record  # type: ignore[index, no-any-return]  # see get; of this kind

    # -- changing, inside a turn

    def add(self, record: R, number: int | None = None) -> R:
        """File a new record, or one again in its old place (``number``) in the order of creation."""
        if number is None:
            number = self.counters["record"] = self.counters.get("record", 0) + 1  # count(), without a call for each
        turn = self._unit or _no_unit_of_work()
        # A table refuses before it changes anything, and what it refused is nothing to undo.
        self._tables[type(record)].add(record, number)
        turn.changes.append(Change(None, record, number))
        return record

    def replace(self, record: R, /, **changes: Any) -> R:
        """Put a changed record in the place of its former self; ``updated_at`` moves with it where there is one.

        Raises ``RuntimeError``, as :meth:`remove` does, for a record that was changed meanwhile: what others changed
        would be lost.
        """
        return self.change(record, changes)

    def change(self, record: R, changes: dict[str, Any]) -> R:
        """The same, for changes that are in a dict already; it is taken over."""
        turn = self._unit or _no_unit_of_work()
        table = self._tables[type(record)]
        if table.stamped and "updated_at" not in changes:
            changes["updated_at"] = self.now
        changed = msgspec.structs.replace(record, **changes)
        table.replace(record, changed, changes)
        turn.changes.append(Change(record, changed, 0))
        return changed

    def remove(self, record: Record) -> None:
        """Take a record out for good."""
        turn = self._unit or _no_unit_of_work()
        number = self._tables[type(record)].remove(record)
        turn.changes.append(Change(record, None, number))

    def clear(self, keep: tuple[type[Record], ...]) -> dict[type[Record], int]:
        """Take out every record but those of the kinds to keep, as part of a turn; how many went of each kind."""
        tables = [table for table in self._tables.values() if table.kind not in keep]
        gone = {table.kind: len(table) for table in tables}
        (self._unit or _no_unit_of_work()).cleared = True
        for table in tables:
            # The newest first: so no table has to search for a record's place.
            for record in reversed(list(table)):
                self.remove(record)
        return gone

    def new_id(self, kind: type[Record]) -> str:
        """An id for a new record of this kind."""
        position = self.counters["draw"] = self.counters.get("draw", 0) + 1  # see add
        return self._ids.id(kind.prefix, position)

    def draw(self, prefix: str) -> str:
        """``prefix_`` and 24 characters from the world's own random source."""
        return self._ids.id(prefix, self.count("draw"))

    def secret(self, prefix: str) -> str:
        """``prefix_`` and 32 characters that nothing else tells of."""
        return self._ids.secret(prefix, self.count("draw"))

    def count(self, name: str) -> int:
        """The next number of a counter; the first is 1."""
        number = self.counters[name] = self.counters.get(name, 0) + 1
        return number

    def schedule(self, due: Timestamp, name: str, about: Record | None = None, /, **data: str) -> Job:
        """Plan a job: the one home of "later"."""
        sequence = self.count("job")
        return self.add(
            Job(
                id=f"job_{sequence}",
                name=name,
                due=max(due, self.now),
                sequence=sequence,
                about=None if about is None else about.id,
                data=data,
            )
        )

    def cancel_jobs(self, about: Record, *names: str) -> None:
        """Cancel what is planned for an object: the jobs of these names, or all of them."""
        for job in self.jobs.where("about", about.id):
            if not names or job.name in names:
                self.remove(job)

    def emit(self, type: str, record: Record, metadata: Mapping[str, Any] | None = None) -> Event:
        """Tell that something happened to a record, and let those react who wait for it, in the same turn."""
        event = self.record_event(type, EventData(record, metadata or msgspec.UNSET))
        for reaction in self.registry.reactions.get("*", ()):
            reaction(self, event)
        for reaction in self.registry.reactions.get(type, ()):
            reaction(self, event)
        return event

    def record_event(self, type: str, data: EventData) -> Event:
        """File an event that nobody reacts to."""
        event = self.add(self.event(type, data))
        (self._unit or _no_unit_of_work()).events.append(event)
        return event

    def event(self, type: str, data: EventData) -> Event:
        """An event of this moment that is not filed."""
        return Event(
            id=self.new_id(Event),
            type=type,
            app=self.app,
            livemode=self.livemode,
            created_at=self.now,
            request=(self._unit or _no_unit_of_work()).cause,
            data=data,
        )

    def last_event(self, type: str) -> Event | None:
        """The last event of this type in the running turn."""
        return next(
            (event for event in reversed((self._unit or _no_unit_of_work()).events) if event.type == type), None
        )

    def enqueue(self, effect: Effect) -> None:
        """Ask for something outside; it is done after this turn, and only if the turn is kept."""
        (self._unit or _no_unit_of_work()).effects.append(effect)

    # -- turns

    def unit_of_work(self, cause: str | None = None) -> UnitOfWorkContext:
        """All or nothing: leave it normally to keep its changes, raise to undo every one. ``cause`` is a request id."""
        if self._unit is not None:
            raise RuntimeError("a turn is running; turns do not nest")
        return UnitOfWorkContext(self, UnitOfWork(cause, self.counters.copy()))

    def run(self, job: Job) -> UnitOfWork:
        """Do a job, as a turn at its own instant. Raises what it raises, having undone all of it."""
        self.now = max(self.now, job.due)
        with self.unit_of_work() as turn:
            self.remove(job)
            self.registry.jobs[job.name](self, job)
        return turn

    def fail_job(self, job: Job, error: Exception) -> UnitOfWork:
        """Take a job that raised off the schedule, and keep it, as a :class:`FailedJob`, to be looked at."""
        told = f"{type(error).__name__}: {error}"
        with self.unit_of_work() as turn:
            self.remove(job)
            self.add(FailedJob(id=job.id, name=job.name, due=job.due, about=job.about, error=told))
        return turn

    def undo(self, turn: UnitOfWork) -> None:
        """Put back everything a turn changed: the one that failed, or the last one that was kept."""
        for change in reversed(turn.changes):
            table = self._tables[type(change.record)]
            if change.old is None:
                table.remove(change.record)
            elif change.new is None:
                table.add(change.record, change.number)
            else:
                table.replace(change.new, change.old)
        self.counters = turn.counters


def _no_unit_of_work() -> NoReturn:
    raise RuntimeError("a world changes only inside a turn")


def encode(value: Any) -> bytes:
    """The JSON of a value as it goes on the wire; the one serialiser."""
    return msgspec.json.encode(to_wire(value))
