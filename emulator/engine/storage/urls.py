"""State URLs: what ``--state`` accepts, and the store that each names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from emulator.version import extra_command

if TYPE_CHECKING:
    from emulator.engine.storage.store import Store

MEMORY = "memory"

FORMS = "memory, tinydb:FILE, sqlite:FILE or postgresql://…"

_FORM = re.compile(r"memory|tinydb:.+|sqlite:(?!//).+|postgresql://.+")


def is_state_url(text: str) -> bool:
    return bool(_FORM.fullmatch(text))


def file_of(url: str) -> Path | None:
    for start in ("tinydb:", "sqlite:"):
        if url.startswith(start):
            return Path(url.removeprefix(start))
    return None


def open_store(url: str) -> Store | None:
    """Return the store of a state URL; None for memory. Raises :class:`CorruptStore`."""
    # Imported on first use: most servers have their worlds in memory.
    from emulator.engine.storage.store import CorruptStore

    if url == MEMORY:
        return None
    if url.startswith("tinydb:"):
        from emulator.engine.storage.tinydb_store import TinyDBStore

        return TinyDBStore(Path(url.removeprefix("tinydb:")))
    if url.startswith("sqlite:"):
        from emulator.engine.storage.sqlite import SqliteStore

        return SqliteStore(Path(url.removeprefix("sqlite:")))
    if url.startswith("postgresql:"):
        with driver_needed():
            from emulator.engine.storage.postgres import PostgresStore

            return PostgresStore(url)
    raise CorruptStore(f"{url!r}: {FORMS}")


@contextmanager
def driver_needed() -> Iterator[None]:
    """Raise :class:`CorruptStore`, saying what to install, if the driver of PostgreSQL is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name != "psycopg":
            raise
        from emulator.engine.storage.store import CorruptStore  # as above

        raise CorruptStore(f"worlds in PostgreSQL need the extra 'postgres': {extra_command('postgres')}") from None
