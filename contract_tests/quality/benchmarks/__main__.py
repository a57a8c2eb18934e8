"""The command: measures what is asked for and prints one table."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import click

from contract_tests.quality.benchmarks import load, measures
from contract_tests.quality.benchmarks.measures import QUICK, Row, Size

Measure = Callable[[Size, ProcessPoolExecutor], Iterator[Row]]

MEASURES: dict[str, Measure] = {
    "start": measures.start,
    "commands": measures.commands,
    "room": measures.room,
    "memory": measures.memory,
    "requests": measures.requests,
    "clock": measures.clock,
    "worlds": measures.worlds,
    "states": measures.stored,
    "servers": measures.several_servers,
}

INSTALLED = ("start", "commands", "memory", "room")
"""Measures in an environment of their own, with the package and nothing else; pip's registry is needed for it."""


@click.command()
@click.option("--quick", is_flag=True, help="Fewer and shorter rounds: a minute instead of several.")
@click.option("--only", multiple=True, type=click.Choice(list(MEASURES)), help="One measure; may be repeated.")
@click.option("--runs", default=1, type=click.IntRange(1, 10), help="Runs; the table gives their medians and spread.")
@click.option("--write", type=click.Path(dir_okay=False, path_type=Path), help="Write the tables here, as Markdown.")
def main(quick: bool, only: Sequence[str], write: Path | None, runs: int) -> None:
    """Measure the emulator beside a bare Starlette app."""
    size = QUICK if quick else Size()
    click.echo(f"Python {platform.python_version()}, {os.cpu_count()} cores, {size}")
    names = only or list(MEASURES)
    started = time.monotonic()
    with ExitStack() as environment:
        if any(name in INSTALLED for name in names):
            size = size._replace(python=environment.enter_context(measures.installed()))
        measured = measures.of_runs([list(show(rows(names, size))) for _ in range(runs)])
    if write:
        minutes = (time.monotonic() - started) / 60
        earlier = write.read_text("utf-8") if write.exists() else ""
        head = HEAD.format(runs=runs, minutes=minutes, python=platform.python_version(), cores=os.cpu_count())
        write.write_text(page(measured, earlier, "" if only and earlier else head), "utf-8")


def rows(names: Iterable[str], size: Size) -> Iterator[Row]:
    """Yield the rows of these measures, as they come."""
    with load.generator() as pool:
        for name in names:
            yield from MEASURES[name](size, pool)


def show(rows: Iterable[Row]) -> Iterator[Row]:
    """Print the table, a row as soon as it is known, and hand the rows on."""
    click.echo(f"{'':44}{'unit':>5}{'bare':>12}{'emulator':>12}{'ratio':>8}  aim")
    for row in rows:
        figures = f"{_figure(row.bare):>12}{_figure(row.emulator):>12}{_figure(row.ratio):>8}"
        click.echo(f"{row.measure:44}{row.unit:>5}{figures}  {row.aim}".rstrip())
        yield row


def _figure(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}"


LIMITS = {
    "start to first": "imports, two thirds of them [Connexion's](connexion-start.md)",
    "room": "fonts and Connexion's libraries",
    "GET one: rate": "many short calls: operation, world, id, journal, coverage",
    "servers beside one: list": "two cores for nginx, database, load and servers",
    "create, postgresql": "one round trip to the database, and the driver",
    "create: rate": "three records with their indexes, undo, the search for secrets",
    "renewals": "9 new records, 7 replaced",
    "each renewal": "records that lists and pages show, and their indexes; the journal has the last 5,000 units",
    "longest wait": "time slices of 4 ms, and memory",
}
"""By what is in the name of a measure, what limits it; the first that fits."""

HEAD = """# Benchmarks

What `python -m contract_tests.quality.benchmarks --runs {runs} --write docs/contributing/benchmarks.md` measured in
{minutes:.0f} minutes: Python {python}, {cores} cores. Servers run side by side and are loaded alternately, over 16
connections, with 1,000 customers unless a row says otherwise. Figures are medians, with the least and the greatest of
the runs in brackets. They depend on the machine; compare the ratios. Rates are answers per second of the server's
processor time. The emulator runs with `--quiet`, unless a row says that it prints a line for each request.
"""

TITLE_BESIDE_BARE = "## Beside a bare Starlette application"

BESIDE_BARE = """
This application compares the key, validates the body and stores the same objects in a dict, without clock, webhooks,
journal, coverage, console, guards or idempotency; the emulator has all of them on. For stores and numbers of servers, the
column *bare* shows the emulator in memory or as one server.
"""


def page(measured: Sequence[Row], earlier: str, head: str) -> str:
    """Return the page. Without a new head it is the earlier one with these rows; the sections below the table stay."""
    old, _, own = earlier.partition(TITLE_BESIDE_BARE)
    own, _, after = own.partition("\n## ")
    if head:
        own = ""
    rows = [line for line in own.splitlines() if line.startswith("| ")][1:]
    lines = {line.split(" | ")[0].removeprefix("| "): line for line in rows}
    lines |= {row.measure: f"| {' | '.join(_cells(row))} |" for row in measured}
    title = ["| measure | unit | bare | emulator | ratio | aim | limit |", "|---|---|--:|--:|--:|---|---|"]
    parts = [(head or old).rstrip(), f"\n{TITLE_BESIDE_BARE}\n{BESIDE_BARE}", *title, *lines.values()]
    return "\n".join(parts) + "\n" + (f"\n## {after}" if after else "")


def _cells(row: Row) -> tuple[str, ...]:
    spread = "" if row.spread is None else f" ({_figure(row.spread[0])}–{_figure(row.spread[1])})"
    judged = [_figure(row.emulator), _figure(row.ratio)]
    judged[row.ratio is not None] += spread
    limit = next((phrase for part, phrase in LIMITS.items() if part in row.measure), "")
    return (row.measure, row.unit, _figure(row.bare), *judged, row.aim, limit)


if __name__ == "__main__":
    main()
