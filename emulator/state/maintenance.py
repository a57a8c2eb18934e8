"""The care of states: a look at what one holds, making it small, and taking everything to another place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from emulator.core.jobs import Job
from emulator.core.world import World
from emulator.resources.app.keys import Key
from emulator.resources.registry import REGISTRY
from emulator.state import serialization
from emulator.state.serialization import Content, InvalidState, StoredWorld
from emulator.state.store import CorruptStore, Store
from emulator.state.urls import FORMS, MEMORY, file_of, needed, open_store


class Finding(NamedTuple):
    """What a world holds."""

    key: Key
    now: str
    records: int
    jobs: int
    snapshots: int


def check(place: str) -> list[Finding]:
    """Read everything there is, as a server would that starts. Raises :class:`BrokenState`; nothing is changed."""
    found = contents(place)
    try:
        for saved in found.snapshots.values():
            restored(saved)
        return [_finding(saved, found) for saved in found.worlds.values()]
    except InvalidState as fault:
        raise CorruptStore(f"{place}: {fault}") from None


def _finding(saved: StoredWorld, found: Content) -> Finding:
    world = restored(saved)
    records = sum(len(table) for table in world.tables() if table.kind is not Job)
    snapshots = sum(key == saved.key for key, _ in found.snapshots)
    return Finding(saved.key, world.now, records, len(world.table(Job)), snapshots)


def restored(saved: StoredWorld) -> World:
    """The world that was saved, to be looked at. Raises :class:`Unreadable`."""
    key = saved.key
    world = World(
        name=key.name,
        livemode=key.livemode,
        registry=REGISTRY,
        reference_data=None,
        seed="",
        now=saved.head.now,
        base_url="",
    )
    try:
        serialization.fill(world, saved)
    except InvalidState as fault:
        raise InvalidState(f"the world {key}: {fault}") from None
    return world


def contents(place: str) -> Content:
    """Everything a place holds, read at one moment; another process may work on it. Raises :class:`BrokenState`."""
    if place == MEMORY:
        raise CorruptStore("memory: holds nothing that lasts")
    file = file_of(place)
    if file is not None and not file.exists():
        raise CorruptStore(f"{place}: there is no such file")
    # Each kind is loaded where it is asked for, and says so where its library is missing.
    if place.startswith("tinydb:"):
        from emulator.state import tinydb_file

        return tinydb_file.read(Path(place.removeprefix("tinydb:")))
    with needed("sqlalchemy", "psycopg"):
        if place.startswith("sqlite:///"):
            from emulator.state import sqlite

            return sqlite.read(Path(place.removeprefix("sqlite:///")))
        from emulator.state import postgres

        return postgres.read(place)


def convert(source: str, target: str) -> list[Finding]:
    """Take every world and snapshot to a place that holds none yet. Raises :class:`BrokenState`."""
    findings = check(source)
    found = contents(source)
    with _opened(target) as store:
        if store.unleased():
            raise CorruptStore(f"{target}: holds worlds already; convert into a new place")
        for key, saved in found.worlds.items():
            store.load(key)
            store.replace(saved)
        for (key, name), saved in found.snapshots.items():
            store.put_snapshot(key, name, saved)
    return findings


def compact(place: str) -> None:
    """Have a place take no more room than it needs. Raises :class:`BrokenState`, also while a server works on it."""
    check(place)
    with _opened(place) as store:
        store.compact()


@contextmanager
def _opened(place: str) -> Iterator[Store]:
    store = open_store(place)
    if store is None:
        raise CorruptStore(f"{place!r}: {FORMS}, memory aside")
    try:
        yield store
    finally:
        store.close()
