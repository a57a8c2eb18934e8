"""Showing is how commands print what they got: a line to read, or JSON, a line each."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable
from typing import Any

import click

Line = Callable[[Any], str]

CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""What steers a terminal: control characters, and those that turn the direction of writing."""


def print_line(item: Any, line: Line, as_json: bool) -> None:
    """One object, at once: whoever reads the output may wait for it."""
    click.echo(json.dumps(item) if as_json else line(printable(item)))
    sys.stdout.flush()


def print_lines(items: Iterable[Any], line: Line, as_json: bool, nothing: str) -> None:
    """Objects in their order; to people, on the other output, that there are none."""
    none = True
    for item in items:
        none = False
        print_line(item, line, as_json)
    if none and not as_json:
        click.echo(nothing, err=True)


def printable(value: Any) -> Any:
    """The same without control characters in its texts: a customer's name must not steer the terminal."""
    if isinstance(value, str):
        return CONTROLS.sub("?", value)
    if isinstance(value, dict):
        return {printable(name): printable(each) for name, each in value.items()}
    return [printable(each) for each in value] if isinstance(value, list) else value


def when(instant: str) -> str:
    """An instant to the second, as other commands take it."""
    return f"{instant[:19]}Z"


def counted(number: int, noun: str) -> str:
    """``1 job``, ``2 jobs``, ``2 deliveries``."""
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{number} {noun if number == 1 else plural}"
