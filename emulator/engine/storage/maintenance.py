"""Maintenance of stored state: check it, compact it, convert it from one store to another."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from emulator.core.jobs import Job
from emulator.core.world import World
from emulator.engine.storage import serialization
from emulator.engine.storage.serialization import Content, InvalidState, StoredWorld
from emulator.engine.storage.store import CorruptStore, Store
from emulator.engine.storage.urls import FORMS, MEMORY, driver_needed, file_of, open_store
from emulator.resources.app.clients import Key
from emulator.resources.registry import REGISTRY


class CheckedWorld(NamedTuple):
    """One world that a check has read. ``records`` does not count the jobs."""

    key: Key
    now: str
    records: int
    jobs: int
    snapshots: int


def check(url: str) -> list[CheckedWorld]:
    """Read everything as a server does at its start. Raises :class:`CorruptStore`; nothing is changed."""
    found = contents(url)
    try:
        for saved in found.snapshots.values():
            restored(saved)
        return [_checked(saved, found) for saved in found.worlds.values()]
    except InvalidState as error:
        raise CorruptStore(f"{url}: {error}") from None


def _checked(saved: StoredWorld, found: Content) -> CheckedWorld:
    world = restored(saved)
    records = sum(len(table) for table in world.tables() if table.kind is not Job)
    snapshots = sum(key == saved.key for key, _ in found.snapshots)
    return CheckedWorld(saved.key, world.now, records, len(world.table(Job)), snapshots)


def restored(saved: StoredWorld) -> World:
    """Return the world that was saved, to be read only. Raises :class:`InvalidState`."""
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
    except InvalidState as error:
        raise InvalidState(f"the world {key}: {error}") from None
    return world


def contents(url: str) -> Content:
    """Return everything in a store, read at one moment; another process may be using it. Raises :class:`CorruptStore`."""
    if url == MEMORY:
        raise CorruptStore("memory: nothing is stored")
    # Each is imported on first use.
    if (file := file_of(url)) is None:
        with driver_needed():
            from emulator.engine.storage import postgres_session

            return postgres_session.read(url)
    if not file.exists():
        raise CorruptStore(f"{url}: there is no such file")
    if url.startswith("tinydb:"):
        from emulator.engine.storage import tinydb_store

        return tinydb_store.read(file)
    from emulator.engine.storage import sqlite

    return sqlite.read(file)


def convert(source: str, target: str) -> list[CheckedWorld]:
    """Copy every world and snapshot into a store that has none yet. Raises :class:`CorruptStore`."""
    findings = check(source)
    found = contents(source)
    with _opened(target) as store:
        if store.stored():
            raise CorruptStore(f"{target}: holds worlds already; convert into an empty store")
        for saved in found.worlds.values():
            store.replace(saved)
        for (key, name), saved in found.snapshots.items():
            store.put_snapshot(key, name, saved)
        store.wait()
    return findings


def compact(url: str) -> None:
    """Have a store take no more disk space than it needs. Raises :class:`CorruptStore`, also while a server uses it."""
    check(url)
    with _opened(url) as store:
        store.compact()


@contextmanager
def _opened(url: str) -> Iterator[Store]:
    store = open_store(url)
    if store is None:
        raise CorruptStore(f"{url!r}: {FORMS}, memory aside")
    try:
        yield store
    finally:
        store.close()
    if (unsaved := store.unsaved()) is not None:
        raise CorruptStore(unsaved)
