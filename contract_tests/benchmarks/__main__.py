"""The command: measures what is asked for and prints one table."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import click

from contract_tests.benchmarks import load
from contract_tests.benchmarks.clock import clock
from contract_tests.benchmarks.measures import QUICK, Row, Size, memory, requests, start
from contract_tests.benchmarks.steps import steps

Measure = Callable[[Size, ProcessPoolExecutor], Iterator[Row]]

MEASURES: dict[str, Measure] = {"start": start, "memory": memory, "requests": requests, "clock": clock, "steps": steps}


@click.command()
@click.option("--quick", is_flag=True, help="Fewer and shorter rounds: a minute instead of several.")
@click.option("--only", multiple=True, type=click.Choice(list(MEASURES)), help="One measure; may be repeated.")
@click.option("--rounds", type=click.IntRange(1, 100), help="Rounds of each load; the table gives their medians.")
@click.option("--objects", type=click.IntRange(1_001, 1_000_000), help="What counts as many objects.")
@click.option("--subscriptions", multiple=True, type=click.IntRange(1, 100_000), help="For the clock; may be repeated.")
def main(quick: bool, only: Sequence[str], **chosen: Any) -> None:
    """Measure the emulator beside a bare Starlette app that does the same work."""
    names = {"rounds": "rounds", "objects": "many", "subscriptions": "subscriptions"}
    size = (QUICK if quick else Size())._replace(**{names[name]: value for name, value in chosen.items() if value})
    click.echo(f"Python {platform.python_version()}, {os.cpu_count()} cores, {size}")
    show(rows(only or list(MEASURES), size))


def rows(names: Iterable[str], size: Size) -> Iterator[Row]:
    """The rows of these measures, as they come."""
    with load.generator() as pool:
        for name in names:
            yield from MEASURES[name](size, pool)


def show(rows: Iterable[Row]) -> None:
    """Print the table, a row as soon as it is known."""
    click.echo(f"{'':44}{'unit':>5}{'bare':>12}{'emulator':>12}{'ratio':>8}  aim")
    for row in rows:
        figures = f"{_figure(row.bare):>12}{_figure(row.emulator):>12}{_figure(row.ratio):>8}"
        click.echo(f"{row.measure:44}{row.unit:>5}{figures}  {row.aim}".rstrip())


def _figure(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}"


if __name__ == "__main__":
    main()
