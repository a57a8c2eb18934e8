"""``sweep``: run a command once for each request and webhook that can go wrong in it, and compare the ends."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click

from emulator.cli.options import DEFAULT_KEY, option, variable
from emulator.cli.serve import make_server, serve
from emulator.cli.server_thread import serving

NOTHING_SEEN = (
    "No request of COMMAND reached the sandbox with the key in PAYMENTS_EMULATOR_KEY. In a pytest suite, "
    "payments.sweep(story) does the same for the world of a test."
)

# Each run has a sandbox of its own on a free port, in memory.
PARAMETERS = [each for each in serve.params if each.name not in ("port", "port_file", "state", "exit_with_stdin")]


class Commands(NamedTuple):
    """What is run: the story, and a check of the application's own afterwards, which may be missing."""

    story: Sequence[str]
    check: Sequence[str]


@click.command(params=PARAMETERS, context_settings={"allow_interspersed_args": False})
@option("--key", default=DEFAULT_KEY, metavar="KEY", help="API key for COMMAND.")
@click.option("--check", default="", metavar="COMMAND", help="Run afterwards; output and status must stay the same.")
@click.option("--only", multiple=True, metavar="CASE", help="Only this case, such as 4:drop-after; repeatable.")
@click.option("--budget", type=click.FloatRange(min=0), metavar="SECONDS", help="Start no run after this time.")
@click.option("--jobs", type=click.IntRange(1, 64), default=os.cpu_count() or 1, help="Runs at a time.")
@click.option("--then", "afterwards", default="2d", metavar="DURATION", show_default=True, help="Time after COMMAND.")
@click.option("--junit", type=click.Path(dir_okay=False, path_type=Path), help="Write a report as JUnit XML.")
@click.option("--json", "as_json", is_flag=True, help="The report as JSON.")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def sweep(
    command: tuple[str, ...],
    key: str,
    *,
    check: str,
    only: tuple[str, ...],
    budget: float | None,
    jobs: int,
    afterwards: str,
    junit: Path | None,
    as_json: bool,
    **chosen: Any,
) -> int:
    """Find out what a lost answer or webhook does to your application.

    \b
    payments-emulator sweep -- python buy.py
    payments-emulator sweep --check 'python orders.py --summary' -- npm run story

    COMMAND runs twice undisturbed, then once for each request and each webhook delivery that can go wrong, each time
    in a sandbox of its own with the same seed. Then faults end and the clock moves on. Each run must end as the
    undisturbed one did: exit status, numbers of objects by kind and status, sums of money, ledger, and --check.

    Exit status 1 where a run ended differently.
    """
    # Imported here: the help of this command needs neither.
    from emulator.sweep.driver import sweep as run_sweep

    seeded = {**chosen, "seed": 0 if chosen["seed"] is None else chosen["seed"], "state": "memory", "port": 0}
    play = player(Commands(command, shlex.split(check)), key, afterwards, seeded)
    try:
        report = run_sweep(play, only=only, budget=budget, workers=jobs, progress=_progress(quiet=as_json))
    except LookupError as error:
        raise click.BadParameter(str(error), param_hint="'--only'") from None
    if not report.places and report.failure is None:
        raise click.ClickException(NOTHING_SEEN)
    if junit is not None:
        junit.write_text(report.as_junit(), "utf-8")
    click.echo(report.as_json() if as_json else report.text())
    return int(not report.passed)


def player(commands: Commands, key: str, afterwards: str, chosen: Mapping[str, Any]) -> Any:
    """The function that runs the story once in a sandbox of its own."""
    from emulator.sweep.findings import Ending
    from emulator.sweep.placed_faults import Case
    from emulator.testing.api import Api
    from emulator.testing.sweep import arrange, finish

    def play(case: Case | None) -> Ending:
        server = make_server(**chosen)
        token = chosen["control_token"]
        values = {"--url": server.url, "--key": key, "--control-token": token}
        variables = {variable(name): value for name, value in values.items() if value}
        with serving(server):
            api = Api(server.url, key)
            if token:
                api.client.headers["Emulator-Token"] = token
            arrange(api, case)
            failure = _failure(*_run(commands.story, variables))
            check = (lambda: _outcome(*_run(commands.check, variables))) if commands.check else None
            ending = finish(api, case, failure, check, afterwards)
            api.close()
        return ending

    return play


def _run(command: Sequence[str], variables: Mapping[str, str]) -> tuple[int, str]:
    try:
        # Imported here: the help of a command line needs no processes.
        from emulator.cli.captured import run_captured

        status, output = run_captured(command, variables)
    except OSError as error:
        raise click.ClickException(f"{command[0]}: cannot be run: {error.strerror}") from None
    return status, output.strip()


def _failure(status: int, output: str) -> str | None:
    """Why the command failed, in one line: its last one."""
    if status == 0:
        return None
    return f"exit status {status}{f', {output.splitlines()[-1].strip()}' if output else ''}"


def _outcome(status: int, output: str) -> str:
    return output if status == 0 else f"exit status {status}, {output}"


def _progress(*, quiet: bool) -> Callable[[int, int], None]:
    """Shows the number of runs on a terminal, on one line."""
    if quiet or not os.isatty(2):
        return lambda done, of: None
    return lambda done, of: click.echo(f"\r{done} of {of} runs" + ("\n" if done == of else ""), nl=False, err=True)
