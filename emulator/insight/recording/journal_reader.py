"""A world's journal for recordings: exchanges, objects' dependencies, and their places in lists."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import msgspec

from emulator.core.records import Record
from emulator.core.unit_of_work import Event
from emulator.core.world import World, encode
from emulator.engine.logged_requests import LoggedRequest, readable
from emulator.engine.runtime import Runtime
from emulator.insight import names
from emulator.insight.explain.causality import Causality, LoggedUnit
from emulator.insight.recording.model import Path
from emulator.resources.app.settings import Settings

# -- requests with their responses, and the ids that connect them


CONTROL = "/_emulator/"

MOVE = "advanceClock"
"""The operation that moves the clock."""


class Exchange(NamedTuple):
    """A request and response. Bodies: JSON values, texts if not JSON, or None; secrets are masked.

    ``now`` is the world's instant at its beginning, ``jobs_until`` the instant of the last job that
    ran since the request before, None if none did.
    """

    entry: LoggedRequest
    body: Any
    response: Any
    now: str
    jobs_until: str | None

    @property
    def place(self) -> int:
        """The number of units of work that the world had before it."""
        return self.entry.checkpoint.units


class ListPlace(NamedTuple):
    """An object's place in a list of ``GET /_emulator/objects``: an ``owner``'s or the whole."""

    kind: str
    owner: str | None
    position: int


ID = re.compile(r"(\b[a-z]+_[0-9A-Za-z]{24}\b)")

_KEY = re.compile(r"\w+", re.ASCII)


def ids_in(response: Any, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """Yield the ids in a response with the paths that lead to them, the object's own first."""
    if isinstance(response, str):
        if ID.fullmatch(response):
            yield path, response
    elif isinstance(response, dict):
        for name in sorted(filter(_KEY.fullmatch, response), key="id".__ne__):
            yield from ids_in(response[name], (*path, name))
    elif isinstance(response, list):
        for index, element in enumerate(response):
            yield from ids_in(element, (*path, index))


def request_ids(exchange: Exchange) -> set[str]:
    """Return everything in a request that looks like an id."""
    return set(ID.findall(msgspec.json.encode([exchange.entry.target, exchange.body]).decode()))


def causes(units: Iterable[LoggedUnit], causality: Causality) -> Iterator[str]:
    """Yield the requests behind units of work, directly or through the jobs that they planned."""
    for logged in units:
        planned = [logged.job, *causality.planners(logged.job)] if logged.job is not None else []
        origin = causality.creators.get(planned[-1].id) if planned else logged
        if origin is not None and (request := causality.request_of(origin)) is not None:
            yield request


# -- the journal


OWNERS = (
    *("about", "event", "webhook"),
    *(
        "subscription",
        "invoice",
        "checkout_session",
        "payment_link",
        "payment_intent",
        "transaction",
    ),
    *("customer", "plan", "product"),
)
"""The fields that hold the id of an object's owner, those with the fewest objects first."""


