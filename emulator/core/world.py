"""The world: the whole state of one App at one instant, and the only way to change it.

How the emulator is built, and why
==================================

**A world.** All that the service knows about one App stands in one :class:`World` in memory: its
customers, invoices and events, the jobs planned for later, and the instant its clock shows. The
test side and the live side of an App are two worlds. A world does no input or output and reads no
system clock. The engine above it sets ``now``, calls one function of :mod:`emulator.resources` with
the world, and then saves, sends and responds. So each rule of the service is a plain function that
a test can call, and a year of renewals takes as long as its rules take to run.

**Records are frozen.** A record (a customer, an invoice) never changes; :meth:`World.replace` puts
another record with the same id in its place. Everything that holds the old one still holds the
object as it was: an event, a page of a list, a snapshot. Copying a world copies its tables and
shares the records, which is how snapshots and the preview of the schedule are made. Code that would
replace a record it read too long ago gets a ``RuntimeError``, so no change is lost unnoticed.

**Units of work.** A job, or a request that may change something, is one
:class:`~emulator.core.unit_of_work.UnitOfWork`: it is committed as a whole or undone as a whole. A
rule may raise an ``ApiError`` at any line, after any number of changes, and needs no code to clean
up. Therefore rules check each thing where it is used instead of checking everything beforehand.

**One list of changes.** While a unit of work runs, the world notes each change as a pair: the
record before, the record after. That list is all anybody needs to know of what happened, and it
serves every purpose: reversed, it undoes a unit that failed; saved, it makes the world durable; in
the request journal it answers "what did this request change?" and "why is this invoice paid?"; and
reversed for many units, it rewinds the world to an earlier request. None of these needs code in the
rules.

**State machines are tables.** Each resource with a ``status`` has one table of ``(from, trigger,
to, event)`` (:mod:`emulator.core.state_machine`), and nothing else sets ``status``. A trigger that
is not in the table is the API error ``INVALID_STATUS_TRANSITION``. The pages that draw the life
cycles, the coverage report and the tests read the same tables.

**Jobs are the only "later".** There are no timers. What shall happen at a later instant is a record
like any other, a
:class:`~emulator.core.jobs.Job`: when it is due, the name of its function, the id of its object. So
planned work is undone, saved and copied with everything else, and an object that is deleted can
cancel its jobs. To advance the clock is to take the job that is due first, set ``now`` to its
instant, run it as a unit of work, and repeat.

**Events and reactions.** Where the service announces something, the rule emits an event, mostly as
part of a transition. The functions that :class:`Registry` lists for its type run at once, in the
same unit of work. Thus modules that come first need not know those built upon them: the payments
package knows nothing of invoices, but ``transaction.succeeded`` settles one.

**Effects.** A rule sends nothing. It enqueues an :class:`~emulator.core.unit_of_work.Effect`, such
as "attempt this delivery" or "send this email", and the engine performs it after the commit; what
was undone has therefore sent nothing. A rule that needs the outcome before it can go on (the ping
of a new webhook endpoint) is a generator that yields the effect. Each stretch between two ``yield``
is a unit of its own, so afterwards it looks its records up again.

**Determinism.** Ids and chances come from the seed and a counter, time is ``now``, and the order of
records is that of their creation. The counters belong to the world and are undone with it. The same
seed and the same requests give the same bytes.

**No locks.** All this happens on one event loop, and a unit of work never awaits, so no two of them
overlap. Slow work on records, such as rendering a PDF, may run in a thread, because frozen records
need no protection. So may whatever only reads a world and takes longer the larger it is: a search
is a plain function, which the engine calls in a thread with a copy of a large world.

What a module of rules looks like
---------------------------------

From top to bottom: the record, its state machine, a function for each operation, the jobs and
reactions, and at the end the tables that :mod:`emulator.resources.registry` collects. A coupon that
is valid for 30 days would be written like this:

    >>> from emulator.core import calendar
    >>> from emulator.core.state_machine import StateMachine

    >>> class Coupon(Record, frozen=True, kw_only=True):
    ...     prefix = "coup"
    ...     percent_off: int
    ...     status: str
    ...     created_at: Timestamp

    >>> STATE_MACHINE = StateMachine(
    ...     Coupon,
    ...     (None, "create", "valid", "coupon.created"),
    ...     ("valid", "expire", "expired", "coupon.expired"),
    ... )

    >>> def create(world: World, body: dict[str, Any]) -> Coupon:
    ...     coupon = STATE_MACHINE.create(world, "create", body)
    ...     world.schedule(calendar.plus(world.now, days=30), "coupon.expire", coupon)
    ...     return coupon

    >>> def expire(world: World, job: Job) -> None:
    ...     STATE_MACHINE.transition(world, world.require(Coupon, job.about), "expire")

The engine does the rest, here by a request on New Year's Day and an advance of the clock to the
next job:

    >>> world = World(
    ...     name="demo",
    ...     livemode=False,
    ...     registry=Registry((Coupon,), {}, {"coupon.expire": expire}),
    ...     seed="1",
    ...     reference_data=None, now="2026-01-01T00:00:00.000Z", base_url="http://127.0.0.1:4747",
    ... )
    >>> with world.unit_of_work(cause="req_1") as unit:
    ...     coupon = create(world, {"percent_off": 20})
    >>> [event.type for event in unit.events], len(unit.changes)
    (['coupon.created'], 3)
    >>> unit = world.run(world.jobs.next())
    >>> world.now, world.get(Coupon, coupon.id).status, coupon.status
    ('2026-01-31T00:00:00.000Z', 'expired', 'valid')
    >>> world.undo(unit)
    >>> world.get(Coupon, coupon.id).status
    'valid'
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple, NoReturn, Self, cast

import msgspec

from emulator.core.calendar import Timestamp
from emulator.core.ids import IdSource
from emulator.core.jobs import FailedJob, Job, JobQueue
from emulator.core.records import R, Record, to_wire
from emulator.core.tables import Contents, Slot, Table
from emulator.core.unit_of_work import Change, CheckFailed, Effect, Event, EventData, UnitOfWork

Reaction = Callable[["World", Any], None]
"""Follows an event of a record, given as it was then, at once in the same unit of work."""

JobFunction = Callable[["World", Job], None]

CommitCheck = Callable[["World", UnitOfWork], CheckFailed | None]
"""Finds a mistake of the rules, never of a client, in a unit of work about to be committed.

