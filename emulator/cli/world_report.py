"""``report``: a world's money, subscriptions and webhooks over its time, as one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from emulator.cli.options import with_client
from emulator.cli.server_start import explained

if TYPE_CHECKING:
    from emulator.cli.client import ControlClient


@click.command()
@click.option(
    "--html",
    "file",
    type=click.Path(dir_okay=False, path_type=Path),
    default="report.html",
    show_default=True,
    metavar="FILE",
    help="Where to write it.",
)
@with_client
def report(emulator: ControlClient, file: Path) -> None:
    """Draw the world over its time, as one HTML file.

    \b
    payments-emulator report
    payments-emulator report --html shop.html
    payments-emulator exec --report shop.html -- pytest

    One file with nothing from elsewhere: charts that need no colour, each with a table of the same facts.
    """
    write(emulator, file)
    click.echo(f"wrote {file}")


def write(emulator: ControlClient, file: Path) -> None:
    """Write the report of a client's App. Raises ``ClickException`` if the file cannot be written."""
    # Imported here: help needs no templates.
    from emulator.cli.report_data import collect
    from emulator.cli.report_page import page

    text = page(collect(emulator))
    with explained(file):
        file.write_text(text, "utf-8")
