"""``rewind``: the App's world as it was before a request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from emulator.cli.options import ID, as_json, remembered, speaking
from emulator.cli.output import counted, print_line, when

if TYPE_CHECKING:
    from emulator.cli.client import ControlClient


@click.command()
@click.argument("request", type=ID, required=False, metavar="[REQUEST]", shell_complete=remembered("/requests", "id"))
@click.option("--steps", type=click.IntRange(1), metavar="N", help="Take back the last N requests. [default: 1]")
@as_json
@speaking
def rewind(emulator: ControlClient, request: str | None, steps: int | None, as_json: bool) -> None:
    """Make the world what it was before a REQUEST.

    \b
    payments-emulator rewind
    payments-emulator rewind --steps 3
    payments-emulator rewind req_4fKq9ZsT1mVbX7cR2yLdH8wN

    Ids of requests are in 'payments-emulator logs'. The clock goes back too; webhooks that went out stay out.
    """
    if request and steps:
        raise click.UsageError("REQUEST and --steps both say how far back; give one of them")
    print_line(emulator.post("/rewind", {"to": request} if request else {"steps": steps or 1}), rewound, as_json)


def rewound(result: Any) -> str:
    """Where the world is, in a line."""
    return f"As before {result['to']}: {when(result['now'])}, {counted(result['turns'], 'turn')} taken back"
