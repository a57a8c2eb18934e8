"""What corpus.yaml says: the businesses and their planted bugs, and what became of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml

FOLDER = Path(__file__).parent

NOT_FOUND, NOT_NAMED = "not found", "not named"


class Business(NamedTuple):
    """A small application with its story. ``{built}`` in a command is the folder of its build.

    ``reuse``: a process of it plays many cases.
    """

    name: str
    language: str
    needs: str
    story: Sequence[str]
    serve: Sequence[str]
    check: Sequence[str] = ()
    check_sqlite: str = ""
    build: Sequence[str] = ()
    reuse: bool = False

    @property
    def folder(self) -> Path:
        return FOLDER / self.name


class Row(NamedTuple):
    """A planted bug, and the examination that should find it, in words that name it.

    ``known`` is what is missing today, for ``reason``; ``only`` is the case of ``test app``.
    """

    business: Business
    bug: str
    examination: str = "app"
    only: str = ""
    words: Sequence[str] = ()
    known: str = ""
    reason: str = ""

    @property
    def name(self) -> str:
        """The name of the row for ``--only``: ``ferry:no_dedupe``."""
        return f"{self.business.name}:{self.bug}"


class Result(NamedTuple):
    """How an examination of a bug ended. ``failure`` says why there was none."""

    row: Row
    is_found: bool
    is_named: bool
    seconds: float
    lines: Sequence[str] = ()
    failure: str = ""

    @property
    def level(self) -> int:
        return self.is_found + (self.is_found and self.is_named)

    @property
    def is_regression(self) -> bool:
        """Whether less was found than corpus.yaml says."""
        return bool(self.failure) or self.level < expected_level(self.row)

    @property
    def is_news(self) -> bool:
        """Whether more was found than corpus.yaml says."""
        return not self.failure and self.level > expected_level(self.row)


class Sound(NamedTuple):
    """How an examination of a business without bugs ended, which may find nothing."""

    business: Business
    examination: str
    cases: int
    alarms: Sequence[str]
    seconds: float
    failure: str = ""


def expected_level(row: Row) -> int:
    return {NOT_FOUND: 0, NOT_NAMED: 1, "": 2}[row.known]


def corpus() -> tuple[str, list[Row]]:
    """Return the instant at which the stories begin, and all rows, by business."""
    data: Mapping[str, Any] = yaml.safe_load((FOLDER / "corpus.yaml").read_text("utf-8"))
    rows = []
    for name, fields in data["businesses"].items():
        # Tuples, for a business is hashed.
        own = {
            key: tuple(value) if isinstance(value, list) else value for key, value in fields.items()
        }
        bugs = own.pop("bugs")
        business = Business(name, **own)
        for bug in bugs:
            reason = data["reasons"].get(bug.get("reason"), bug.get("reason", ""))
            rows.append(Row(business, **{**bug, "bug": str(bug["bug"]), "reason": reason}))
    return data["clock"], rows
