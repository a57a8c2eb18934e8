"""The fault-independent part of an application's SQLite tables, compared by ``--check-sqlite``.

Left out are the columns of an integer primary key, of references to one, and of times, and the
tables that have an event once: they grow with each event that arrives. Ids of the service count as
equal.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Collection, Mapping
from contextlib import closing
from pathlib import Path

from emulator.checks.app.cases import ID
from emulator.checks.app.state import ID_PLACEHOLDER, Row

Tables = Mapping[str, Mapping[str, list[object]]]
"""The values by table and column, in the order of the rows, without columns left out."""

EVENT = re.compile(r"\bevt_[A-Za-z0-9]{8,}")

TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d")

EPOCH = 1_000_000_000
"""Numbers from here on are times, in seconds or smaller units, where all of a column are."""


def read(folder: Path, file: str) -> Tables:
    """Return a file's tables. Raises ``AssertionError``: not in the folder, or no database."""
    path = (folder / file).resolve()
    if not path.is_file() or folder.resolve() not in path.parents:
        advice = "keep it there, so that each run begins with a new one"
        raise AssertionError(f"{file} is not in the folder of PAYMENTS_EMULATOR_FOLDER: {advice}")
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as data:
            names = data.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
            )
            return {str(name): _columns(data, str(name)) for (name,) in names.fetchall()}
    except sqlite3.Error as error:
        raise AssertionError(f"{file}: {error}") from None


def _columns(data: sqlite3.Connection, table: str) -> dict[str, list[object]]:
    # a name of the database itself
    rows = data.execute("SELECT * FROM " + _quoted(table))  # noqa: S608
    columns: dict[str, list[object]] = {column[0]: [] for column in rows.description}
    for row in rows:
        for column, value in zip(columns.values(), row, strict=True):
            column.append(value)
    # By name: whether it is an integer key, and whether each of its values is there once.
    facts = data.execute(f"PRAGMA table_info({_quoted(table)})").fetchall()
    keys = {name for _, name, type, _, _, is_key in facts if is_key and type.upper() == "INTEGER"}
    keys |= {row[3] for row in data.execute(f"PRAGMA foreign_key_list({_quoted(table)})")}
    unique = [row[1] for row in data.execute(f"PRAGMA index_list({_quoted(table)})") if row[2]]
    once = {
        row[2] for index in unique for row in data.execute(f"PRAGMA index_info({_quoted(index)})")
    }
    if any(
        isinstance(value, str) and EVENT.search(value)
        for name in once & columns.keys()
        for value in columns[name]
    ):
        return {}
    return {
        name: [
            ID.sub(ID_PLACEHOLDER, value) if isinstance(value, str) else value for value in column
        ]
        for name, column in columns.items()
        if not (name in keys and all(isinstance(value, int) for value in column))
        and not _are_times(column)
    }


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _are_times(column: Collection[object]) -> bool:
    values = [value for value in column if value is not None]
    return bool(values) and all(
        bool(TIME.match(value))
        if isinstance(value, str)
        else isinstance(value, int | float) and value >= EPOCH
        for value in values
    )


def unsteady(one: Tables, other: Tables) -> set[tuple[str, str]]:
    """Return (table, column) pairs that differ between two faultless runs; "": the whole table."""
    return {(table, "") for table, columns in one.items() if not columns} | {
        (table, name)
        for table, columns in one.items()
        for name, values in columns.items()
        if sorted(map(repr, values)) != sorted(map(repr, other.get(table, {}).get(name, [])))
    }


def rows(tables: Tables, left_out: Collection[tuple[str, str]]) -> tuple[Row, ...]:
    """Return the rows, sorted, with the columns that are not left out."""
    kept_rows = []
    for table, columns in tables.items():
        kept = {name: values for name, values in columns.items() if (table, name) not in left_out}
        kept_rows += [
            Row(table, tuple(zip(kept, values, strict=True)))
            for values in zip(*kept.values(), strict=True)
        ]
    return tuple(sorted(kept_rows, key=str))
