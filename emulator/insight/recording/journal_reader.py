"""The journal of a world as recordings read it: its exchanges, what objects depend on, and where they are listed."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec

from emulator.core.events import Event
from emulator.core.records import Record
from emulator.core.world import encode
from emulator.engine.journal import LoggedRequest, readable, redacted_headers, redacted_path, redacted_text
from emulator.engine.runtime import Runtime
from emulator.insight import names
from emulator.insight.explain.causality import Causality, LoggedUnit
from emulator.insight.recording.model import Path
from emulator.resources.app.settings import Settings

# -- requests with their answers, and the ids that connect them


CONTROL = "/_emulator/"

MOVE = "advanceClock"
"""The operation that moves the clock."""


class Exchange(NamedTuple):
    """A request and its answer. Bodies are JSON values, texts if they are no JSON, or None; secrets are masked.

    ``now`` is the world's instant at its beginning, ``jobs_until`` the instant of the last job that ran since the
    request before, None if none did. ``place`` is the number of units of work that the world had before it.
    """

    id: str
    operation: str | None
    method: str
    path: str
    target: str
    headers: dict[str, str]
    body: Any
    status: int
    answer: Any
    now: str
    jobs_until: str | None
    place: int


class ObjectList(msgspec.Struct, frozen=True):
    """Where an object stands in a list of ``GET /_emulator/objects``: ``related`` to an object or not, at ``index``.

    ``filter`` is the parameter that takes the id of the related object.
    """

    kind: str
    related: str | None
    index: int
    filter: str = "related"


ID = re.compile(r"(\b[a-z]+_[0-9A-Za-z]{24}\b)")

_KEY = re.compile(r"\w+", re.ASCII)


def ids_in(answer: Any, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """Yield the ids in an answer with the paths that lead to them, the object's own first."""
    if isinstance(answer, str):
        if ID.fullmatch(answer):
            yield path, answer
    elif isinstance(answer, dict):
        for name in sorted(filter(_KEY.fullmatch, answer), key="id".__ne__):
            yield from ids_in(answer[name], (*path, name))
    elif isinstance(answer, list):
        for index, each in enumerate(answer):
            yield from ids_in(each, (*path, index))


def request_ids(exchange: Exchange) -> set[str]:
    """Return everything in a request that looks like an id."""
    return set(ID.findall(msgspec.json.encode([exchange.target, exchange.body]).decode()))


def causes(units: Iterable[LoggedUnit], causality: Causality) -> Iterator[str]:
    """Yield the requests that did this, and those that planned the jobs, or the jobs that planned those, that did."""
    for logged in units:
        planned = [logged.job, *causality.planners(logged.job)] if logged.job is not None else []
        origin = causality.creator(planned[-1]) if planned else logged
        if origin is not None and (request := causality.request_of(origin)) is not None:
            yield request


# -- the journal


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

    # -- the world at its start

    @property
    def seed(self) -> int:
        return int(self._world.seed)

    @property
    def url(self) -> str:
        return self._world.base_url

    def test_cards(self) -> dict[str, str]:
        """Return the test cards by their last four digits."""
        return {rule.value[-4:]: rule.value for rule in self._world.reference_data.magic["bank_card"]}

    def first_settings(self) -> dict[str, Any]:
        """Return the settings with which the journal begins, where they are not the defaults."""
        changes = (change.old for unit in self._units for change in unit.unit.changes)
        first = next((old for old in changes if isinstance(old, Settings)), self._world.require(Settings, "settings"))
        values, defaults = (msgspec.to_builtins(each) for each in (first, Settings()))
        assumptions = _differing(values.pop("assumptions"), defaults.pop("assumptions"))
        return {**_differing(values, defaults), **({"assumptions": assumptions} if assumptions else {})}

    # -- what a part of the journal depends on, and what it caused

    def last_unit(self, count: int) -> int:
        """Return the number of the last unit of work that one of the first ``count`` requests caused."""
        return max((entry.last_unit for entry in self._runtime.journal.entries[:count]), default=0)

    def needed(self, exchanges: Sequence[Exchange], first: int, done: int) -> set[str]:
        """Return the ids of the requests that made or changed what the exchanges from ``first`` on are about.

        That is what they name, what changed until ``done``, and anything that these objects or requests refer to. A
        request to the control API that names no other object counts as well: an arranged outcome or a setting can have
        an effect on every object.
        """
        named = {each.id: request_ids(each) for each in exchanges}
        begun = exchanges[first].place if first < len(exchanges) else done
        units = self._units[self._place(begun) : self._place(done)]
        about = {change.record.id for unit in units for change in unit.unit.changes}
        about |= {id for each in exchanges[first:] for id in named[each.id]}
        waiting = [id for id in about if self._record(id) is not None]
        if not waiting:
            return set()
        found, requests = set[str](), set[str]()
        while waiting:
            if (each := waiting.pop()) in found:
                continue
            found.add(each)
            record = self._record(each)
            referred = ID.findall(msgspec.json.encode(record).decode()) if record is not None else []
            waiting += [id for id in referred if self._record(id) is not None]
            for request in {*causes(self._causality.of(each), self._causality)} - requests:
                requests.add(request)
                waiting += named.get(request, ())
        steering = (each for each in exchanges if each.path.startswith(CONTROL) and each.status < 400)
        return requests | {each.id for each in steering if named[each.id] <= found}

    def events(self, done: int, requests: Collection[str] | None) -> list[str]:
        """Return the types of the events up to a unit of work, oldest first; of some ``requests`` those that they caused.

        A request causes an event directly, or by a job that it planned.
        """
        later = {event.id for unit in self._units[self._place(done) :] for event in unit.unit.events}
        caused = {
            event.id: next(causes([unit], self._causality), None)
            for unit in self._units[: self._place(done) if requests is not None else 0]
            for event in unit.unit.events
        }
        return [
            event.type
            for event in self._world.table(Event)
            if event.id not in later and (requests is None or caused.get(event.id) in requests)
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
        target=f"{path}?{redacted_text(entry.query)}" if entry.query else path,
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


def _differing(values: dict[str, Any], defaults: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value != defaults[name]}
