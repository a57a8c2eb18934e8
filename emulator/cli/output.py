"""The output of commands: one line of text or one JSON object for each item."""

from __future__ import annotations

import json
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

if TYPE_CHECKING:
    from emulator.cli.client import ControlClient


LineFormat = Callable[[Any], str]

CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Characters that control a terminal or change the direction of text."""


def print_line(item: Any, line: LineFormat, as_json: bool) -> None:
    """Print one object and flush, since the reader of a stream waits for it."""
    click.echo(json.dumps(item) if as_json else fitted(line(printable(item))))
    sys.stdout.flush()


def fitted(text: str) -> str:
    """The text as it is; on a terminal that is too narrow, lines go on below, indented, and no word is broken."""
    if not sys.stdout.isatty():
        return text
    width = shutil.get_terminal_size().columns
    return "\n".join(
        line
        if len(line) <= width
        else textwrap.fill(line, width, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)
        for line in text.split("\n")
    )


def print_lines(
    items: Iterable[Any],
    line: LineFormat,
    as_json: bool,
    nothing: str,
    following: Callable[[Any], str] | None = None,
) -> None:
    """Print objects; without any, print ``nothing`` to the error output, except with ``--json``.

    ``following`` is the command that one would run next, from the last object.
    """
    item = None
    for item in items:
        print_line(item, line, as_json)
    if item is None and not as_json:
        click.echo(nothing, err=True)
    elif item is not None and following:
        print_next(following(item), as_json)


def print_next(command: str, as_json: bool = False) -> None:
    """On a terminal, print the command that one would run next, for the same emulator and App."""
    if as_json or not (sys.stdout.isatty() and sys.stderr.isatty()):
        return
    context = click.get_current_context()
    given = [
        f" --{name} {context.params[name]}"
        for name in ("url", "key", "app")
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE
    ]
    click.echo(click.style(fitted(f"next: payments-emulator {command}{''.join(given)}"), dim=True), err=True)


def printable(value: Any) -> Any:
    """The value without control characters in its texts: a customer's name must not control the terminal."""
    if isinstance(value, str):
        return CONTROLS.sub("?", value)
    if isinstance(value, dict):
        return {printable(name): printable(each) for name, each in value.items()}
    return [printable(each) for each in value] if isinstance(value, list) else value


def when(instant: str) -> str:
    """An instant to the second, in the form that options accept."""
    return f"{instant[:19]}Z"


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """``1 job``, ``2 jobs``, ``2 deliveries``."""
    regular = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{number} {noun if number == 1 else plural or regular}"


RESETS = {
    "reset": "the world was reset",
    "restore": "a snapshot was restored",
    "rewind": "the world was rewound",
    "lost": "this reader was too slow and missed messages",
}
"""The meaning of the stream's ``reset``, by its cause."""


def tail(emulator: ControlClient, kind: str, recent: Callable[[], list[Any]]) -> Iterator[Any]:
    """The recent objects, oldest first, then each that the stream reports. It ends only with an error or Ctrl-C."""
    shown: set[str] = set()
    for message, item in emulator.stream(kind):
        if message == "open":
            # Fetched after the stream is open, so nothing is missed; what arrives by both ways is shown once.
            before = recent()
            shown = {each["id"] for each in before}
            yield from before
        elif message == "reset":
            shown = set()
            click.echo(f"-- {RESETS.get(item['cause'], item['cause'])}; it is now {when(item['now'])}", err=True)
        elif message == kind and item["id"] not in shown:
            yield item
