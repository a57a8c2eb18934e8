"""``state``: check, compact and convert state stores, in which worlds persist."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from emulator.cli.parameter_types import StateUrl

if TYPE_CHECKING:
    from emulator.engine.storage.maintenance import Finding


@click.group()
def state() -> None:
    """Check, compact and convert state stores.

    \b
    payments-emulator state check sqlite:///shop.db
    payments-emulator state convert tinydb:shop.json sqlite:///shop.db
    """


@state.command()
@click.argument("store", type=StateUrl())
def check(store: str) -> int:
    """Read a whole state store as a server would; exit status 1 if it is invalid.

    Changes nothing; a server may use the store at the same time.

    \b
    payments-emulator state check sqlite:///shop.db
    payments-emulator state check postgresql://emulator@127.0.0.1/worlds
    """
    from emulator.engine.storage import maintenance

    try:
        with _explained():
            show(maintenance.check(store))
    except click.ClickException as error:
        click.echo(error.message)
        return 1
    return 0


@state.command()
@click.argument("store", type=StateUrl())
def compact(store: str) -> None:
    """Compact a state store; no server may use it at the same time.

    \b
    payments-emulator state compact sqlite:///shop.db
    """
    from emulator.engine.storage import maintenance
    from emulator.engine.storage.urls import file_of

    with _explained():
        before = _size(store)
        maintenance.compact(store)
    if file_of(store):
        click.echo(f"{store}: {before:,} bytes before, {_size(store):,} now")


@state.command()
@click.argument("source", type=StateUrl())
@click.argument("target", type=StateUrl())
def convert(source: str, target: str) -> None:
    """Copy all worlds and snapshots from one state store to another one, which must be empty.

    An exported snapshot is a state store as well: tinydb:FILE.

    \b
    payments-emulator state convert tinydb:shop.json sqlite:///shop.db
    """
    from emulator.engine.storage import maintenance

    with _explained():
        show(maintenance.convert(source, target))


def show(findings: Iterable[Finding]) -> None:
    """Print a line for each world."""
    for found in findings:
        counts = f"{found.records} records, {found.jobs} jobs, {found.snapshots} snapshots"
        click.echo(f"{found.key}  {found.now}  {counts}")


def _size(store: str) -> int:
    from emulator.engine.storage.urls import file_of

    file = file_of(store)
    return file.stat().st_size if file and file.exists() else 0


@contextmanager
def _explained() -> Iterator[None]:
    """Report errors of a store in a message on one line, exit status 2."""
    from emulator.engine.storage.store import CorruptStore, StorageError

    try:
        yield
    except CorruptStore as error:
        raise click.ClickException(str(error)) from None
    except StorageError as error:
        raise click.ClickException(error.why) from None
