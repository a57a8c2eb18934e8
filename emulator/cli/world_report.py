"""``report``: a world's money, subscriptions and webhooks over its time, as one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from emulator.cli.options import with_client
from emulator.cli.output_files import OUTPUT_FILE, write_text
from emulator.presentation.languages import catalogs

if TYPE_CHECKING:
    from emulator.cli.client import ControlClient


@click.command()
@click.option(
    "--html",
    "file",
    type=OUTPUT_FILE,
    default="report.html",
    show_default=True,
    metavar="FILE",
    help="Where to write it.",
)
@click.option(
    "--language",
    type=click.Choice(catalogs.languages()),
    default=catalogs.SOURCE,
    show_default=True,
    help="Language of the file.",
)
@with_client
def report(emulator: ControlClient, file: Path, language: str) -> None:
    """Draw the world over its time, as one HTML file.

    \b
    payments-emulator report
    payments-emulator report --html shop.html --language fr
    payments-emulator exec --report shop.html -- pytest

    One file with nothing from elsewhere: charts that need no colour, each with a table of the same facts.
    """
    write(emulator, file, language)
    click.echo(f"wrote {file}")


def write(emulator: ControlClient, file: Path, language: str = catalogs.SOURCE) -> None:
    """Write the report of a client's App. Raises ``ClickException`` if the file cannot be written."""
    # Imported here: help needs no templates.
    from emulator.presentation.languages.language import language_of
    from emulator.ui.reports.collection import collect
    from emulator.ui.reports.report_page import page

    def get(path: str, **query: Any) -> Any:
        return emulator.get(path.removeprefix("/_emulator"), **query)

    text = page(collect(get), language_of(language))
    write_text(file, text)