It is called only where ``unit.checked`` has a change.
"""


class Registry(NamedTuple):
    """The rules that a world runs by; reactions in the order in which they run.

    Reactions are found by the type of an event or by the name of a signal, jobs by their names.
    Those to ``*`` are given every event itself.
    """

    kinds: tuple[type[Record], ...]
    reactions: Mapping[str, tuple[Reaction, ...]]
    jobs: Mapping[str, JobFunction]
    checks: tuple[CommitCheck, ...] = ()


class Tables(dict[type[Record], Table[Any]]):
    """The tables of a world by kind, made with the first record: most worlds hold a few kinds.

    Kinds without records share one empty table, to which nothing is ever added.
    """

    def __init__(self, kinds: tuple[type[Record], ...]) -> None:
        super().__init__()
        self.empty = _empty(kinds)
        self.jobs: JobQueue = JobQueue()
        self[Job] = self.jobs

    def __missing__(self, kind: type[Record]) -> Table[Any]:
        return self.empty[kind]

    def make(self, kind: type[Record]) -> Table[Any]:
        """Return the table for a kind's first record. Raises ``KeyError`` for an unknown kind."""
        table = self[kind] = Table(self.empty[kind].kind)
        return table


@cache
def _empty(kinds: tuple[type[Record], ...]) -> dict[type[Record], Table[Any]]:
    """Return an empty table of each of these kinds, and of those that every world has."""
    own: tuple[type[Record], ...] = (Job, FailedJob, Event)
    return {kind: Table(kind) for kind in (*own, *kinds)}


