"""The output of commands: an object's line, a list's rows, a report, JSON; and the next command."""

from __future__ import annotations

import json
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

import click
from click.core import ParameterSource

from emulator.checks.runs import counted
from emulator.cli.options import (
    OUTPUT_FILE,
    Decorator,
    Integer,
    as_json,
    with_client,
    with_options,
    write_text,
)

if TYPE_CHECKING:
    from emulator.checks.report import Report
    from emulator.cli.control_client import ControlClient

StyledText = str | tuple[str, dict[str, Any]]
"""A text of a row, or one with the arguments of ``click.style``."""

# -- one object


def printed(
    line: Callable[[Any], str],
    *,
    then: Callable[[Any], str] | None = None,
    status: Callable[[Any], int] = lambda _: 0,
) -> Decorator:
    """Return the decorator that makes a function's returned object a command's printed output.

    ``then`` returns what one would run next, ``status`` the exit status.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        @wraps(function)
        def command(*, as_json: bool, **chosen: Any) -> int:
            item = function(**chosen)
            print_line(item, line, as_json)
            ended = status(item)
            if then:
                print_next(then(item), as_json)
            return ended

        return as_json(with_client(command))

    return decorate


def print_line(item: Any, line: Callable[[Any], str], as_json: bool) -> None:
    """Print one object and flush, since the reader of a stream waits for it."""
    click.echo(json.dumps(item) if as_json else fitted(line(printable(item))))
    sys.stdout.flush()


def print_next(command: str, as_json: bool = False) -> None:
    """Print, on a terminal, the command that one would run next, for the same emulator and App."""
    if as_json or not (sys.stdout.isatty() and sys.stderr.isatty()):
        return
    context = click.get_current_context()
    repeated = [
        f" --{name} {context.params[name]}"
        for name in ("url", "key", "app")
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE
    ]
    click.echo(
        click.style(fitted(f"next: payments-emulator {command}{''.join(repeated)}"), dim=True),
        err=True,
    )


# -- lists


class Amount(NamedTuple):
    """The amount in the name of an object, of which it is the last or the first part."""

    id: str
    is_last: bool

    def part_of(self, name: str) -> str:
        return name.split(" · ")[-1 if self.is_last else 0]


class Row(NamedTuple):
    """An object's line: time, text; ``about``: the id of the named object; ``id`` at the end.

    ``others`` counts further objects that the line is about; then no id is shown, unless wanted.
    """

    at: str
    cells: tuple[StyledText, ...]
    about: str | None
    id: str | None
    amount: Amount | None = None
    others: int = 0


class Listing(NamedTuple):
    """A list of the control API: path, rows, the text of an empty one, and the next command.

    ``stream`` is the kind of the stream's messages about its objects; ``matches`` says whether an
    object has the value of a filter. The latest object is printed last.
    """

    path: str
    noun: str
    row: Callable[[Any], Row]
    then: Callable[[Any], str]
    stream: str = ""
    matches: Callable[[Any, str, str], bool] = lambda item, name, wanted: item[name] == wanted
    is_newest_first: bool = True


class ListView(NamedTuple):
    """The options of a command that shows a list."""

    limit: int
    with_ids: bool
    as_json: bool


def follow(noun: str) -> Decorator:
    return click.option("--follow", "-f", is_flag=True, help=f"Stream new {noun} until Ctrl-C.")


def limit(which: str) -> Decorator:
    return click.option(
        "--limit",
        "-n",
        type=Integer(1),
        default=20,
        show_default=True,
        metavar="N",
        help=f"Show the N {which}.",
    )


def list_options(which: str) -> Decorator:
    """Return a decorator that adds list options (``view``) and emulator; ``which`` come first."""
    options = [
        limit(which),
        click.option("--ids", "with_ids", is_flag=True, help="Show whole ids, and no names."),
        as_json,
    ]

    def decorate(function: Callable[..., Any]) -> Any:
        @wraps(function)
        def command(*, limit: int, with_ids: bool, as_json: bool, **chosen: Any) -> Any:
            return function(view=ListView(limit, with_ids, as_json), **chosen)

        return with_options(options)(with_client(command))

    return decorate


def print_list(
    emulator: ControlClient,
    listing: Listing,
    filters: Mapping[str, Any],
    view: ListView,
    *,
    follow: bool = False,
    **form: Any,
) -> None:
    """Print a list's first objects, the latest last; to ``follow`` it, then those of the stream.

    ``form`` is what the control API is asked for beside the ``filters``.
    """

    def first() -> tuple[list[Any], int]:
        newest, total = emulator.first(listing.path, view.limit, **filters, **form)
        return (newest[::-1] if listing.is_newest_first else newest), total

    if follow:
        coming = tail(emulator, listing.stream, lambda: first()[0])
        wanted = (
            item
            for item in coming
            if all(v is None or listing.matches(item, n, v) for n, v in filters.items())
        )
        print_rows(emulator, wanted, listing.row, view)
        return
    items, total = first()
    print_rows(emulator, items, listing.row, view)
    if items:
        if len(items) < total and not view.as_json:
            click.echo(f"{len(items)} of {total}; --limit {total} shows all", err=True)
        print_next(listing.then(items[-1]), view.as_json)
    elif not view.as_json:
        some = any(value is not None for value in filters.values())
        click.echo(f"No such {listing.noun}." if some else f"No {listing.noun} yet.", err=True)


def print_rows(
    emulator: ControlClient, items: Iterable[Any], row: Callable[[Any], Row], view: ListView
) -> None:
    """Print objects in rows under their days, with the names of their subjects."""
    day, width = "", columns() if sys.stdout.isatty() else None
    # Of a stream, which a list is not, each object is printed at once.
    for batch in [items] if isinstance(items, list) else ([item] for item in items):
        if view.as_json:
            for item in batch:
                click.echo(json.dumps(item))
        else:
            rows = [row(printable(item)) for item in batch]
            amounts = [line.amount.id for line in rows if line.amount]
            names = (
                {}
                if view.with_ids
                else names_of(emulator, [*(line.about for line in rows), *amounts])
            )
            for line in rows:
                if line.at[:10] != day:
                    day = line.at[:10]
                    click.echo(click.style(day, dim=True))
                name = subject_of(line, names)
                click.echo(in_one_line(with_amount(line, names), name, width, view.with_ids))
        sys.stdout.flush()


def subject_of(line: Row, names: Mapping[str, str]) -> str:
    """Return the name of the object that a line is about, and the number of the others."""
    name = names.get(line.about or "", "")
    return f"{name or line.about} and {line.others} more" if line.others else name


def with_amount(line: Row, names: Mapping[str, str]) -> Row:
    if line.others:
        line = line._replace(id=None)
    if line.amount is None or line.amount.id not in names:
        return line
    text = line.amount.part_of(names[line.amount.id]).replace("\N{NO-BREAK SPACE}", " ")
    return line._replace(cells=(line.cells[0], text, *line.cells[1:]))


BATCH = 50
"""The most ids whose names are asked for at once."""


def names_of(emulator: ControlClient, ids: Iterable[str | None]) -> dict[str, str]:
    """Return the names of the objects with these ids, of those that have one."""
    known = [*dict.fromkeys(filter(None, ids))]
    names: dict[str, str] = {}
    for first in range(0, len(known), BATCH):
        names |= printable(emulator.get("/names", ids=",".join(known[first : first + BATCH])))
    return names


LEAST = {"id": 13, "name": 9, "cell": 7}
"""The columns that a part of a row keeps; the first 12 characters of an id find its object."""


def in_one_line(row: Row, name: str, width: int | None, whole_id: bool) -> str:
    """Return time of day, event and subject (name, id) in a line no wider than the terminal.

    The id is shortened first, unless it is wanted whole: commands take its start. Then the name,
    then the last cells.
    """
    cells = [cell if isinstance(cell, tuple) else (cell, {}) for cell in row.cells]
    parts = [("cell", clock_time(row.at), {}), *(("cell", *cell) for cell in cells)]
    parts += [("name", name.replace("\N{NO-BREAK SPACE}", " "), {})] if name else []
    parts += [("id", row.id, {"dim": True})] if row.id else []
    if width is None:
        return "  ".join(text for _, text, _ in parts).rstrip()
    room = [len(text) for _, text, _ in parts]
    for number, (kind, _, _) in reversed([*enumerate(parts)]):
        excess = max(0, sum(room) + 2 * len(room) - 2 - width)
        kept = room[number] if kind == "id" and whole_id else LEAST[kind]
        room[number] = min(room[number], max(room[number] - excess, kept))
    shortened = (
        text if len(text) <= most else f"{text[: most - 1]}…"
        for most, (_, text, _) in zip(room, parts, strict=True)
    )
    return "  ".join(
        click.style(text, **style) for text, (_, _, style) in zip(shortened, parts, strict=True)
    ).rstrip()


RESETS = {
    "reset": "the world was reset",
    "restore": "a snapshot was restored",
    "rewind": "the world was rewound",
    "lost": "this reader was too slow and missed messages",
}
"""The meaning of the stream's ``reset``, by its cause."""


