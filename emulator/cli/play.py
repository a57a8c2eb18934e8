"""``play``: what ``proxy`` recorded is played again, and every answer is compared with that of the service."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from emulator.cli.options import DEFAULT_URL, option
from emulator.cli.parameter_types import ProfileFile

if TYPE_CHECKING:
    from emulator.document.profile import Profile

APP = "demo"
"""The App in whose world it is played."""


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@option("--profile", type=ProfileFile(), help="Play in a world that follows a profile of calibrate.")
@click.option("--json", "as_json", is_flag=True, help="The differences as JSON, one a line.")
def play(file: Path, profile: Profile | None, *, as_json: bool) -> int:
    """Replay what proxy recorded and compare each response.

    \b
    payments-emulator proxy --upstream https://sandbox.example.com --record run.jsonl
    payments-emulator play run.jsonl

    It is played in a world of this process, as proxy plays it beside the service.

    Exit status 1 if an answer differs.
    """
    # Imported here: the help of this command needs none.
    from emulator.checks.traffic.run_file import read_run
    from emulator.checks.traffic.side_by_side import SideBySide
    from emulator.cli.proxy import show_finding, show_report
    from emulator.engine.reference_data import ReferenceData
    from emulator.testing.fresh_world import FreshWorld

    settings = profile.chosen() if profile else {}
    cards = {rule.value[-4:]: rule.value for rule in ReferenceData(None).magic["bank_card"]}
    with FreshWorld(APP, DEFAULT_URL) as world, _explained(file):
        side_by_side = SideBySide(world, settings, partial(show_finding, as_json=as_json))
        for passed in read_run(file, cards):
            side_by_side.take(passed)
        side_by_side.finish()
    show_report(side_by_side.findings, as_json=as_json)
    return int(side_by_side.findings.differing > 0)


@contextmanager
def _explained(file: Path) -> Iterator[None]:
    """Report a file that cannot be read, or is no recording, on one line."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise click.ClickException(f"{file}: {getattr(error, 'strerror', None) or error}") from None