@dataclass(kw_only=True, eq=False, repr=False)
class World:
    """The test side or the live side of one App: records, jobs, events, counters, instant ``now``.

    The engine sets ``now`` (UTC) before each unit of work, and it stands still during one. Changes
    are made only inside a unit of work (:meth:`unit_of_work`); one that raises leaves no trace.
    ``reference_data`` are the facts that the rules look up and nothing changes: the magic values;
    ``base_url`` is the URL of the emulator, for links in objects, which name the App with
    ``names_app``. ``strict``: a unit of work that fails a check of the registry is undone;
    otherwise the failure is noted in the unit.
    """

    name: str
    livemode: bool
    registry: Registry
    reference_data: Any
    seed: str
    now: Timestamp
    base_url: str
    strict: bool = True
    names_app: bool = False

    def __post_init__(self) -> None:
        self._ids = IdSource(f"{self.seed}/{self.name}/{'live' if self.livemode else 'test'}")
        self.app: str = IdSource(self.name).id("app", int(self.livemode))
        self.counters: dict[str, int] = {}
        self._unit: UnitOfWork | None = None
        self._tables = Tables(self.registry.kinds)
        self.jobs: JobQueue = self._tables.jobs

    def emptied(self) -> Self:
        """Return a world without records that is otherwise in the same state."""
        duplicate = copy.copy(self)
        duplicate.counters = self.counters.copy()
        duplicate._tables = Tables(self.registry.kinds)
        duplicate.jobs = duplicate._tables.jobs
        return duplicate

    # -- reading

    @property
    def kinds(self) -> tuple[type[Record], ...]:
        return tuple(self._tables.empty)

    def table(self, kind: type[R]) -> Table[R]:
        return self._tables[kind]

    def tables(self) -> list[Table[Any]]:
        """Return the tables in which there is something, or was, in the order of the kinds."""
        return [self._tables[kind] for kind in self._tables.empty if kind in self._tables]

    @property
    def size(self) -> int:
        """How many records there are."""
        return sum(map(len, self.tables()))

    def holds(self, kind: type[Record]) -> bool:
        """Return whether there is a record of this kind, or was one."""
        return kind in self._tables

    def get(self, kind: type[R], id: str | None) -> R | None:
        # None may be looked up; no record has it as its id
        slot = self._tables[kind].slots[id]  # type: ignore[index]
        return None if slot is None else slot.record

    def require(self, kind: type[R], id: str | None) -> R:
        """Return a record that must exist, as another refers to it. Raises ``KeyError``."""
        slot: Slot[R] | None = self._tables[kind].slots[id]  # type: ignore[index]  # as above
        if slot is None:
            raise KeyError(id)
        return slot.record

    def link(self, path: str, token: str | None = None) -> str:
        """Return a public page's URL; it names the App where several servers share the worlds."""
        query = ([f"token={token}"] if token else []) + (
            [f"app={self.name}"] if self.names_app else []
        )
        return f"{self.base_url}{path}{'?' if query else ''}{'&'.join(query)}"

    # -- changing, inside a unit of work

    def add(self, record: R, number: int | None = None) -> R:
        """Add a new record at the end of the order of creation, or at the given ``number``."""
        if number is None:
            # As count(), inlined for speed.
            number = self.counters["record"] = self.counters.get("record", 0) + 1
        unit = self._unit or no_unit_of_work()
        # If the table raises, it has changed nothing, and there must be no change to undo.
        if (table := self._tables.get(type(record))) is None:
            table = self._tables.make(type(record))
        table.add(record, number)
        unit.changes.append(change := Change(None, record, number))
        if "id" in table.kind.checked:
            unit.checked.append(change)
        return record

    def replace(self, record: R, /, **changes: Any) -> R:
        """Replace a record by a copy with some fields changed, and ``updated_at`` set, if any.

        Raises ``RuntimeError``, as :meth:`remove` does, if the world no longer holds this very
        record: a change that was made since would be lost.
        """
        return self.change(record, changes)

    def change(self, record: R, changes: dict[str, Any]) -> R:
        """Do what :meth:`replace` does, with the changes in a dict, which may be modified."""
        unit = self._unit or no_unit_of_work()
        table = self._tables[type(record)]
        if table.stamped:
            changes.setdefault("updated_at", self.now)
        changed = msgspec.structs.replace(record, **changes)
        unit.changes.append(
            change := Change(record, changed, table.replace(record, changed, changes))
        )
        if not table.kind.checked.isdisjoint(changes):
            unit.checked.append(change)
        return changed

    def remove(self, record: Record) -> None:
        unit = self._unit or no_unit_of_work()
        table = self._tables[type(record)]
        unit.changes.append(change := Change(record, None, table.remove(record)))
        if "id" in table.kind.checked:
            unit.checked.append(change)

    def clear(self, keep: tuple[type[Record], ...]) -> dict[type[Record], int]:
        """Delete every record of the kinds not kept; return the number of each kind's records."""
        tables = [table for table in self.tables() if table.kind not in keep]
        removed = {table.kind: len(table) for table in tables}
        unit = self._unit or no_unit_of_work()
        unit.cleared = True
        # Another table takes the place of each: to remove each record takes ten times as long.
        for table in tables:
            unit.changes += [
                Change(slot.record, None, slot.number)
                for slot in reversed([*table.slots.all_values()])
            ]
            self._tables[table.kind] = type(table)(table.kind)
        self.jobs = cast("JobQueue", self._tables[Job])
        return removed

    def arrange(self) -> None:
        """Exempt the running unit of work from checks: it sets fields directly, past the rules."""
        (self._unit or no_unit_of_work()).is_arranged = True

    def count(self, name: str) -> int:
        """Return the next number of a counter; the first is 1."""
        number = self.counters[name] = self.counters.get(name, 0) + 1
        return number

    def new_id(self, kind: type[Record]) -> str:
        # As count(), inlined for speed.
        position = self.counters["draw"] = self.counters.get("draw", 0) + 1
        return f"{kind.prefix}_{self._ids[position]}"

    def draw(self, prefix: str) -> str:
        """Return ``prefix_`` and 24 characters, which only the seed and counter ``draw`` decide."""
        # As count(), inlined for speed.
        position = self.counters["draw"] = self.counters.get("draw", 0) + 1
        return f"{prefix}_{self._ids[position]}"

    def secret(self, prefix: str) -> str:
        """Return ``prefix_`` and 32 characters, which cannot be computed from any id."""
        return self._ids.secret(prefix, self.count("draw"))

    # -- what follows from a change: later, at once, or outside

    def schedule(
        self, due: Timestamp, name: str, about: Record | None = None, /, **data: str
    ) -> Job:
        """Plan the job ``name`` for an instant, at least ``now``, for the record ``about``."""
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
        """Remove the jobs planned for a record: those with these names, or all of them."""
        for job in self.jobs.where("about", about.id):
            if not names or job.name in names:
                self.remove(job)

    def emit(self, type: str, record: Record, metadata: Mapping[str, Any] | None = None) -> Event:
        """Record an event about a record and run the reactions to it, in the same unit of work."""
        event = self.record_event(type, EventData(record, metadata or msgspec.UNSET))
        for name, about in (("*", event), (type, record)):
            for reaction in self.registry.reactions.get(name, ()):
                reaction(self, about)
        return event

    def signal(self, name: str, record: Record) -> None:
        """Run the reactions to a change of a record for which the service has no event."""
        for reaction in self.registry.reactions.get(name, ()):
            reaction(self, record)

    def record_event(self, type: str, data: EventData) -> Event:
        """Record an event without reactions."""
        event = self.add(self.event(type, data))
        (self._unit or no_unit_of_work()).events.append(event)
        return event

    def event(self, type: str, data: EventData) -> Event:
        return Event(
            id=self.new_id(Event),
            type=type,
            app=self.app,
            livemode=self.livemode,
            created_at=self.now,
            request=(self._unit or no_unit_of_work()).cause,
            data=data,
        )

    def last_event(self, type: str) -> Event | None:
        """Return the latest event of this type in the running unit of work."""
        return next(
            (
                event
                for event in reversed((self._unit or no_unit_of_work()).events)
                if event.type == type
            ),
            None,
        )

    def enqueue(self, effect: Effect) -> None:
        """Have the engine perform an effect after the running unit of work is committed."""
        (self._unit or no_unit_of_work()).effects.append(effect)

    # -- units of work

    @contextmanager
    def unit_of_work(self, cause: str | None = None) -> Iterator[UnitOfWork]:
        """Let the world change while the context lasts; an exception that leaves it undoes all.

        ``cause`` is the id of the request. Raises ``RuntimeError`` inside another unit of work.
        """
        if self._unit is not None:
            raise RuntimeError("a unit of work is running; units of work do not nest")
        unit = self._unit = UnitOfWork(cause, self.counters.copy())
        try:
            yield unit
            if unit.checked:
                self._check(unit)
        except BaseException:
            self.undo(unit)
            raise
        finally:
            self._unit = None

    def _check(self, unit: UnitOfWork) -> None:
        """Check the changes that the rules made; not a reset, nor what was set directly."""
        for check in () if unit.cleared or unit.is_arranged else self.registry.checks:
            if (failure := check(self, unit)) is not None:
                unit.failed_checks.append(failure)
                if self.strict:
                    failure.unit = unit
                    raise failure

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

    def run(self, job: Job) -> UnitOfWork:
        """Run a job as a unit of work at its own instant; an error undoes it and is raised."""
        self.now = max(self.now, job.due)
        with self.unit_of_work() as unit:
            self.remove(job)
            self.registry.jobs[job.name](self, job)
        return unit

    def fail_job(self, job: Job, error: Exception) -> UnitOfWork:
        """Remove a job that raised ``error`` from the schedule; record a :class:`FailedJob`."""
        reason = f"{type(error).__name__}: {error}"
        with self.unit_of_work() as unit:
            self.remove(job)
            self.add(
                FailedJob(id=job.id, name=job.name, due=job.due, about=job.about, error=reason)
            )
        return unit


