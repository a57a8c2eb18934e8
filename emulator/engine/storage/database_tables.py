"""Worlds in the tables of a database: what is read from them, and the statements that change them.

SQLite and PostgreSQL take the same statements, with ``?`` where a value goes.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeVar

import msgspec

from emulator.engine.storage import serialization
from emulator.engine.storage.serialization import Content, InvalidState, RowChange, StoredWorld, WorldHeader
from emulator.engine.storage.store import Loaded, Store
from emulator.resources.app.clients import Key

CREATE = (
    "CREATE TABLE emulator_format (format INTEGER NOT NULL)",
    # Clock, counters and seed, in JSON.
    "CREATE TABLE emulator_worlds (key VARCHAR(80) PRIMARY KEY, head TEXT NOT NULL)",
    # Records are text because a JSON column may change the order of the keys of metadata.
    "CREATE TABLE emulator_records (world VARCHAR(80) NOT NULL, kind VARCHAR(40) NOT NULL, id VARCHAR(255) NOT NULL,"
    " number BIGINT NOT NULL, data TEXT NOT NULL, PRIMARY KEY (world, kind, id))",
    # Named snapshots, each as it would be exported.
    "CREATE TABLE emulator_snapshots (number INTEGER PRIMARY KEY, world VARCHAR(80) NOT NULL, name VARCHAR(64) NOT NULL,"
    " data TEXT NOT NULL, UNIQUE (world, name))",
)

PUT_WORLD = "INSERT INTO emulator_worlds (key, head) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET head = excluded.head"

PUT_RECORD = """INSERT INTO emulator_records (world, kind, id, number, data) VALUES (?, ?, ?, ?, ?)
 ON CONFLICT (world, kind, id) DO UPDATE SET number = excluded.number, data = excluded.data"""

REMOVE_RECORD = "DELETE FROM emulator_records WHERE world = ? AND kind = ? AND id = ?"

REMOVE_WORLD = (
    "DELETE FROM emulator_records WHERE world = ?",
    "DELETE FROM emulator_snapshots WHERE world = ?",
    "DELETE FROM emulator_worlds WHERE key = ?",
)

ADD_SNAPSHOT = """INSERT INTO emulator_snapshots (number, world, name, data)
 SELECT coalesce(max(number), 0) + 1, ?, ?, ? FROM emulator_snapshots"""

DAMAGE = (ValueError, RecursionError, KeyError)
"""What reading damaged rows raises, beside the errors of the database: also for text that is no UTF-8."""

T = TypeVar("T")


class Readable(Protocol):
    """What reads a database: sqlite3's connection, and ours for PostgreSQL."""

    def execute(self, statement: str, values: Sequence[Any] = (), /) -> Iterable[Any]: ...


class Statement(NamedTuple):
    """A statement that is executed once for each row of values."""

    text: str
    rows: Sequence[Sequence[Any]]


def create() -> list[Statement]:
    made = Statement("INSERT INTO emulator_format (format) VALUES (?)", [(serialization.FORMAT,)])
    return [*(Statement(text, [()]) for text in CREATE), made]


class DatabaseStore(Store):
    @abstractmethod
    def query(self, read: Callable[[Readable], T]) -> T:
        """Return what is read, at once. Raises :class:`CorruptStore`."""

    @abstractmethod
    def execute(self, key: Key, statements: list[Statement]) -> None:
        """Have the statements of one change of a world carried out, all of them or none."""

    def stored(self) -> list[Key]:
        return self.query(keys)

    def load(self, key: Key) -> Loaded:
        return self.query(partial(load, key=key))

    def write(self, key: Key, rows: Iterable[RowChange], head: WorldHeader, *, anew: bool = False) -> None:
        gone, put = [], []
        for row in rows:
            if row.record is None:
                gone.append((str(key), row.kind, row.id))
            else:
                put.append((str(key), row.kind, row.id, row.number, _json(row.record)))
        former = [Statement(REMOVE_WORLD[0], [(str(key),)])] if anew else []
        changes = [Statement(REMOVE_RECORD, gone), Statement(PUT_RECORD, put)]
        self.execute(key, [*former, *changes, Statement(PUT_WORLD, [(str(key), _json(head))])])

    def remove(self, key: Key) -> None:
        self.execute(key, [Statement(text, [(str(key),)]) for text in REMOVE_WORLD])

    def put_snapshot(self, key: Key, name: str, saved: StoredWorld | None) -> None:
        former = Statement("DELETE FROM emulator_snapshots WHERE world = ? AND name = ?", [(str(key), name)])
        made = [] if saved is None else [(str(key), name, _json(serialization.tables([saved])))]
        self.execute(key, [former, Statement(ADD_SNAPSHOT, made)])


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


# -- what is read; each raises :class:`InvalidState` for what is not as the emulator writes it


def check_format(connection: Readable) -> None:
    numbers = [number for (number,) in connection.execute("SELECT format FROM emulator_format")]
    if len(numbers) != 1:
        raise InvalidState("it does not say the version of its format")
    serialization.check_format(numbers[0])


def keys(connection: Readable) -> list[Key]:
    return [serialization.key(key) for (key,) in connection.execute("SELECT key FROM emulator_worlds ORDER BY key")]


def load(connection: Readable, key: Key) -> Loaded:
    """Return what is stored of a key, records as JSON."""
    chosen = "SELECT name, data FROM emulator_snapshots WHERE world = ? ORDER BY number"
    snapshots = {name: serialization.only_world(_plain(data)) for name, data in connection.execute(chosen, (str(key),))}
    return Loaded(_world(connection, key), snapshots)


def _world(connection: Readable, key: Key) -> StoredWorld | None:
    heads = list(connection.execute("SELECT head FROM emulator_worlds WHERE key = ?", (str(key),)))
    if not heads:
        return None
    rows: dict[str, list[tuple[int, msgspec.Raw]]] = {}
    chosen = "SELECT kind, number, data FROM emulator_records WHERE world = ? ORDER BY number"
    for kind, number, data in connection.execute(chosen, (str(key),)):
        rows.setdefault(kind, []).append((number, msgspec.Raw(data)))
    try:
        return StoredWorld(key, msgspec.json.decode(heads[0][0], type=WorldHeader), rows)
    except msgspec.MsgspecError as error:
        raise InvalidState(f"the world {key}: {serialization.reason(error)}") from None


def content(connection: Readable) -> Content:
    found = {key: load(connection, key) for key in keys(connection)}
    return Content(
        {key: each.world for key, each in found.items() if each.world},
        {(key, name): saved for key, each in found.items() for name, saved in each.snapshots.items()},
    )


def _plain(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise InvalidState(f"it holds what is not JSON: {error}") from None