def tail(emulator: ControlClient, kind: str, recent: Callable[[], list[Any]]) -> Iterator[Any]:
    """Yield the recent objects, oldest first, then the stream's, until an error or Ctrl-C."""
    known: set[str] = set()
    for message, item in emulator.stream(kind):
        if message == "open":
            # Fetched after the stream is open, so nothing is missed; what arrives by both ways is
            # shown once.
            before = recent()
            known = {item["id"] for item in before}
            yield from before
            if sys.stdout.isatty():
                click.echo(click.style("── live ──", dim=True), err=True)
        elif message == "reset":
            known = set()
            click.echo(
                f"-- {RESETS.get(item['cause'], item['cause'])}; it is now {when(item['now'])}",
                err=True,
            )
        elif message == kind and item["id"] not in known:
            yield item


# -- the report of an examination


class ReportOutput(NamedTuple):
    """Where a report goes: to files, and as text or JSON to the standard output."""

    html: Path | None
    junit: Path | None
    as_json: bool

    def show(self, report: Report) -> int:
        """Write and print a report; return the exit status, 1 where something is wrong."""
        from emulator.checks import report as forms

        if self.html is not None:
            # Imported here: only the page needs templates.
            from emulator.ui.reports.report_page import page_of_report

            write_text(self.html, page_of_report(report))
        if self.junit is not None:
            write_text(self.junit, forms.as_junit(report))
        click.echo(
            forms.as_json(report) if self.as_json else fitted("\n".join(report.lines(colour=True)))
        )
        return 0 if report.passed else 1


