"""``rewind``: return the App's world to its state before a request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from emulator.cli.options import ID, as_json, complete_from, with_client
from emulator.cli.output import counted, print_line, when

if TYPE_CHECKING:
    from emulator.cli.client import ControlClient


@click.command()
@click.argument(
    "request", type=ID, required=False, metavar="[REQUEST]", shell_complete=complete_from("/requests", "id")
)
@click.option("--steps", type=click.IntRange(1), metavar="N", help="Undo the last N requests. [default: 1]")
@as_json
@with_client
def rewind(emulator: ControlClient, request: str | None, steps: int | None, as_json: bool) -> None:
    """Return the world to its state before a REQUEST.

    \b
    payments-emulator rewind
    payments-emulator rewind --steps 3
    payments-emulator rewind req_4fKq9ZsT1mVbX7cR2yLdH8wN

    'payments-emulator logs' shows the ids of requests. The clock goes back too. Webhooks already sent are not recalled.
    """
    if request and steps:
        raise click.UsageError("REQUEST and --steps both say how far to go back; give only one")
    print_line(emulator.post("/rewind", {"to": request} if request else {"steps": steps or 1}), line, as_json)


def line(result: Any) -> str:
    """The state of the world on one line."""
    undone = counted(result["turns"], "unit of work", "units of work")
    return f"Before {result['to']}: {when(result['now'])}, {undone} undone"
