"""Worlds in the tables of a database: what is read from them, and the statements that change them.

SQLite and PostgreSQL take the same statements, with ``?`` where a value goes.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any, NamedTuple, Protocol, TypeVar

import msgspec

from emulator.engine.storage import serialization
from emulator.engine.storage.serialization import (
    ROWS,
    Content,
    InvalidState,
    RowChange,
    StoredWorld,
    WorldHeader,
)
from emulator.engine.storage.store import WORLD, Edition, Loaded, Pause, Store, Writer
from emulator.resources.app.clients import Key

FORMAT = 3
"""The format of the tables that is written and read."""

CREATE = (
    "CREATE TABLE emulator_format (format INTEGER NOT NULL)",
    # Clock, counters and seed, in JSON, and which records are the world's.
    (
        "CREATE TABLE emulator_worlds (key VARCHAR(80) PRIMARY KEY, edition BIGINT NOT NULL, head"
        " TEXT NOT NULL)"
    ),
    # Records are text because a JSON column may change the order of the keys of metadata.
    (
        "CREATE TABLE emulator_records (edition BIGINT NOT NULL, kind VARCHAR(40) NOT NULL, number"
        " BIGINT NOT NULL, data TEXT NOT NULL, PRIMARY KEY (edition, kind, number))"
    ),
    (
        "CREATE TABLE emulator_snapshots (number INTEGER PRIMARY KEY, world VARCHAR(80) NOT NULL,"
        " name VARCHAR(64) NOT NULL, edition BIGINT NOT NULL, head TEXT NOT NULL, UNIQUE (world,"
        " name))"
    ),
)

PUT_WORLD = """INSERT INTO emulator_worlds (key, edition, head) VALUES (?, ?, ?)
 ON CONFLICT (key) DO UPDATE SET edition = excluded.edition, head = excluded.head"""

PUT_RECORD = """INSERT INTO emulator_records (edition, kind, number, data) VALUES (?, ?, ?, ?)
 ON CONFLICT (edition, kind, number) DO UPDATE SET data = excluded.data"""

REMOVE_RECORD = "DELETE FROM emulator_records WHERE edition = ? AND kind = ? AND number = ?"

REMOVE_WORLD = "DELETE FROM emulator_worlds WHERE key = ?"

REMOVE_SNAPSHOTS = "DELETE FROM emulator_snapshots WHERE world = ?"

ADD_SNAPSHOT = """INSERT INTO emulator_snapshots (number, world, name, edition, head)
 SELECT coalesce(max(number), 0) + 1, ?, ?, ?, ? FROM emulator_snapshots"""

# From one edition to the next one in the index, for there are many records.
DEAD = """WITH RECURSIVE found(edition) AS (SELECT min(edition) FROM emulator_records UNION ALL
 SELECT (SELECT min(edition) FROM emulator_records WHERE edition > found.edition)
 FROM found WHERE edition IS NOT NULL)
 SELECT edition FROM found WHERE edition IS NOT NULL AND edition NOT IN
 (SELECT edition FROM emulator_worlds UNION SELECT edition FROM emulator_snapshots)"""

REMOVE_SOME = """DELETE FROM emulator_records WHERE {0} IN
 (SELECT {0} FROM emulator_records WHERE edition IN ({1}) LIMIT ?) RETURNING 1"""

PART = """SELECT kind, number, data FROM emulator_records
 WHERE edition = ? AND (kind, number) > (?, ?) ORDER BY kind, number LIMIT ?"""

DAMAGE = (ValueError, RecursionError, KeyError)
"""The errors of reading damaged rows, beside the database's: also for text that is no UTF-8."""

T = TypeVar("T")


class Readable(Protocol):
    """A connection that reads a database: sqlite3's, and ours for PostgreSQL."""

    def execute(self, statement: str, values: Sequence[Any] = (), /) -> Iterable[Any]: ...


class Statement(NamedTuple):
    """A statement that is executed once for each row of values."""

    text: str
    rows: Sequence[Sequence[Any]]


Ask = Callable[[str, Sequence[Any]], Awaitable[list[Any]]]
"""Returns the rows that a statement finds with some values."""


def create() -> list[Statement]:
    made = Statement("INSERT INTO emulator_format (format) VALUES (?)", [(FORMAT,)])
    return [*(Statement(text, [()]) for text in CREATE), made]


class DatabaseStore(Store):
    dead: list[int]
    """Editions that count no more."""

    @abstractmethod
    def query(self, read: Callable[[Readable], T]) -> T:
        """Return what is read, at once. Raises :class:`CorruptStore`."""

    async def ask(self, statement: str, values: Sequence[Any]) -> list[Any]:
        """Return the rows found, without blocking the event loop. Raises :class:`Away`, too."""
        return self.query(lambda connection: list(connection.execute(statement, values)))

    def stored(self) -> list[Key]:
        return self.query(keys)

    def load(self, key: Key) -> Loaded:
        return self.query(partial(load_at_once, key=key))

    async def read(self, key: Key, pause: Pause) -> Loaded:
        return await load(key, self.ask, pause)


