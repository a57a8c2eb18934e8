"""The journal of a world as recordings read it: its exchanges, what objects depend on, and where they are listed."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, cached_property
from operator import attrgetter
from typing import Any

import msgspec

from emulator.core.events import Event
from emulator.core.records import Record
from emulator.core.world import encode
from emulator.document import bundles
from emulator.document.tree import operations
from emulator.engine.journal import LoggedRequest, readable, redacted_headers, redacted_path, redacted_text
from emulator.engine.runtime import Runtime
from emulator.insight import names
from emulator.insight.explain.causality import Causality, LoggedUnit
from emulator.insight.recording.exchanges import (
    ID,
    MOVE,
    CausedEvent,
    Exchange,
    ObjectList,
    RecordedStart,
    request_ids,
)
from emulator.resources.app.settings import Settings

CONTROL = "/_emulator/"


def causes(units: Iterable[LoggedUnit], causality: Causality) -> Iterator[str]:
    """Yield the requests that did this, and those that planned the jobs, or the jobs that planned those, that did."""
    for logged in units:
        planned = [logged.job, *causality.planners(logged.job)] if logged.job is not None else []
        origin = causality.creator(planned[-1]) if planned else logged
        if origin is not None and (request := causality.request_of(origin)) is not None:
            yield request


# -- the journal: its exchanges, its start, and where its objects are listed


BASES = {"service": "/v1", "control": "/_emulator"}
"""Where the paths of each document begin."""

OWNERS = (
    *("about", "event", "webhook"),
    *("subscription", "invoice", "checkout_session", "payment_link", "payment_intent", "transaction"),
    *("customer", "plan", "product"),
)
"""The fields that hold the id of an object's owner, those with the fewest objects first."""


