"""Old records of a world read from a SQL database, and the indexes by which they are found."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, cast

import msgspec
import sqlalchemy as sa

from emulator.core.events import Event
from emulator.core.records import R, Record
from emulator.resources.registry import REGISTRY
from emulator.state.rows import RECORDS
from emulator.state.serialization import restored

_KINDS: tuple[type[Record], ...] = (Event, *REGISTRY.kinds)

MENTIONING: tuple[type[Record], ...] = tuple(kind for kind in _KINDS if kind.mentions)
"""The kinds of record that are found by the objects they are about."""

PATHS = {"sqlite": "json_extract(data, '$.{}')", "postgresql": "((data::json) #>> '{{{}}}')"}
"""What stands at a path of a record's JSON, in the SQL of each database."""

BATCH = 1000
"""Records that are read at a time."""


class SqlArchive:
    """The records of one world. Each is read in a transaction of its own, which ``transaction`` opens."""

    def __init__(self, transaction: Callable[[], AbstractContextManager[sa.Connection]], world: int) -> None:
        self._transaction = transaction
        self._world = world

    def load(self, kind: type[R], numbers: Sequence[int]) -> dict[int, R]:
        return dict(self._records(kind, RECORDS.c.number.in_(numbers)))

    def find(self, kind: type[R], id: str) -> tuple[int, R] | None:
        return next(iter(self._records(kind, RECORDS.c.id == id)), None)

    def about(self, kind: type[R], id: str) -> list[tuple[int, R]]:
        # A condition is worded as that of the index is, so that the index serves it.
        own = RECORDS.c.world == self._world
        rows: dict[int, str] = {}
        with self._transaction() as connection:
            for path in kind.mentions:
                mentioned = sa.literal_column(_at_path(connection, path)) == id
                chosen = sa.select(RECORDS.c.number, RECORDS.c.data).where(
                    own, sa.text(f"kind = '{kind.kind}'"), mentioned
                )
                rows.update((row.number, row.data) for row in connection.execute(chosen))
        return [(number, _record(kind, data)) for number, data in rows.items()]

    def kinds(self, connection: sa.Connection) -> list[str]:
        """The kinds of record that are stored."""
        chosen = sa.select(RECORDS.c.kind).where(RECORDS.c.world == self._world).distinct()
        return list(connection.execute(chosen).scalars())

    def rows(self, kind: str) -> Iterator[tuple[int, msgspec.Raw]]:
        """All records of a kind as JSON, in the order of their numbers, of which few are in memory at a time."""
        last = -1
        chosen = self._chosen(kind, RECORDS.c.number > sa.bindparam("last")).order_by(RECORDS.c.number).limit(BATCH)
        while True:
            with self._transaction() as connection:
                batch = connection.execute(chosen, {"last": last}).all()
            for number, data in batch:
                yield number, msgspec.Raw(data)
            if len(batch) < BATCH:
                return
            last = batch[-1].number

    def _records(self, kind: type[R], condition: sa.ColumnElement[bool]) -> list[tuple[int, R]]:
        with self._transaction() as connection:
            rows = connection.execute(self._chosen(kind.kind, condition)).all()
        return [(number, _record(kind, data)) for number, data in rows]

    def _chosen(self, kind: str, condition: sa.ColumnElement[bool]) -> sa.Select[Any]:
        of_kind = (RECORDS.c.world == self._world, RECORDS.c.kind == kind)
        return sa.select(RECORDS.c.number, RECORDS.c.data).where(*of_kind, condition)


def _record(kind: type[R], data: str) -> R:
    return cast("R", restored(kind, msgspec.Raw(data)))


def _at_path(connection: sa.Connection, path: str) -> str:
    own = path if connection.dialect.name == "sqlite" else path.replace(".", ",")
    return PATHS[connection.dialect.name].format(own)


def prepare_archive(connection: sa.Connection, alone: sa.Executable | None = None) -> None:
    """Create the indexes of an archive where they are missing. The database then maintains them, whatever writes.

    ``alone`` is a statement that keeps other processes from doing so at the same time.
    """
    statements = [f"CREATE INDEX IF NOT EXISTS {RECORDS}_by_number ON {RECORDS} (world, kind, number)"]
    for kind in MENTIONING:
        for path in kind.mentions:
            name, at_path = path.replace(".", "_"), _at_path(connection, path)
            statements.append(
                f"CREATE INDEX IF NOT EXISTS {RECORDS}_{kind.kind}_{name} ON {RECORDS} (world, {at_path})"
                f" WHERE kind = '{kind.kind}' AND {at_path} IS NOT NULL"
            )
    with connection.begin():
        if alone is not None:
            connection.execute(alone)
        for statement in statements:
            connection.execute(sa.text(statement))