class JournalReader:
    """Reads a world's journal as it is now; finds objects that no response of a recording shows."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self.world: World = runtime.world
        self._causality = Causality(runtime.journal)
        self._causality.read()

    # -- requests and jobs

    def exchanges(self) -> list[Exchange]:
        """Return every stored request, oldest first."""
        exchanges: list[Exchange] = []
        done = 0
        for entry in self._runtime.journal.entries:
            unit = self._first_unit(entry)
            begun = entry.checkpoint.units if unit is None else unit.number - 1
            body, response = readable(entry.body), readable(entry.response)
            now = self._instant(entry, response, unit)
            exchanges.append(Exchange(entry, body, response, now, self.jobs_until(done, begun)))
            done = max(done, entry.last_unit)
        return exchanges

    def _first_unit(self, entry: LoggedRequest) -> LoggedUnit | None:
        """Return the unit of work of a request's own effect, or None if it changed nothing."""
        # Units of work of the control API have no cause, nor have jobs.
        cause = None if entry.path.startswith(CONTROL) else entry.id
        units = self._causality.between(entry.checkpoint.units, entry.last_unit)
        return next((unit for unit in units if unit.unit.cause == cause and unit.job is None), None)

    def _instant(self, entry: LoggedRequest, response: Any, unit: LoggedUnit | None) -> str:
        """Return the instant of a request's effect: on a running clock later than its arrival."""
        if entry.operation == MOVE and entry.status == 200 and isinstance(response, dict):
            return str(response["from"])
        at = unit.at if unit is not None else None
        return (
            at
            if at is not None and entry.checkpoint.now < at < self._runtime.now()
            else entry.checkpoint.now
        )

    def jobs_until(self, after: int, last: int | None = None) -> str | None:
        """Return the last job's instant among the units of work from one number to another."""
        units = self._causality.between(after, last)
        return max((job.due for unit in units if (job := unit.job) is not None), default=None)

    def first_settings(self) -> dict[str, Any]:
        """Return the settings with which the journal begins, where they are not the defaults."""
        former = (change.old for _, change in self._causality.changes)
        first = next(
            (old for old in former if isinstance(old, Settings)),
            self.world.require(Settings, "settings"),
        )
        values, defaults = (
            msgspec.json.decode(msgspec.json.encode(settings)) for settings in (first, Settings())
        )
        assumptions = _differing(values.pop("assumptions"), defaults.pop("assumptions"))
        return {
            **_differing(values, defaults),
            **({"assumptions": assumptions} if assumptions else {}),
        }

    # -- the dependencies and the effects of a part of the journal

    def needed(self, exchanges: Sequence[Exchange], first: int, done: int) -> set[str]:
        """Return the ids of the requests behind the objects of the exchanges from ``first`` on.

        These are the objects that they name or that changed until ``done``, and any that these
        objects or requests refer to. A request to the control API that names no other
        object counts as well: an arranged outcome or a setting can have an effect on every object.
        """
        named = {object_id.entry.id: request_ids(object_id) for object_id in exchanges}
        begun = exchanges[first].place if first < len(exchanges) else done
        about = {
            change.record.id
            for unit in self._causality.between(begun, done)
            for change in unit.unit.changes
        }
        about |= {id for object_id in exchanges[first:] for id in named[object_id.entry.id]}
        waiting = [id for id in about if names.get(self.world, id)]
        if not waiting:
            return set()
        visited, requests = set[str](), set[str]()
        while waiting:
            if (object_id := waiting.pop()) in visited:
                continue
            visited.add(object_id)
            referred = ID.findall(msgspec.json.encode(names.get(self.world, object_id)).decode())
            waiting += [id for id in referred if names.get(self.world, id)]
            for request in {
                *causes(self._causality.touching.get(object_id, ()), self._causality)
            } - requests:
                requests.add(request)
                waiting += named.get(request, ())
        steering = (
            exchange.entry
            for exchange in exchanges
            if exchange.entry.path.startswith(CONTROL) and exchange.entry.status < 400
        )
        return requests | {entry.id for entry in steering if named[entry.id] <= visited}

    def events(self, done: int, requests: Collection[str] | None) -> list[str]:
        """Return the types of events up to a unit, oldest first; with ``requests`` only theirs.

        A request causes an event directly, or by a job that it planned.
        """
        types: list[str] = []
        for event in self.world.table(Event):
            unit = self._causality.creators.get(event.id)
            is_caused = requests is None or (
                unit and next(causes([unit], self._causality), None) in requests
            )
            if is_caused and (unit is None or unit.number <= done):
                types.append(event.type)
        return types

    # -- the past: objects older than the journal

    @cached_property
    def past(self) -> frozenset[str]:
        """The ids of the objects that no unit of work in the journal made.

        A world that was loaded, imported or read from a file has such objects, and one whose
        journal forgot its beginning.
        """
        known = {change.record.id for _, change in self._causality.changes}
        known |= {record.id for table in self.world.tables() for record in table.unordered()}
        made = {change.record.id for _, change in self._causality.changes if change.old is None}
        return frozenset(known - made - {"settings"})

    # -- where objects are

    def owners(self, id: str) -> list[str]:
        """Return the ids of an object's owners, the closest first; empty if it does not exist."""
        record = names.get(self.world, id)
        return [owner for name in OWNERS if isinstance(owner := getattr(record, name, None), str)]

    def find(self, id: str, owner: str | None, place: int) -> ListPlace | None:
        """Return an object's place in its kind's list at the time of ``place`` units of work.

        If the ``owner`` was deleted by then, it is the list of all.
        """
        record = names.get(self.world, id)
        if record is None:
            return None
        if owner is not None and self._deleted.get(owner, place) < place:
            owner = None
        listed = [
            (getattr(other, "created_at", ""), number, other.id)
            for other, number in self._records_at(type(record), place)
            if owner is None or _belongs(other, owner, record)
        ]
        ids = [id for _, _, id in sorted(listed, reverse=True)]
        return ListPlace(record.kind, owner, ids.index(id)) if id in ids else None

    @cached_property
    def _deleted(self) -> dict[str, int]:
        """The number of units of work before an object was deleted, by its id."""
        return {
            change.record.id: unit.number - 1
            for unit, change in self._causality.changes
            if change.new is None
        }

    def _records_at(self, kind: type[Record], place: int) -> Iterable[tuple[Record, int]]:
        """Return a kind's records at the time of ``place`` units, with their creation numbers."""
        records = {
            slot.record.id: (slot.record, slot.number)
            for slot in self.world.table(kind).slots.all_values()
        }
        for unit, change in reversed(self._causality.changes):
            if unit.number > place and isinstance(change.record, kind):
                after = records.pop(change.record.id, None)
                if change.old is not None:
                    records[change.record.id] = change.old, after[1] if after else change.number
        return records.values()


def _belongs(other: Record, owner: str, record: Record) -> bool:
    """Return whether two objects have the same owner. An event is found by any id in it."""
    if isinstance(other, Event):
        return owner in encode(other).decode()
    # Not by the owner itself, which may have been deleted since then.
    return any(
        getattr(record, name, None) == owner == getattr(other, name, None) for name in OWNERS
    )


def _differing(values: dict[str, Any], defaults: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value != defaults[name]}
