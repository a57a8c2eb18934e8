"""The output of commands: one line of text or one JSON object for each item."""

from __future__ import annotations

import json
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

import click
from click.core import ParameterSource

if TYPE_CHECKING:
    from emulator.cli.client import ControlClient


CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Characters that control a terminal or change the direction of text."""


def print_line(item: Any, line: Callable[[Any], str], as_json: bool) -> None:
    """Print one object and flush, since the reader of a stream waits for it."""
    click.echo(json.dumps(item) if as_json else fitted(line(printable(item))))
    sys.stdout.flush()


def fitted(text: str, stream: TextIO | None = None) -> str:
    """Return the text as it is; on a terminal that is too narrow, lines go on below, indented, and no word is broken."""
    if not (stream or sys.stdout).isatty():
        return text
    return "\n".join(map(wrapped, text.split("\n")))


def wrapped(line: str) -> str:
    """Return a line for the width of the terminal; what goes on below is indented as the line is, or by four spaces."""
    width = columns()
    if len(click.unstyle(line)) <= width or line.lstrip().startswith("again: "):  # a command is there to be copied
        return line
    indent = line[: len(line) - len(line.lstrip())] or "    "
    return textwrap.fill(line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


StyledText = str | tuple[str, dict[str, Any]]
"""A text of a row, or one with the arguments of ``click.style``."""


class Row(NamedTuple):
    """An object on one line: when and what; ``about`` is the id of the object whose name is shown, ``id`` ends the line."""

    at: str
    cells: tuple[StyledText, ...]
    about: str | None
    id: str | None


def print_rows(
    emulator: ControlClient,
    items: Iterable[Any],
    row: Callable[[Any], Row],
    as_json: bool,
    *,
    nothing: str = "",
    following: Callable[[Any], str] | None = None,
) -> None:
    """Print objects in rows, with the names of what they are about, under the days on which they happened.

    Without any, print ``nothing`` to the error output, except with ``--json``. ``following`` is the command that one
    would run next, from the last object.
    """
    item, day = None, ""
    for batch in batches(items):
        rows = [row(printable(item)) for item in batch] if not as_json else []
        ids = list(dict.fromkeys(each.about for each in rows if each.about))
        names = printable(emulator.get("/names", ids=",".join(ids))) if ids else {}
        for item, each in zip_longest(batch, rows):
            if as_json:
                click.echo(json.dumps(item))
            else:
                if each.at[:10] != day:
                    day = each.at[:10]
                    click.echo(click.style(day, dim=True))
                click.echo(in_one_line(each, names))
        sys.stdout.flush()
    if item is None and nothing and not as_json:
        click.echo(nothing, err=True)
    elif item is not None and following:
        print_next(following(item), as_json)


Followed = tuple[str, Callable[[Any], bool]]
"""The kind of a stream's messages, and which of them are wanted."""


def print_newest(
    emulator: ControlClient,
    path: str,
    row: Callable[[Any], Row],
    limit: int,
    as_json: bool,
    *,
    nothing: str,
    following: Callable[[Any], str],
    filters: Mapping[str, Any],
    stream: Followed | None = None,
) -> None:
    """Print the newest objects of a list, the newest last, as :func:`print_rows` does; then those of the stream."""

    def recent() -> list[Any]:
        return [*emulator.pages(path, limit, **filters)][::-1]

    if stream is None:
        print_rows(emulator, recent(), row, as_json, nothing=nothing, following=following)
    else:
        kind, wanted = stream
        print_rows(emulator, filter(wanted, tail(emulator, kind, recent)), row, as_json)


BATCH = 50
"""The most rows whose names are asked for at once."""


def batches(items: Iterable[Any]) -> Iterator[list[Any]]:
    """Yield a list in batches; of a stream, which a list is not, each object at once."""
    if isinstance(items, list):
        yield from (items[first : first + BATCH] for first in range(0, len(items), BATCH))
    else:
        yield from ([item] for item in items)


def in_one_line(row: Row, names: dict[str, str]) -> str:
    """Return the time of day, what happened and to whom: the name, then the id. On a terminal it is cut to the width."""
    name = names.get(row.about or "", "").replace("\N{NO-BREAK SPACE}", " ")
    last: list[StyledText] = [(row.id, {"dim": True})] if row.id else []
    return cut([clock_time(row.at), *row.cells, *filter(None, [name]), *last], terminal_width())


def columns() -> int:
    """Return the columns of the terminal."""
    import shutil  # with it come three libraries of compression, which few commands need

    return shutil.get_terminal_size().columns


def terminal_width() -> int | None:
    """Return the columns of the terminal; None where the output is none."""
    return columns() if sys.stdout.isatty() else None


def cut(cells: Iterable[StyledText], width: int | None) -> str:
    """Return the cells on one line: as much of them as fits a terminal's width, in their styles; without one all texts."""
    if width is None:
        return "  ".join(cell if isinstance(cell, str) else cell[0] for cell in cells).rstrip()
    room, parts = width, []
    for cell in cells:
        text, style = cell if isinstance(cell, tuple) else (cell, {})
        shown = text if len(text) <= room else f"{text[: room - 1]}…"
        parts.append(click.style(shown, **style) if style else shown)
        room -= len(text) + 2
        if room < 2:
            break
    return "  ".join(parts).rstrip()


def clock_time(instant: str) -> str:
    """Return the time of day of an instant, with its seconds where they are not 0: ``09:00``."""
    return instant[11:16] if instant[17:19] == "00" else instant[11:19]


def print_next(command: str, as_json: bool = False) -> None:
    """Print, on a terminal, the command that one would run next, for the same emulator and App."""
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
    """Return the value without control characters in its texts: a customer's name must not control the terminal."""
    if isinstance(value, str):
        return CONTROLS.sub("?", value)
    if isinstance(value, dict):
        return {printable(name): printable(each) for name, each in value.items()}
    return [printable(each) for each in value] if isinstance(value, list) else value


def when(instant: str) -> str:
    """Return an instant to the second, in the form that options accept."""
    return f"{instant[:19]}Z"


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Return ``1 job``, ``2 jobs``, ``2 deliveries``."""
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
    """Yield the recent objects, oldest first, then each that the stream reports. It ends only with an error or Ctrl-C."""
    shown: set[str] = set()
    for message, item in emulator.stream(kind):
        if message == "open":
            # Fetched after the stream is open, so nothing is missed; what arrives by both ways is shown once.
            before = recent()
            shown = {each["id"] for each in before}
            yield from before
            if sys.stdout.isatty():
                click.echo(click.style("── live ──", dim=True), err=True)
        elif message == "reset":
            shown = set()
            click.echo(f"-- {RESETS.get(item['cause'], item['cause'])}; it is now {when(item['now'])}", err=True)
        elif message == kind and item["id"] not in shown:
            yield item


def advance_lines(result: Any) -> str:
    """Return the summary of an advance: one line, and one for each type of event."""
    delivered, failed = result["deliveries"]["succeeded"], result["deliveries"]["failed"]
    done = [
        counted(result["jobs"], "job"),
        counted(sum(result["events"].values()), "event"),
        counted(delivered, "webhook") + " delivered" + (f", {failed} failed" if failed else ""),
    ]
    stopped = "stopped at " if result.get("status") == "stopped" else ""
    head = f"→ {stopped}{when(result['now'])} · {' · '.join(done)}"
    return "\n".join([head, *(f"{number:6}  {type}" for type, number in result["events"].items())])
