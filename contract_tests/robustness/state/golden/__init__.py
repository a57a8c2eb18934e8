"""What users of each release have: one folder for a release, whose files must work with later releases.

A folder holds the same small world, with every kind of record in it, in each form that state can have: ``worlds.json``
(TinyDB), ``worlds.db`` (SQLite), ``worlds.sql`` (PostgreSQL, as plain SQL) and ``snapshot.json`` (exported); and
``answers.json``, what that release answered for the objects of the world. ``testing.md`` is the page on the pytest
plugin, whose samples are suites as users wrote them then.

``history`` has two databases, as SQL, of a server with ``--history 1``, an option that was removed before a release:
most records were in the database alone, which had indexes to find them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent

RELEASES = sorted(path.parent.name for path in FOLDER.glob("*/answers.json"))

KEY = "sk_test_golden"

PUBLIC_URL = "http://127.0.0.1:4747"
"""Where the servers that wrote the files said that they are; addresses in objects begin so."""


def answers(release: str) -> dict[str, Any]:
    """By path, what the release answered."""
    found: dict[str, Any] = json.loads((FOLDER / release / "answers.json").read_text("utf-8"))
    return found


def tables(release: str) -> dict[str, Any]:
    """Return the tables of the TinyDB file of a release."""
    found: dict[str, Any] = json.loads((FOLDER / release / "worlds.json").read_text("utf-8"))
    return found


def differences(expected: Any, actual: Any, path: str = "") -> Iterator[str]:
    """Yield where an answer is not what the release answered.

    Fields that are new since are no difference, and neither are the words of an email: they are written when it is read.
    """
    if isinstance(expected, dict) and isinstance(actual, dict):
        for name in expected.keys() - ({"subject"} if expected.get("object") == "email" else set()):
            value = expected[name]
            yield from differences(value, actual.get(name, "nothing"), f"{path}.{name}")
    elif isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        for position, (former, present) in enumerate(zip(expected, actual, strict=True)):
            yield from differences(former, present, f"{path}[{position}]")
    elif expected != actual:
        yield f"{path}: {expected!r} then, {actual!r} now"
