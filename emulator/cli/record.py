"""``record``: write a world's requests as a test."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from emulator.cli.control_client import ControlClient
from emulator.cli.options import with_client, writing
from emulator.insight.recording.renderers import FORMS


@click.command()
@click.option(
    "--as", "form", type=click.Choice([*FORMS]), help="The form of the test. [default: pytest]"
)
@click.option("--start", "is_start", is_flag=True, help="Start recording here.")
@click.option(
    "--stop", "is_stop", is_flag=True, help="Write what came since --start, then stop recording."
)
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="FILE", help="Write to this new FILE."
)
@with_client
def record(
    emulator: ControlClient,
    form: str | None,
    *,
    is_start: bool,
    is_stop: bool,
    out: Path | None,
) -> None:
    """Write a test that repeats the world's requests.

    \b
    payments-emulator record --out test_recorded.py
    payments-emulator record --start
    payments-emulator record --stop --as node --out recorded.test.mjs

    Ids become variables. Moves of the clock, outcomes, faults and settings stay; what changes
    nothing is left out. Card numbers and secrets are replaced by test values.
    """
    if out is not None and out.exists():  # a test is often changed after it was written
        raise click.BadParameter(
            f"{out} exists; move it away or name another one", param_hint="'--out'"
        )
    if is_start:
        if is_stop or form or out:
            raise click.UsageError("--start stands alone; --stop takes --as and --out")
        emulator.post("/recording/start")
        click.echo("Recording. 'payments-emulator record --stop' writes the test.", err=True)
        return
    marks = _under_way(emulator) if is_stop else {}
    text = emulator.send(
        "GET", "/recording", query={**marks, **({"as": form} if form else {})}
    ).text
    if out is None:
        click.echo(text, nl=False)
    else:
        with writing(out):
            out.parent.mkdir(parents=True, exist_ok=True)
            out.write_text(text, "utf-8")
    if is_stop:
        emulator.post("/recording/stop")


def _under_way(emulator: ControlClient) -> dict[str, Any]:
    """Return the news of a recording, which stops only once its test is written."""
    state = emulator.get("/recording/state")
    if not state["is_recording"]:
        raise click.ClickException(
            "no recording is under way; 'payments-emulator record --start' begins one"
        )
    if state["until_request"] is None:
        raise click.ClickException("nothing is recorded yet: no request came since the start")
    return {"since": state["since_request"], "until": state["until_request"]}
