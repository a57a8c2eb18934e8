"""The command: measures what is asked for and prints one table."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import click

from contract_tests.quality.benchmarks import load, measures, scale
from contract_tests.quality.benchmarks.measures import QUICK, Row, Size
from contract_tests.quality.benchmarks.several_servers import several_servers

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
    "servers": several_servers,
}

LARGE: dict[str, Measure] = {
    "many-worlds": scale.many_worlds,
    "one-day": scale.one_day,
    "waiting": scale.waiting,
    "files": scale.files,
    "examinations": scale.examinations,
    "many-requests": scale.many_requests,
}
"""Measures at a large size, which take half an hour together: only where they are named."""

INSTALLED = ("start", "commands", "memory", "room")
"""Measures in an environment of their own with the package alone; they need pip's registry."""


@click.command()
@click.option(
    "--quick", is_flag=True, help="Fewer and shorter rounds: a minute instead of several."
)
@click.option(
    "--only",
    multiple=True,
    type=click.Choice([*MEASURES, *LARGE, "large"]),
    help="One measure; may be repeated.",
)
@click.option(
    "--runs",
    default=1,
    type=click.IntRange(1, 10),
    help="Runs; the table gives their medians and spread.",
)
@click.option(
    "--write",
    type=click.Path(exists=True, path_type=Path),
    help="The page whose rows are written anew.",
)
def main(quick: bool, only: Sequence[str], write: Path | None, runs: int) -> None:
    """Measure the emulator beside a bare Starlette app."""
    size = QUICK if quick else Size()
    click.echo(f"Python {platform.python_version()}, {os.cpu_count()} cores, {size}")
    wanted = only or MEASURES
    names = [name for one in wanted for name in (LARGE if one == "large" else [one])]
    with ExitStack() as environment:
        if any(name in INSTALLED for name in names):
            size = size._replace(python=environment.enter_context(measures.installed()))
        measured = measures.of_runs([list(show(rows(names, size))) for _ in range(runs)])
    if write:
        write.write_text(page(measured, write.read_text("utf-8")), "utf-8")


def rows(names: Iterable[str], size: Size) -> Iterator[Row]:
    with load.generator() as pool:
        for name in names:
            yield from (MEASURES | LARGE)[name](size, pool)


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


def page(measured: Sequence[Row], earlier: str) -> str:
    """Return the page with these rows in place of their namesakes; their limits stay as written."""
    for row in measured:
        line = re.compile(rf"^\| {re.escape(row.measure)} \|.*\|(.*)\|$", re.MULTILINE)
        earlier = line.sub(
            lambda match, row=row: f"| {' | '.join(_cells(row))} |{match[1]}|", earlier
        )  # type: ignore[misc]
    return earlier


def _cells(row: Row) -> tuple[str, ...]:
    spread = "" if row.spread is None else f" ({_figure(row.spread[0])}–{_figure(row.spread[1])})"
    judged = [_figure(row.emulator), _figure(row.ratio)]
    judged[row.ratio is not None] += spread
    return (row.measure, row.unit, _figure(row.bare), *judged, row.aim)


if __name__ == "__main__":
    main()
