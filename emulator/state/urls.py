"""Places: what ``--state`` may say, and the store that is meant."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from emulator.state.store import Store

MEMORY = "memory"

FORMS = "memory, tinydb:FILE, sqlite:///FILE or postgresql://…"

_FORM = re.compile(r"memory|tinydb:.+|sqlite:///.+|postgresql(\+psycopg)?://.+")


def is_place(text: str) -> bool:
    """Whether this has the form of one."""
    return bool(_FORM.fullmatch(text))


def file_of(place: str) -> Path | None:
    """The file of a place that has one."""
    for start in ("tinydb:", "sqlite:///"):
        if place.startswith(start):
            return Path(place.removeprefix(start))
    return None


def open_store(place: str) -> Store | None:
    """The store at a place; None for memory. Raises :class:`BrokenState`."""
    # Each is loaded where it is asked for: most servers keep their worlds in memory, and the help needs none.
    from emulator.state.store import CorruptStore

    if place == MEMORY:
        return None
    if place.startswith("tinydb:"):
        from emulator.state.tinydb_store import TinyDBStore

        return TinyDBStore(Path(place.removeprefix("tinydb:")))
    if place.startswith("sqlite:///"):
        with needed("sqlalchemy"):
            from emulator.state.sqlite import SqliteStore

            return SqliteStore(Path(place.removeprefix("sqlite:///")))
    if place.startswith("postgresql"):
        with needed("sqlalchemy", "psycopg"):
            from emulator.state.postgres import PostgresStore

            return PostgresStore(place)
    raise CorruptStore(f"{place!r}: {FORMS}")


@contextmanager
def needed(*modules: str) -> Iterator[None]:
    """Say what to install where a database asks for a library that is not there."""
    try:
        yield
    except ModuleNotFoundError as fault:
        if fault.name not in modules:
            raise
        from emulator.state.store import CorruptStore  # as above

        raise CorruptStore("worlds in a database need an extra: pip install 'payments-emulator[sql]'") from None
