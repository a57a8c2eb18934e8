"""State URLs: the values of ``--state``, and their stores: open, check, convert, compact."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

from emulator.core.jobs import Job
from emulator.engine.storage import serialization
from emulator.engine.storage.serialization import Content, InvalidState, StoredWorld
from emulator.engine.storage.store import WORLD, CorruptStore, Edition, NoStore, Store
from emulator.resources.app.clients import Key
from emulator.version import extra_command

MEMORY = "memory"

FORMS = "memory, tinydb:FILE, sqlite:FILE or postgresql://…"

_FORM = re.compile(r"memory|tinydb:.+|sqlite:(?!//).+|postgresql://.+")


def is_state_url(text: str) -> bool:
    return bool(_FORM.fullmatch(text))


def file_of(url: str) -> Path | None:
    kind, _, file = url.partition(":")
    return Path(file) if kind in ("tinydb", "sqlite") else None


def open_store(url: str) -> Store | None:
    """Return the store of a state URL; None for memory. Raises :class:`CorruptStore`."""
    return None if url == MEMORY else _uses(url)[0]()


def _uses(url: str) -> tuple[Callable[[], Store], Callable[[], Content]]:
    """Return the opener and the reader of a state URL's store. Raises :class:`CorruptStore`."""
    # Each kind is imported on first use: most servers have their worlds in memory.
    if url == MEMORY:
        raise NoStore("memory: nothing is stored")
    if not is_state_url(url):
        raise NoStore(f"{url!r} is not one of {FORMS}")
    if (file := file_of(url)) is None:
        try:
            from emulator.engine.storage import postgres, postgres_session
        except ModuleNotFoundError as error:
            if error.name != "psycopg":
                raise
            needed = f"worlds in PostgreSQL need the extra 'postgres': {extra_command('postgres')}"
            raise NoStore(needed) from None
        return partial(postgres.PostgresStore, url), partial(postgres_session.read, url)
    if url.startswith("tinydb:"):
        from emulator.engine.storage import tinydb_store

        return partial(tinydb_store.TinyDBStore, file), partial(tinydb_store.read, file)
    from emulator.engine.storage import sqlite

    return partial(sqlite.SqliteStore, file), partial(sqlite.read, file)


# -- maintenance


class CheckedWorld(NamedTuple):
    """One world that a check has read. ``records`` does not count the jobs."""

    key: Key
    now: str
    records: int
    jobs: int
    snapshots: int


def check(url: str) -> list[CheckedWorld]:
    """Read all as a server does at its start, without changes. Raises :class:`CorruptStore`."""
    content = contents(url)
    try:
        for saved in content.snapshots.values():
            serialization.readable(saved)
        return [_checked(saved, content) for saved in content.worlds.values()]
    except InvalidState as error:
        raise CorruptStore(f"{url}: {error}") from None


def _checked(saved: StoredWorld, content: Content) -> CheckedWorld:
    world = serialization.readable(saved)
    records = sum(len(table) for table in world.tables() if table.kind is not Job)
    snapshots = sum(key == saved.key for key, _ in content.snapshots)
    return CheckedWorld(saved.key, world.now, records, len(world.table(Job)), snapshots)


def contents(url: str) -> Content:
    """Return a store's content at one moment, even in use. Raises :class:`CorruptStore`."""
    _, read = _uses(url)
    if (file := file_of(url)) and not file.exists():
        raise NoStore(f"{url}: there is no such file")
    return read()


def convert(source: str, target: str) -> list[CheckedWorld]:
    """Copy all worlds and snapshots into an empty store. Raises :class:`CorruptStore`."""
    findings = check(source)
    content = contents(source)
    with _opened(target) as store:
        if store.stored():
            raise CorruptStore(f"{target}: holds worlds already; convert into an empty store")
        for saved in content.worlds.values():
            edition = Edition(serialization.rows_of(saved))
            store.persistence(saved.key).put(WORLD, edition, saved.head)
        for (key, name), saved in content.snapshots.items():
            edition = Edition(serialization.rows_of(saved))
            store.persistence(key).put(name, edition, saved.head)
        store.wait()
    return findings


def compact(url: str) -> None:
    """Free a store's unneeded disk space. Raises :class:`CorruptStore`, also while in use."""
    check(url)
    with _opened(url) as store:
        store.compact()


@contextmanager
def _opened(url: str) -> Iterator[Store]:
    store = _uses(url)[0]()
    try:
        yield store
    finally:
        store.close()
    if (unsaved := store.unsaved()) is not None:
        raise CorruptStore(unsaved)