class JournalReader:
    """Reads the journal of one world, as it is now, and finds objects that no answer in a recording shows."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._world = runtime.world
        self._causality = Causality(runtime.journal)
        self._units = self._causality.units

    # -- what happened

    def exchanges(self) -> list[Exchange]:
        """Return every stored request, oldest first."""
        found: list[Exchange] = []
        done = 0
        for entry in self._runtime.journal.entries:
            unit = self._first_unit(entry)
            begun = entry.checkpoint.units if unit is None else unit.number - 1
            found.append(_exchange(entry, self._instant(entry, unit), self.jobs_until(done, begun)))
            done = max(done, entry.last_unit)
        return found

    def _first_unit(self, entry: LoggedRequest) -> LoggedUnit | None:
        """Return the unit of work in which a request did what it asked for, or None if it changed nothing."""
        units = self._units[self._place(entry.checkpoint.units) : self._place(entry.last_unit)]
        # Units of work of the control API have no cause, nor have jobs.
        cause = None if entry.path.startswith(CONTROL) else entry.id
        return next((unit for unit in units if unit.unit.cause == cause and unit.job is None), None)

    def _instant(self, entry: LoggedRequest, unit: LoggedUnit | None) -> str:
        """Return when a request did what it asked for: on a clock that runs, later than it came in."""
        at = unit.at if unit is not None else None
        return at if at is not None and entry.checkpoint.now < at < self._runtime.now() else entry.checkpoint.now

    def _place(self, number: int) -> int:
        return bisect_right(self._units, number, key=attrgetter("number"))

    def jobs_until(self, after: int, last: int | None = None) -> str | None:
        """Return the instant of the last job among the units of work after one number, up to another one."""
        units = self._units[self._place(after) : None if last is None else self._place(last)]
        return max((job.due for unit in units if (job := unit.job) is not None), default=None)

    def start(self) -> RecordedStart:
        world = self._world
        cards = {rule.value[-4:]: rule.value for rule in world.reference_data.magic["bank_card"]}
        return RecordedStart(world.name, int(world.seed), world.base_url, _differing(self._first_settings()), cards)

    def _first_settings(self) -> Settings:
        changes = (change.old for unit in self._units for change in unit.unit.changes)
        return next((old for old in changes if isinstance(old, Settings)), self._world.require(Settings, "settings"))

    def last_unit(self, exchanges: Sequence[Exchange]) -> int:
        """Return the number of the last unit of work that a request of these caused."""
        entries = self._runtime.journal.entries[: len(exchanges)]
        return max((entry.last_unit for entry in entries), default=0)

    def needed(self, exchanges: Sequence[Exchange], ids: Iterable[str]) -> set[str]:
        """Return the ids of the requests that made or changed objects, or anything that they or these requests refer to.

        A request to the control API that names no other object counts as well: an arranged outcome or a setting can
        have an effect on every object.
        """
        named = {each.id: request_ids(each) for each in exchanges}
        found, requests, waiting = set[str](), set[str](), [*ids]
        while waiting:
            if (each := waiting.pop()) in found:
                continue
            found.add(each)
            record = self._record(each)
            referred = ID.findall(msgspec.json.encode(record).decode()) if record is not None else []
            waiting += [id for id in referred if self._record(id) is not None]
            for request in {*causes(self._touching[each], self._causality)} - requests:
                requests.add(request)
                waiting += named.get(request, ())
        steering = (each for each in exchanges if each.path.startswith(CONTROL) and each.status < 400)
        return requests | {each.id for each in steering if request_ids(each) <= found}

    @cached_property
    def _touching(self) -> defaultdict[str, list[LoggedUnit]]:
        """The units of work that added, changed or removed a record, by its id."""
        touching: defaultdict[str, list[LoggedUnit]] = defaultdict(list)
        for logged in self._units:
            for id in {change.record.id for change in logged.unit.changes}:
                touching[id].append(logged)
        return touching

    def objects_of(self, exchanges: Sequence[Exchange], done: int) -> set[str]:
        """Return the ids of the objects that these exchanges name, or that changed between the first of them and ``done``."""
        begun = exchanges[0].place if exchanges else done
        units = self._units[self._place(begun) : self._place(done)]
        changed = {change.record.id for unit in units for change in unit.unit.changes}
        named = {id for each in exchanges for id in request_ids(each)}
        return {id for id in changed | named if ID.fullmatch(id) and self._record(id) is not None}

    def events(self, done: int, *, of_any: bool) -> list[CausedEvent]:
        """Return the events up to a unit of work, oldest first, each with the request that caused it or planned its job.

        With ``of_any`` it does not matter which request that is: all are recorded.
        """
        later = {event.id for unit in self._units[self._place(done) :] for event in unit.unit.events}
        if of_any:
            return [CausedEvent(event.type, None) for event in self._world.table(Event) if event.id not in later]
        units = self._units[: self._place(done)]
        caused = {
            event.id: next(iter(causes([unit], self._causality)), "") for unit in units for event in unit.unit.events
        }
        return [
            CausedEvent(event.type, caused.get(event.id, ""))
            for event in self._world.table(Event)
            if event.id not in later
        ]

    # -- the past: what the world held before its journal began

    @cached_property
    def past(self) -> frozenset[str]:
        """The ids of the objects that no unit of work in the journal made.

        A world that was loaded, imported or read from a file has such objects, and one whose journal forgot its beginning.
        """
        changes = [change for unit in self._units for change in unit.unit.changes]
        known = {change.record.id for change in changes}
        known |= {slot.record.id for table in self._world.tables() for slot in table.slots.all_values()}
        return frozenset(known - {change.record.id for change in changes if change.old is None} - {"settings"})

    # -- where objects are

    def owners(self, id: str) -> list[str]:
        """Return the ids of the objects that an object belongs to, the closest first; empty if there is no such object."""
        record = self._record(id)
        return [owner for name in OWNERS if isinstance(owner := getattr(record, name, None), str)]

    def find(self, id: str, related: str | None, place: int) -> ObjectList | None:
        """Return where an object stood in the list of its kind when there were ``place`` units of work.

        If the ``related`` object was deleted by then, it is the list of all.
        """
        record = self._record(id)
        if record is None:
            return None
        if related is not None and self._deleted.get(related, place) < place:
            related = None
        listed = [
            (getattr(other, "created_at", ""), number, other.id)
            for other, number in self._records_at(record, place)
            if related is None or _belongs(other, related, record)
        ]
        ids = [id for _, _, id in sorted(listed, reverse=True)]
        filter = "query" if isinstance(record, Event) else "related"
        return ObjectList(record.kind, related, ids.index(id), filter) if id in ids else None

    @cached_property
    def _deleted(self) -> dict[str, int]:
        """The number of units of work before an object was deleted, by its id."""
        return {
            change.record.id: unit.number - 1
            for unit in self._units
            for change in unit.unit.changes
            if change.new is None
        }

    def _records_at(self, record: Record, place: int) -> list[tuple[Record, int]]:
        """Return the records of the same kind when there were ``place`` units of work, with their numbers in creation."""
        kind = type(record)
        found = {slot.record.id: (slot.record, slot.number) for slot in self._world.table(kind).slots.all_values()}
        for unit in reversed(self._units[self._place(place) :]):
            for change in reversed(unit.unit.changes):
                if not isinstance(change.record, kind):
                    continue
                if change.old is None:
                    found.pop(change.record.id, None)
                else:
                    number = found[change.record.id][1] if change.record.id in found else change.number
                    found[change.record.id] = change.old, number
        return [*found.values()]

    def _record(self, id: str) -> Record | None:
        return names.get(self._world, id)


def _belongs(other: Record, owner: str, record: Record) -> bool:
    """Return whether another object has the same owner as an object. An event is found by any id in it."""
    if isinstance(other, Event):
        return owner in encode(other).decode()
    # Not by the owner itself, which may have been deleted since then.
    return any(getattr(record, name, None) == owner == getattr(other, name, None) for name in OWNERS)


def _exchange(entry: LoggedRequest, now: str, jobs_until: str | None) -> Exchange:
    path = redacted_path(entry.path)
    return Exchange(
        id=entry.id,
        operation=entry.operation,
        method=entry.method,
        path=path,
        query=redacted_text(entry.query) if entry.query else "",
        parameters=_parameters(entry.operation, path),
        headers=redacted_headers(entry.headers),
        body=readable(entry.body),
        status=entry.status,
        answer=readable(entry.answer),
        now=_moved_from(entry) or now,
        jobs_until=jobs_until,
        place=entry.checkpoint.units,
    )


def _moved_from(entry: LoggedRequest) -> str | None:
    """Return the instant from which a request moved the clock, or None."""
    answer = readable(entry.answer) if entry.operation == MOVE and entry.status == 200 else None
    return str(answer["from"]) if isinstance(answer, dict) else None


def _differing(settings: Settings) -> dict[str, Any]:
    """Return the settings that are not the defaults, assumptions each by its name."""
    values, defaults = (msgspec.to_builtins(each) for each in (settings, Settings()))
    assumptions = {
        name: value for name, value in values["assumptions"].items() if value != defaults["assumptions"][name]
    }
    found = {name: value for name, value in values.items() if value != defaults[name] and name != "assumptions"}
    return {**found, **({"assumptions": assumptions} if assumptions else {})}


def _parameters(operation: str | None, path: str) -> dict[str, str]:
    """Return the parameters in a path, by the path of the operation in its document."""
    template = _paths().get(operation or "")
    match = re.fullmatch(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", template), path) if template else None
    return match.groupdict() if match else {}


@cache
def _paths() -> dict[str, str]:
    return {
        operation["operationId"]: base + path
        for name, base in BASES.items()
        for path, _, operation in operations(bundles.load(name))
    }