def with_report(function: Callable[..., Any]) -> Any:
    @wraps(function)
    def command(*, html: Path | None, junit: Path | None, as_json: bool, **chosen: Any) -> Any:
        return function(output=ReportOutput(html, junit, as_json), **chosen)

    return with_options(
        [
            click.option("--html", type=OUTPUT_FILE, help="Write the report as a page."),
            click.option("--junit", type=OUTPUT_FILE, help="Write the report as JUnit XML."),
            click.option("--json", "as_json", is_flag=True, help="Print the report as JSON."),
        ]
    )(command)


# -- text


CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Characters that control a terminal or change the direction of text."""


def printable(value: Any) -> Any:
    """Return the value without control characters: no customer's name may control the terminal."""
    if isinstance(value, str):
        return CONTROLS.sub("?", value)
    if isinstance(value, dict):
        return {printable(name): printable(part) for name, part in value.items()}
    return [printable(part) for part in value] if isinstance(value, list) else value


def fitted(text: str, stream: TextIO | None = None) -> str:
    """Return the text; on a narrow terminal, break long lines between words and indent the rest."""
    if not (stream or sys.stdout).isatty():
        return text
    return "\n".join(map(wrapped, text.split("\n")))


def wrapped(line: str) -> str:
    """Return a line wrapped to the terminal's width; its rest is indented further."""
    width = columns()
    if len(click.unstyle(line)) <= width or line.lstrip().startswith(
        "again: "
    ):  # a command is there to be copied
        return line
    own = line[: len(line) - len(line.lstrip())]
    indent = f"{own}  " if own else "    "
    return textwrap.fill(
        line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def columns() -> int:
    import shutil  # with it come three libraries of compression, which few commands need

    return shutil.get_terminal_size().columns


class TerminalLine:
    """A terminal line that is written over and gone at the end; nothing without a terminal."""

    def __init__(self) -> None:
        self.is_terminal = sys.stderr.isatty()
        self._is_shown = False

    def show(self, text: str) -> None:
        if self.is_terminal:
            click.echo(f"\r\033[K{text}", nl=False, err=True)
            self._is_shown = True

    def end(self) -> None:
        if self._is_shown:
            click.echo("\r\033[K", nl=False, err=True)


def clock_time(instant: str) -> str:
    return instant[11:16] if instant[17:19] == "00" else instant[11:19]


def when(instant: str) -> str:
    return f"{instant[:19]}Z"


def advance_lines(result: Any) -> str:
    delivered, failed = result["deliveries"]["succeeded"], result["deliveries"]["failed"]
    done = [
        counted(result["jobs"], "job"),
        counted(sum(result["events"].values()), "event"),
        counted(delivered, "webhook") + " delivered" + (f", {failed} failed" if failed else ""),
    ]
    stopped = "stopped at " if result.get("status") == "stopped" else ""
    head = f"→ {stopped}{when(result['now'])} · {' · '.join(done)}"
    return "\n".join([head, *(f"{number:6}  {type}" for type, number in result["events"].items())])
