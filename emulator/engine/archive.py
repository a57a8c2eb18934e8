"""The archive: a world as plain JSON, to be kept outside and brought back."""

from __future__ import annotations

from typing import Any

import msgspec

from emulator.core.records import Record
from emulator.core.world import Event, World
from emulator.engine.runtime import Snapshot

FORMAT = 1
"""The version of the form below; another one is refused."""


class Unreadable(ValueError):
    """What was to be brought back is no world of ours; the message says why."""


class Archive(msgspec.Struct, forbid_unknown_fields=True):
    """A snapshot as it is exported: every record by kind, with its number in the order of creation."""

    format: int
    now: str
    mode: str
    rate: float
    counters: dict[str, int]
    records: dict[str, list[tuple[int, dict[str, Any]]]]


def export(snapshot: Snapshot) -> dict[str, Any]:
    """The snapshot as plain values."""
    world = snapshot.world
    records = {
        table.kind.kind: [(table.slots[record.id][1], _plain(record)) for record in table]
        for table in world.tables()
        if len(table)
    }
    archive = Archive(FORMAT, snapshot.now, snapshot.mode, snapshot.rate, world.counters, records)
    plain: dict[str, Any] = msgspec.to_builtins(archive)
    return plain


def _plain(record: Record) -> Any:
    # An event keeps its object as it was shown; what was hidden of it was for nobody else's eyes.
    return msgspec.to_builtins(record.shown() if isinstance(record, Event) else record)


def bring_back(value: Any, into: World) -> Snapshot:
    """The snapshot that was exported so, as a world like ``into`` (same App, same side). Raises :class:`Unreadable`."""
    try:
        archive = msgspec.convert(value, Archive)
        if archive.format != FORMAT:
            raise Unreadable(f"its format is {archive.format}; this version reads format {FORMAT}")
        world = emptied(into)
        with world.turn():
            for kind, rows in archive.records.items():
                _file(world, kind, rows)
        world.counters = dict(archive.counters)
        world.now = archive.now
    except (msgspec.ValidationError, ValueError) as fault:
        raise Unreadable(str(fault)) from None
    return Snapshot(world, archive.now, archive.mode, archive.rate)


def _file(world: World, kind: str, rows: list[tuple[int, dict[str, Any]]]) -> None:
    known = {table.kind.kind: table.kind for table in world.tables()}
    if kind not in known:
        raise Unreadable(f"there is no kind of record {kind!r}")
    for number, row in rows:
        world.put_back(msgspec.convert(row, known[kind]), number)


def emptied(world: World) -> World:
    """A world of the same App without a single record."""
    empty = world.copy()
    with empty.turn():
        empty.wipe(keep=())
    return empty
