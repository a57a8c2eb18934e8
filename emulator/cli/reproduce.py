"""``reproduce``: the shortest story that brings an object to its present state, as a test."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from emulator.cli.options import ID, with_client
from emulator.cli.record import (
    FORMS,
    JournalPart,
    fetched,
    form_option,
    out_option,
    rendered,
    report,
    seconds_option,
    write,
)

if TYPE_CHECKING:
    from emulator.cli.client import ControlClient


@click.command()
@click.argument("id", type=ID)
@form_option(FORMS)
@seconds_option
@out_option
@with_client
def reproduce(emulator: ControlClient, id: str, *, form: str, seconds: float, out: Path | None) -> int:
    """Write a test that brings an object to its present state.

    \b
    payments-emulator reproduce sub_8fKq9ZsT1mVbX7cR2yLdH8wN --as pytest
    payments-emulator reproduce inv_2yLdH8wN8fKq9ZsT1mVbX7cR --as curl --out invoice.sh

    The requests, moves of the clock and outcomes that it depends on stay, all others are left out. The result is played
    in a fresh world: there the object is equal to ID in every field, but for ids and numbers of documents.

    Exit status 1 if a fresh world has another object at the end.
    """
    # Imported here: the help of this command needs neither.
    from emulator.control.recording.reproduction import reproduce as shortest
    from emulator.testing.fresh_world import FreshWorld

    shown = emulator.get(f"/objects/{id}")
    # Every object has the kind; the status is what matters, where there is one.
    field = "status" if "status" in shown else "object"
    expected = (f"{id}.{field}={shown[field]}",)
    # First what the journal knows as its causes; where that is not enough, all that was done.
    for about in (id, None):
        recording = fetched(emulator, JournalPart(), expected, about)
        with FreshWorld(recording.app, recording.url) as world:
            found = shortest(recording, shown, world, seconds)
        if not isinstance(found, str):
            break
    if isinstance(found, str):
        click.echo(f"In a fresh world it ends in another way: {found}", err=True)
        click.echo(f"'record --as {form} --expect {expected[0]}' writes all that was done instead", err=True)
        return 1
    report(recording, found)
    write(rendered(found.recording, form), out)
    return 0