class CopiedTables(Tables):
    """The tables of a copy, each made when it is first read: a reading of a world needs few of
    them, in one thread.
    """

    def __init__(self, kinds: tuple[type[Record], ...], contents: TableContents) -> None:
        super().__init__(kinds)
        self._contents = {**contents}
        if Job in contents:
            self.jobs = self[Job] = JobQueue.of(Job, self._contents.pop(Job))

    def __contains__(self, kind: object) -> bool:
        return super().__contains__(kind) or kind in self._contents

    def __missing__(self, kind: type[Record]) -> Table[Any]:
        if kind not in self._contents:
            return super().__missing__(kind)
        table = self[kind] = Table.of(kind, self._contents.pop(kind))
        return table


TableContents = dict[type[Record], Contents[Any]]


class WorldContents:
    """All that a world holds at one instant.

    To take it needs some milliseconds, as records never change.

    :meth:`world` makes a world of it, later and in any thread; changes to one do not reach the
    other.
    """

    def __init__(self, original: World) -> None:
        if original._unit is not None:
            raise RuntimeError("a unit of work is running; a world is copied between two of them")
        self._emptied = original.emptied()
        self._tables: TableContents = {table.kind: table.contents() for table in original.tables()}

    def world(self) -> World:
        """Return the world with each of its tables made."""
        world = self.view()
        for kind in self._tables:
            world.table(kind)
        return world

    def view(self) -> World:
        """Return a world to be read by one thread: its tables are made as they are needed."""
        world = self._emptied.emptied()
        world._ids = copy.copy(world._ids)  # its page of ids is not shared with another thread
        world._tables = tables = CopiedTables(world.registry.kinds, self._tables)
        world.jobs = tables.jobs
        return world


def no_unit_of_work() -> NoReturn:
    raise RuntimeError("a world changes only inside a unit of work")


def encode(value: Any) -> bytes:
    """Return the JSON of a value as it is sent to clients; the only serialiser."""
    return msgspec.json.encode(to_wire(value))


def json_or_text(text: str | bytes | None) -> Any:
    """Return a text's JSON value; the text if it is no JSON or nested too deeply; None if empty."""
    try:
        return json.loads(text) if text else None
    except (ValueError, RecursionError):
        return text


def json_object(text: str | bytes) -> dict[str, Any]:
    """Return the JSON object in a text, or an empty one."""
    value = json_or_text(text)
    return value if isinstance(value, dict) else {}
