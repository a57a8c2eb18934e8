"""``state``: look after the places where worlds last."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from emulator.cli.serve import State

if TYPE_CHECKING:
    from emulator.state.maintenance import Finding


@click.group()
def state() -> None:
    """Check, compact and convert the places where worlds last.

    \b
    payments-emulator state check sqlite:///shop.db
    payments-emulator state convert tinydb:shop.json sqlite:///shop.db
    """


@state.command()
@click.argument("place", type=State())
def check(place: str) -> int:
    """Read everything a place holds, as a server would; exit status 1 if it is not in order.

    Nothing is changed, and a server may work on it meanwhile.

    \b
    payments-emulator state check sqlite:///shop.db
    payments-emulator state check postgresql://emulator@127.0.0.1/worlds
    """
    from emulator.state import maintenance

    try:
        with _told():
            show(maintenance.check(place))
    except click.ClickException as fault:
        click.echo(fault.message)
        return 1
    return 0


@state.command()
@click.argument("place", type=State())
def compact(place: str) -> None:
    """Have a place take no more room than it needs; not while a server works on it.

    \b
    payments-emulator state compact sqlite:///shop.db
    """
    from emulator.state import maintenance
    from emulator.state.urls import file_of

    with _told():
        before = _size(place)
        maintenance.compact(place)
    if file_of(place):
        click.echo(f"{place}: {before:,} bytes before, {_size(place):,} now")


@state.command()
@click.argument("source", type=State())
@click.argument("target", type=State())
def convert(source: str, target: str) -> None:
    """Take every world and snapshot from one place to another one that holds none yet.

    An exported snapshot is a place, too: tinydb:FILE.

    \b
    payments-emulator state convert tinydb:shop.json sqlite:///shop.db
    """
    from emulator.state import maintenance

    with _told():
        show(maintenance.convert(source, target))


def show(findings: Iterable[Finding]) -> None:
    """A line for each world."""
    for found in findings:
        counts = f"{found.records} records, {found.jobs} jobs, {found.snapshots} snapshots"
        click.echo(f"{found.key}  {found.now}  {counts}")


def _size(place: str) -> int:
    from emulator.state.urls import file_of

    file = file_of(place)
    return file.stat().st_size if file and file.exists() else 0


@contextmanager
def _told() -> Iterator[None]:
    """What makes it impossible is told in one line, exit status 2."""
    from emulator.state.store import CorruptStore, StorageError

    try:
        yield
    except CorruptStore as fault:
        raise click.ClickException(str(fault)) from None
    except StorageError as fault:
        raise click.ClickException(fault.why) from None
