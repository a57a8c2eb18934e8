"""The format of a stored world: tables of documents as in TinyDB, with the version of the format.

One file holds any number of worlds: ``emulator`` (the version), ``worlds`` (key, clock, counters),
``snapshots``, and for each world and kind of record a table ``sk_test_demo/customer``, its
documents by their number in the order of creation. An exported snapshot is such a file with one
world.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from operator import itemgetter
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import Meta

from emulator.core import calendar
from emulator.core.calendar import Timestamp
from emulator.core.records import Record
from emulator.core.unit_of_work import Change, Event
from emulator.core.world import World
from emulator.engine.redaction import Scrubber
from emulator.resources.app.clients import SECRET, Key
from emulator.resources.app.settings import settings
from emulator.resources.registry import REGISTRY

FORMAT = 2
"""The format that is written and read."""

LARGEST = 2**53
"""The largest integer that every reader of JSON represents exactly."""

MAX_RATE = 31_536_000
"""The fastest clock, in world seconds for each real second, as documented: a year a second."""

StoredTables = dict[str, Any]
"""The content of a file: tables by name, each with its documents by number."""

Rows = Mapping[str, Iterable[tuple[int, Any]]]
"""Numbered records by kind: records, plain values of fields, or JSON (``msgspec.Raw``)."""

QUOTED = re.compile(r"""(['"]).*\1|(?<=unknown field )`.*`(?= - at |$)""", re.DOTALL)
"""Data in a message: values are quoted, names of fields that are not ours stand in backticks."""


def reason(error: Exception) -> str:
    """Return the message of an error on stored data, in one line, without names and emails."""
    if isinstance(error, InvalidState):
        return str(error)
    if isinstance(error, KeyError):
        return "a part of it is missing"
    if isinstance(error, UnicodeDecodeError):
        return "it holds text that is not UTF-8"
    return " ".join(QUOTED.sub("…", str(error)).split())


class InvalidState(ValueError):
    """A stored or exported state cannot be read; the message says why."""


class WorldHeader(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The part of a world that is not its records; ``seed`` is None if it is unknown.

    The clock read ``now`` at the real time ``since`` (Unix time in seconds); if that is None, it
    goes on from ``now``.
    """

    now: Timestamp
    mode: Literal["running", "frozen"]
    rate: Annotated[float, Meta(gt=0, le=MAX_RATE)]
    counters: dict[str, Annotated[int, Meta(ge=0, le=LARGEST)]]
    since: float | None = None
    seed: str | None = None


class StoredWorld(NamedTuple):
    key: Key
    head: WorldHeader
    rows: Rows


class RowChange(NamedTuple):
    """A record after changes: itself, plain values or JSON; ``record`` is None if removed."""

    kind: str
    number: int
    record: Any


def row_changes(world: World, changes: Iterable[Change]) -> Iterator[RowChange]:
    """Yield the outcome of changes: each record now present, and each number now free.

    A record that was removed and added again under its id, such as a stored response, has another
    number than before.
    """
    numbers: dict[tuple[type[Record], str], set[int]] = {}
    for change in changes:
        record = change.record
        numbers.setdefault((type(record), record.id), set()).add(change.number)
    for (kind, id), former in numbers.items():
        slot = world.table(kind).slots[id]
        for number in former - ({slot.number} if slot else set()):
            yield RowChange(kind.kind, number, None)
        if slot is not None:
            yield RowChange(kind.kind, slot.number, row_of(slot.record))


def row_of(record: Any) -> Any:
    """Return a record as it is stored. Of an event, only what the service shows is stored."""
    return record.public_view() if isinstance(record, Event) else record


def rows_of(saved: StoredWorld) -> Iterator[RowChange]:
    """Yield every record of a stored world, as if it had been added."""
    for kind, rows in saved.rows.items():
        for number, row in rows:
            plain = msgspec.json.decode(row) if isinstance(row, msgspec.Raw) else row
            yield RowChange(kind, number, row_of(plain))


ROWS = 250
"""Records that are read, encoded or stored at a time, which takes some milliseconds at most."""


def fill(world: World, saved: StoredWorld) -> None:
    """Load a stored world into a world that has no records. Raises :class:`InvalidState`."""
    known = {kind.kind: kind for kind in world.kinds}
    try:
        for kind, rows in saved.rows.items():
            if kind not in known:
                raise InvalidState("it holds records of an unknown kind")
            with world.unit_of_work():
                world.arrange()
                for number, row in rows:
                    world.add(restored(known[kind], row), number)
        world.now = calendar.normalise(saved.head.now)
        settings(world)
    except KeyError:
        raise InvalidState("it has no settings") from None
    except (msgspec.MsgspecError, ValueError) as error:
        raise InvalidState(reason(error)) from None
    world.counters = dict(saved.head.counters)


def readable(saved: StoredWorld) -> World:
    """Return the world that was saved, to be read only. Raises :class:`InvalidState`."""
    (name, livemode), now = saved.key, saved.head.now
    world = World(
        name=name,
        livemode=livemode,
        registry=REGISTRY,
        reference_data=None,
        seed="",
        now=now,
        base_url="",
    )
    try:
        fill(world, saved)
    except InvalidState as error:
        raise InvalidState(f"the world {saved.key}: {error}") from None
    return world


def restored(kind: type[Record], row: Any) -> Record:
    if isinstance(row, Record):
        return row
    return (
        msgspec.json.decode(row, type=kind)
        if isinstance(row, msgspec.Raw)
        else msgspec.convert(row, kind)
    )


# -- as tables


def tables(worlds: Iterable[StoredWorld]) -> StoredTables:
    """Return the tables of a file with these worlds. Records are not encoded yet."""
    made: StoredTables = {"emulator": {"1": {"format": FORMAT}}, "worlds": {}}
    for position, saved in enumerate(worlds, 1):
        made["worlds"][str(position)] = row_of_world(saved.key, saved.head)
        for kind, rows in saved.rows.items():
            made[f"{saved.key}/{kind}"] = {str(number): row for number, row in rows}
    return made


def row_of_world(key: Key, head: WorldHeader) -> dict[str, Any]:
    return {"key": str(key), **msgspec.structs.asdict(head)}


def world_of_row(row: Mapping[str, Any], rows: Rows) -> StoredWorld:
    """Return a stored world and its records from table ``worlds``. Raises :class:`InvalidState`."""
    head = {name: value for name, value in row.items() if name != "key"}
    return StoredWorld(key(row["key"]), msgspec.convert(head, WorldHeader), rows)


class Content(NamedTuple):
    worlds: dict[Key, StoredWorld]
    snapshots: dict[tuple[Key, str], StoredWorld]


def content(document: Any) -> Content:
    """Return the worlds and snapshots of a file. Raises :class:`InvalidState`."""
    stored = checked(document)
    whole = Content({}, {})
    try:
        for saved in _worlds(stored):
            if saved.key in whole.worlds:
                raise InvalidState(f"the world {saved.key} is there twice")
            whole.worlds[saved.key] = saved
        for number, row in stored.get("snapshots", {}).items():
            owner = key(row["key"])
            if owner not in whole.worlds:
                raise InvalidState(f"there is a snapshot of {owner}, but no such world")
            _number(number)
            whole.snapshots[owner, row["name"]] = only_world(row["tables"])
    except (KeyError, AttributeError, TypeError, ValueError) as error:
        raise InvalidState(reason(error)) from None
    return whole


def only_world(document: Any) -> StoredWorld:
    """Return the world of a file that has one, such as a snapshot. Raises :class:`InvalidState`."""
    for saved in _worlds(checked(document)):
        return saved
    raise InvalidState("it holds no world")


def _worlds(stored: StoredTables) -> Iterator[StoredWorld]:
    rows: dict[str, dict[str, list[tuple[int, Any]]]] = {}
    for name, table in stored.items():
        owner, separator, kind = name.partition("/")
        if separator:
            documents = [(_number(number), row) for number, row in table.items()]
            rows.setdefault(owner, {})[kind] = sorted(documents, key=itemgetter(0))
    for number, row in stored["worlds"].items():
        _number(number)
        yield world_of_row(row, rows.pop(row["key"], {}))
    if rows:
        raise InvalidState(f"there are records of {key(sorted(rows)[0])}, but no such world")


def _number(text: Any) -> int:
    number = int(text)
    if not 0 <= number <= LARGEST:
        raise InvalidState("it holds what is no number of a record")
    return number


def key(text: Any) -> Key:
    if not isinstance(text, str) or not SECRET.fullmatch(text):
        raise InvalidState("it holds a world whose key is not a secret key")
    return Key(text.split("_", 2)[2], text.startswith("sk_prod_"))


# -- snapshots: whole worlds, at one instant


class WorldSnapshot(NamedTuple):
    """A world at one instant, with its clock, which goes on from there however long ago that is."""

    world: World
    head: WorldHeader


def exported(snapshot: WorldSnapshot) -> Iterator[bytes]:
    """Yield the snapshot as JSON, the content of a TinyDB file with this one world."""
    world = snapshot.world
    yield msgspec.json.encode(tables([StoredWorld(Key.of(world), snapshot.head, {})]))[:-1]
    for table in world.tables():
        if order := table.order:
            rows = ((str(slot.number), row_of(slot.record)) for slot in order)
            yield from _table(f"{Key.of(world)}/{table.kind.kind}", rows)
    yield b"}"


def exported_to_share(snapshot: WorldSnapshot) -> list[bytes]:
    """Return the same, scrubbed; it takes long and is for a thread."""
    exported = tables([saved(snapshot)])
    plain = {
        name: {number: msgspec.to_builtins(row) for number, row in rows.items()}
        for name, rows in exported.items()
    }
    whole = Scrubber(snapshot.world).tables(plain)
    head = {name: whole.pop(name) for name in ("emulator", "worlds")}
    parts = (part for name, rows in whole.items() for part in _table(name, iter(rows.items())))
    return [msgspec.json.encode(head)[:-1], *parts, b"}"]


def _table(name: str, rows: Iterator[tuple[str, Any]]) -> Iterator[bytes]:
    yield b",%s:{" % msgspec.json.encode(name)
    separator = b""
    while step := [*islice(rows, ROWS)]:
        yield separator + msgspec.json.encode(dict(step))[1:-1]
        separator = b","
    yield b"}"


def saved(snapshot: WorldSnapshot) -> StoredWorld:
    """Return the snapshot as stored; read its records once, before the world changes."""
    rows = {}
    for table in snapshot.world.tables():
        if order := table.order:
            rows[table.kind.kind] = ((slot.number, row_of(slot.record)) for slot in order)
    return StoredWorld(Key.of(snapshot.world), snapshot.head, rows)


def imported(value: Any, into: World) -> WorldSnapshot:
    """Return exported values as a world like ``into``, its App's. Raises :class:`InvalidState`."""
    worlds: Mapping[Key, StoredWorld] = content(value).worlds
    own = worlds.get(Key.of(into))
    if own is None and len(worlds) != 1:
        raise InvalidState(
            f"it holds {len(worlds)} worlds, and none of them is that of {into.name}"
        )
    return loaded(own or next(iter(worlds.values())), into)


def loaded(stored: StoredWorld, into: World) -> WorldSnapshot:
    """Return a stored world as a world like ``into``. Raises :class:`InvalidState`."""
    world = into.emptied()
    fill(world, stored)
    return WorldSnapshot(
        world, msgspec.structs.replace(stored.head, now=world.now, since=None, seed=world.seed)
    )


# -- versions


def check_format(number: object, known: int = FORMAT) -> None:
    if not isinstance(number, int) or isinstance(number, bool):
        raise InvalidState(
            "it is no file that the emulator wrote: it does not say the version of its format"
        )
    if number != known:
        raise InvalidState(
            f"its format is {number}; this version of the emulator reads format {known}"
        )


def checked(document: Any) -> StoredTables:
    """Return the tables of a file of this format. Raises :class:`InvalidState`."""
    try:
        check_format(document["emulator"]["1"]["format"])
    except (KeyError, TypeError):
        check_format(None)
    if not isinstance(document, dict) or not all(
        isinstance(table, dict) for table in document.values()
    ):
        raise InvalidState("it does not consist of tables")
    return document
