"""State URLs: what ``--state`` accepts, and the store that each names."""

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


def is_state_url(text: str) -> bool:
    """Whether a text has the form of a state URL."""
    return bool(_FORM.fullmatch(text))


def file_of(url: str) -> Path | None:
    """The file that a state URL names, if it names one."""
    for start in ("tinydb:", "sqlite:///"):
        if url.startswith(start):
            return Path(url.removeprefix(start))
    return None


def open_store(url: str, *, locked: bool = False, archives: bool = False) -> Store | None:
    """The store of a state URL; None for memory. Its file is ``locked`` by the caller already, or is locked now.

    With ``archives`` it can read single records (:meth:`Store.archive`). Raises :class:`CorruptStore`.
    """
    # Imported on first use: most servers have their worlds in memory.
    from emulator.state.store import CorruptStore

    if archives and (url == MEMORY or url.startswith("tinydb:")):
        raise CorruptStore(f"--history needs a database (--state sqlite:///FILE or postgresql://…); {url} has none")
    if url == MEMORY:
        return None
    if url.startswith("tinydb:"):
        from emulator.state.tinydb_store import TinyDBStore

        return TinyDBStore(Path(url.removeprefix("tinydb:")))
    if url.startswith("sqlite:///"):
        with needed("sqlalchemy"):
            from emulator.state.sqlite import SqliteStore

            return SqliteStore(Path(url.removeprefix("sqlite:///")), locked=locked, archives=archives)
    if url.startswith("postgresql"):
        with needed("sqlalchemy", "psycopg"):
            from emulator.state.postgres import PostgresStore

            return PostgresStore(url, archives=archives)
    raise CorruptStore(f"{url!r}: {FORMS}")


@contextmanager
def needed(*modules: str) -> Iterator[None]:
    """Raises :class:`CorruptStore`, saying what to install, if one of these modules is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name not in modules:
            raise
        from emulator.state.store import CorruptStore  # as above

        raise CorruptStore("worlds in a database need an extra: pip install 'payments-emulator[sql]'") from None