class DatabaseWriter(Writer):
    dead: list[int]
    """Editions that count no more."""

    @abstractmethod
    def execute(self, statements: list[Statement]) -> None:
        """Have the statements of one change of a world carried out, all of them or none."""

    def write(self, key: Key, edition: int, rows: Iterable[RowChange], head: WorldHeader) -> None:
        gone, put = [], []
        for kind, number, record in rows:
            if record is None:
                gone.append((edition, kind, number))
            else:
                put.append((edition, kind, number, _json(record)))
        changes = [Statement(REMOVE_RECORD, gone), Statement(PUT_RECORD, put)]
        self.execute([*changes, put_head(key, edition, head)])

    def store_part(self, key: Key, edition: Edition) -> bool:
        part = [*islice(edition.rows, ROWS)]
        if is_last := len(part) < ROWS:
            edition.rows = iter(part)
        else:
            self.execute([_put_records(edition.number, part)])
        return not is_last

    def put(self, key: Key, name: str, edition: Edition | None, head: WorldHeader | None) -> None:
        statements = [Statement(f"{REMOVE_SNAPSHOTS} AND name = ?", [(str(key), name)])]
        if edition is not None:
            text, place = (
                (PUT_WORLD, (str(key),)) if name == WORLD else (ADD_SNAPSHOT, (str(key), name))
            )
            statements.append(_put_records(edition.number, edition.rows))
            statements.append(Statement(text, [(*place, edition.number, _json(head))]))
        self.execute(statements)

    def remove(self, key: Key) -> None:
        self.execute([Statement(text, [(str(key),)]) for text in (REMOVE_SNAPSHOTS, REMOVE_WORLD)])

    def free(self, editions: Iterable[int]) -> None:
        self.dead.extend(editions)


def put_head(key: Key, edition: int, head: WorldHeader) -> Statement:
    return Statement(PUT_WORLD, [(str(key), edition, _json(head))])


def _put_records(edition: int, rows: Iterable[RowChange]) -> Statement:
    return Statement(
        PUT_RECORD, [(edition, kind, number, _json(record)) for kind, number, record in rows]
    )


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


EDITIONS = 100
"""Editions whose records are looked for at a time."""


def remove_some(connection: Readable, dead: list[int], row: str, most: int = EDITIONS) -> None:
    """Remove some records of the first editions; drop the editions without any from the list.

    ``row`` is that by which the database finds a row that it has found before. No more than
    ``most`` editions are looked at: others may have come to the list that count until a change is
    stored which comes later.
    """
    some = dead[:most]
    text = REMOVE_SOME.format(row, ", ".join("?" * len(some)))
    if len(list(connection.execute(text, (*some, ROWS)))) < ROWS:
        del dead[: len(some)]


# -- what is read; each raises :class:`InvalidState` for what is not as the emulator writes it


def check_format(connection: Readable) -> None:
    numbers = [number for (number,) in connection.execute("SELECT format FROM emulator_format")]
    if len(numbers) != 1:
        raise InvalidState("it does not say the version of its format")
    serialization.check_format(numbers[0], FORMAT)


def keys(connection: Readable) -> list[Key]:
    return [
        serialization.key(key)
        for (key,) in connection.execute("SELECT key FROM emulator_worlds ORDER BY key")
    ]


def dead(connection: Readable) -> list[int]:
    """Return ended processes' editions that are partly stored or not wholly removed."""
    return [edition for (edition,) in connection.execute(DEAD)]


async def load(key: Key, ask: Ask, pause: Pause) -> Loaded:
    """Return what is stored of a key, records as JSON, read in parts."""
    heads = await ask("SELECT '', edition, head FROM emulator_worlds WHERE key = ?", (str(key),))
    chosen = "SELECT name, edition, head FROM emulator_snapshots WHERE world = ? ORDER BY number"
    heads += await ask(chosen, (str(key),))
    worlds, editions = {}, {}
    for name, edition, head in heads:
        try:
            header = msgspec.json.decode(head, type=WorldHeader)
        except msgspec.MsgspecError as error:
            raise InvalidState(f"the world {key}: {serialization.reason(error)}") from None
        rows: dict[str, deque[tuple[int, msgspec.Raw]]] = {}
        kind, number, is_more = "", -1, True
        while is_more:
            part = await ask(PART, (edition, kind, number, ROWS))
            for kind, number, data in part:  # the next part goes on from there
                rows.setdefault(kind, deque()).append((number, msgspec.Raw(data)))
            is_more = len(part) == ROWS
            await pause()
        worlds[name] = StoredWorld(
            key, header, {kind: _once(numbered_rows) for kind, numbered_rows in rows.items()}
        )
        editions[name] = edition
    return Loaded(worlds.pop(WORLD, None), worlds, editions)


def _once(rows: deque[T]) -> Iterator[T]:
    """Yield rows once, and free them one by one: freeing all of them at once takes long."""
    while rows:
        yield rows.popleft()


def load_at_once(connection: Readable, key: Key) -> Loaded:
    """Do the same without a pause: nothing awaited waits, so the first step is the last."""

    async def ask(statement: str, values: Sequence[Any]) -> list[Any]:
        return list(connection.execute(statement, values))

    async def pause() -> None:
        pass

    try:
        load(key, ask, pause).send(None)
    except StopIteration as end:
        loaded: Loaded = end.value
        return loaded
    raise RuntimeError("nothing here waits")


def content(connection: Readable) -> Content:
    loaded = {key: load_at_once(connection, key) for key in keys(connection)}
    return Content(
        {key: loaded_world.world for key, loaded_world in loaded.items() if loaded_world.world},
        {
            (key, name): saved
            for key, loaded_world in loaded.items()
            for name, saved in loaded_world.snapshots.items()
        },
    )
