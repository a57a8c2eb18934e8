"""The tables of a SQL database that holds worlds, and what their rows mean."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import sqlalchemy as sa

from emulator.engine.storage import serialization
from emulator.engine.storage.serialization import InvalidState, RowChange, StoredWorld, WorldHeader
from emulator.resources.app.clients import Key

METADATA = sa.MetaData()

FORMAT = sa.Table("emulator_format", METADATA, sa.Column("format", sa.Integer, nullable=False))

WORLDS = sa.Table(
    "emulator_worlds",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("key", sa.String(80), unique=True, nullable=False),
    sa.Column("head", sa.Text, nullable=False),
)
"""One row for each world: clock, counters and seed, in JSON."""

RECORDS = sa.Table(
    "emulator_records",
    METADATA,
    sa.Column("world", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("kind", sa.String(40), primary_key=True),
    sa.Column("id", sa.String(255), primary_key=True),
    sa.Column("number", sa.BigInteger, nullable=False),
    sa.Column("data", sa.Text, nullable=False),
)
"""Every record, in JSON. It is text because a JSON column may change the order of the keys of metadata."""

SNAPSHOTS = sa.Table(
    "emulator_snapshots",
    METADATA,
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("world", sa.Integer, nullable=False),
    sa.Column("name", sa.String(64), nullable=False),
    sa.Column("data", sa.Text, nullable=False),
    sa.UniqueConstraint("world", "name"),
)
"""Named snapshots, each as it would be exported."""

NEW = ""
"""The head of a world that was opened and has nothing stored yet."""

# -- the format


def prepare(connection: sa.Connection, alone: sa.Executable | None = None) -> None:
    """Create the tables if there are none, and migrate those of an older format. Raises :class:`InvalidState`.

    Indexes that earlier versions created are dropped.
    """
    with connection.begin():
        if alone is not None:
            connection.execute(alone)
        if not sa.inspect(connection).has_table(FORMAT.name):
            METADATA.create_all(connection)
            connection.execute(sa.insert(FORMAT).values(format=serialization.FORMAT))
        else:
            format_of(connection)


def format_of(connection: sa.Connection) -> int:
    """Return the format of the tables. Raises :class:`InvalidState` if it is unknown."""
    numbers = connection.execute(sa.select(FORMAT.c.format)).scalars().all()
    if len(numbers) != 1:
        raise InvalidState("it does not say the version of its format")
    serialization.check_format(numbers[0])
    return int(numbers[0])


def as_tables(connection: sa.Connection) -> serialization.StoredTables:
    """Return the whole database as a file of its format."""
    tables: serialization.StoredTables = {
        "emulator": {"1": {"format": format_of(connection)}},
        "worlds": {},
        "snapshots": {},
    }
    keys = {}
    for row in connection.execute(sa.select(WORLDS).order_by(WORLDS.c.id)):
        keys[row.id] = row.key
        if row.head != NEW:
            tables["worlds"][str(row.id)] = {"key": row.key, **_plain(row.head)}
    for row in connection.execute(sa.select(RECORDS).order_by(RECORDS.c.number)):
        tables.setdefault(f"{keys[row.world]}/{row.kind}", {})[str(row.number)] = _plain(row.data)
    for row in connection.execute(sa.select(SNAPSHOTS).order_by(SNAPSHOTS.c.number)):
        document = {"key": keys[row.world], "name": row.name, "tables": _plain(row.data)}
        tables["snapshots"][str(row.number)] = document
    return tables


def put_all(connection: sa.Connection, found: serialization.Content) -> None:
    """Insert worlds and snapshots into tables that do not have them yet."""
    numbers = {key: put_in(connection, saved) for key, saved in found.worlds.items()}
    for (key, name), saved in found.snapshots.items():
        connection.execute(snapshot_row(numbers[key], name, saved))


# -- rows


def saved_in(connection: sa.Connection, key: Key) -> tuple[int, StoredWorld | None]:
    """Return the number of a world, and the world with its records as JSON; None for one that has nothing stored yet."""
    row = connection.execute(sa.select(WORLDS).where(WORLDS.c.key == str(key))).first()
    if row is None:
        made = connection.execute(sa.insert(WORLDS).values(key=str(key), head=NEW))
        return _number_of(made), None
    if row.head == NEW:
        return row.id, None
    chosen = sa.select(RECORDS.c.kind, RECORDS.c.number, RECORDS.c.data).where(RECORDS.c.world == row.id)
    rows: dict[str, list[tuple[int, msgspec.Raw]]] = {}
    for kind, number, data in connection.execute(chosen.order_by(RECORDS.c.number)):
        rows.setdefault(kind, []).append((number, msgspec.Raw(data)))
    try:
        return row.id, StoredWorld(key, msgspec.json.decode(row.head, type=WorldHeader), rows)
    except msgspec.MsgspecError as error:
        raise InvalidState(f"the world {key}: {serialization.reason(error)}") from None


def put_in(connection: sa.Connection, saved: StoredWorld) -> int:
    """Insert a world, or replace the one of its key, and return its number."""
    number = connection.execute(sa.select(WORLDS.c.id).where(WORLDS.c.key == str(saved.key))).scalar()
    if number is None:
        made = connection.execute(sa.insert(WORLDS).values(key=str(saved.key), head=in_json(saved.head)))
        number = _number_of(made)
    else:
        connection.execute(sa.update(WORLDS).where(WORLDS.c.id == number).values(head=in_json(saved.head)))
        connection.execute(sa.delete(RECORDS).where(RECORDS.c.world == number))
    rows = [
        row_of(number, RowChange(kind, serialization.id_of(row), count, serialization.row_of(row)))
        for kind, rows in saved.rows.items()
        for count, row in rows
    ]
    if rows:
        connection.execute(sa.insert(RECORDS), rows)
    return int(number)


def _number_of(made: sa.CursorResult[Any]) -> int:
    return int(made.inserted_primary_key[0])  # type: ignore[index]  # an insert of one row has one


def snapshots_in(connection: sa.Connection, number: int | None) -> dict[str, StoredWorld]:
    """Return the snapshots of a world, oldest first."""
    chosen = sa.select(SNAPSHOTS).where(SNAPSHOTS.c.world == number).order_by(SNAPSHOTS.c.number)
    return {row.name: serialization.only_world(_plain(row.data)) for row in connection.execute(chosen)}


def snapshot_row(number: int, name: str, saved: StoredWorld) -> sa.Insert:
    """Return the row of a snapshot."""
    return sa.insert(SNAPSHOTS).values(world=number, name=name, data=in_json(serialization.tables([saved])))


def row_of(world: int, filed: RowChange) -> Mapping[str, Any]:
    return {"world": world, "kind": filed.kind, "id": filed.id, "number": filed.number, "data": in_json(filed.record)}


def in_json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _plain(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise InvalidState(f"it holds what is not JSON: {error}") from None
