"""``state``: check, compact and convert state stores."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from emulator.cli.groups import FOUND, LazyGroup
from emulator.cli.options import STATE_URL
from emulator.cli.server import start_errors

if TYPE_CHECKING:
    from emulator.engine.storage.urls import CheckedWorld


@click.group(cls=LazyGroup)
def state() -> None:
    """Check, compact and convert state stores.

    \b
    payments-emulator state check sqlite:shop.db
    payments-emulator state convert tinydb:shop.json sqlite:shop.db
    """


@state.command()
@click.argument("store", type=STATE_URL)
def check(store: str) -> int:
    """Check a state store; exit status 1 if it is invalid.

    It is read whole, as a server reads it, and nothing is changed. If there is no such store, or it
    cannot be read, as a SQLite file that a server uses, the exit status is 2.

    \b
    payments-emulator state check sqlite:shop.db
    payments-emulator state check postgresql://emulator@127.0.0.1/worlds
    """
    from emulator.engine.storage import urls
    from emulator.engine.storage.store import CorruptStore, NoStore

    with start_errors():
        try:
            show(urls.check(store))
        except NoStore:
            raise
        except CorruptStore as error:
            click.echo(str(error))
            return FOUND
    return 0


@state.command()
@click.argument("store", type=STATE_URL)
def compact(store: str) -> None:
    """Compact a state store; no server may use it at the same time.

    \b
    payments-emulator state compact sqlite:shop.db
    """
    from emulator.engine.storage import urls

    with start_errors():
        before = _size(store)
        urls.compact(store)
    if urls.file_of(store):
        click.echo(f"{store}: {before:,} bytes before, {_size(store):,} now")


@state.command()
@click.argument("source", type=STATE_URL)
@click.argument("target", type=STATE_URL)
def convert(source: str, target: str) -> None:
    """Copy all worlds and snapshots to another, empty state store.

    An exported snapshot is a state store as well: tinydb:FILE.

    \b
    payments-emulator state convert tinydb:shop.json sqlite:shop.db
    """
    from emulator.engine.storage import urls

    with start_errors():
        show(urls.convert(source, target))


def show(worlds: Iterable[CheckedWorld]) -> None:
    for checked in worlds:
        counts = f"{checked.records} records, {checked.jobs} jobs, {checked.snapshots} snapshots"
        click.echo(f"{checked.key}  {checked.now}  {counts}")


def _size(store: str) -> int:
    from emulator.engine.storage.urls import file_of

    file = file_of(store)
    return file.stat().st_size if file and file.exists() else 0
