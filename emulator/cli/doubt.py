"""``doubt``: run a test suite against services that are each wrong in one way, and report which it does not notice."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from emulator.cli.exec import handling, past_proxies
from emulator.cli.options import DEFAULT_KEY, option, variable
from emulator.cli.output_files import OUTPUT_FILE, write_text
from emulator.cli.progress_line import ProgressLine
from emulator.cli.repeated import RepeatableCommand, repeating
from emulator.cli.serve import make_server, serve
from emulator.cli.server_thread import serving

if TYPE_CHECKING:
    from emulator.checks.report.exam_recorder import ExamRecorder
    from emulator.checks.suite.seams import Doubt
    from emulator.checks.suite.search import DoubtRun
    from emulator.cli.captured import CapturedCommands

LEFT_OUT = ("port", "port_file", "state", "quiet", "verbose", "log_format", "strict")
"""Options of ``serve`` that each run has for itself: a free port, worlds in memory, answers that may be wrong."""

PARAMETERS = [each for each in serve.params if each.name not in LEFT_OUT]

INTERRUPTED = 130

SLOWER = 10
"""How many times longer than with the right service a run may take."""

PATIENCE = 60.0
"""Seconds (real time) that each run may take at least."""


def listed(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    """Print every wrong service, and end."""
    if wanted:
        from emulator.checks.suite.table import DOUBTS

        click.echo("\n".join(f"{row.name:34}{row.wrong}" for row in DOUBTS.values()))
        context.exit(0)


@click.command(cls=RepeatableCommand, params=PARAMETERS, context_settings={"allow_interspersed_args": False})
@option("--key", default=DEFAULT_KEY, metavar="KEY", help="API key for COMMAND.")
@click.option("--fail-on", type=click.FloatRange(0, 100), default=100, metavar="PERCENT", help="Fail below this score.")
@click.option("--only", multiple=True, metavar="NAME", help="Only this wrong service; repeatable.")
@click.option("--skip", multiple=True, metavar="NAME", help="Not this wrong service; repeatable.")
@click.option(
    "--list", is_flag=True, is_eager=True, expose_value=False, callback=listed, help="List every wrong service."
)
@click.option("--budget", type=click.FloatRange(min=0), metavar="SECONDS", help="Start no run after this time.")
@click.option("--jobs", type=click.IntRange(1, 64), default=os.cpu_count() or 1, help="Runs at a time.")
@click.option("--junit", type=OUTPUT_FILE, help="Write a report as JUnit XML.")
@click.option("--json", "as_json", is_flag=True, help="The report as JSON.")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def doubt(
    command: tuple[str, ...],
    key: str,
    *,
    fail_on: float,
    only: tuple[str, ...],
    skip: tuple[str, ...],
    budget: float | None,
    jobs: int,
    junit: Path | None,
    as_json: bool,
    **chosen: Any,
) -> int:
    """Show whether your tests would notice a service that is wrong.

    \b
    payments-emulator doubt -- pytest -x
    payments-emulator doubt --fail-on 80 --budget 120 -- npm test

    COMMAND, a test suite, runs once with the right service, then once with each service that is wrong in one way and
    that concerns it, each time in a sandbox of its own with the same seed. A run that passes has not noticed.

    Exit status 1 where the score, the percentage that was noticed, is less than --fail-on (100); 130 after Ctrl-C, with
    what was found before.
    """
    # Imported here: the help of this command needs none of them.
    from emulator.checks.runs import RunLimits
    from emulator.checks.suite.search import doubt as run_doubt
    from emulator.checks.suite.table import DOUBTS
    from emulator.cli.captured import CapturedCommands

    for name in (*only, *skip):
        if name not in DOUBTS:
            raise click.BadParameter(f"{name}: there is no such wrong service; --list shows them", param_hint="'NAME'")
    shown, commands = ProgressLine(quiet=as_json), CapturedCommands()
    limits = RunLimits(jobs, budget, shown.show, commands.stop)
    # SIGTERM too is to end the commands under way.
    with handling(signal.default_int_handler):
        report = run_doubt(player(command, key, chosen, commands), DOUBTS, limits, only=only, skip=skip)
    shown.end()
    report = report._replace(repeat=repeating(command))
    if junit is not None:
        write_text(junit, report.as_junit())
    click.echo(report.as_json() if as_json else report.text())
    return INTERRUPTED if report.interrupted else int(not report.passes(fail_on))


def player(
    command: Sequence[str],
    key: str,
    chosen: Mapping[str, Any],
    commands: CapturedCommands,
    recorder: ExamRecorder | None = None,
) -> Callable[[Doubt | None], DoubtRun]:
    """The function that runs the command once, in a sandbox of its own with a service that is wrong or right.

    It is one of ``commands``. ``recorder`` looks at the worlds of the right one.
    """
    from emulator.checks.suite.search import DoubtRun
    from emulator.checks.suite.table import DOUBTS
    from emulator.checks.suite.wrong_service import WrongService

    seed = 0 if chosen["seed"] is None else chosen["seed"]
    own = {**chosen, "seed": seed, "state": "memory", "port": 0, "strict": False}
    time_limit: float | None = None

    def play(row: Doubt | None) -> DoubtRun:
        nonlocal time_limit
        service = WrongService(DOUBTS.values()) if row is None else WrongService([row], row)
        server = make_server(**own, parts=service.parts())
        variables = environment(server.url, key, chosen["control_token"])
        if row is None and recorder:
            recorder.attach(server.sandbox.engine)
        with serving(server):
            started = time.monotonic()
            failure = _failure(commands, command, variables, time_limit)
        if row is None:
            time_limit = max(PATIENCE, SLOWER * (time.monotonic() - started))
            if recorder:
                recorder.collect(server.sandbox.engine)
        return DoubtRun(failure, service.reached)

    return play


def environment(url: str, key: str, token: str | None) -> dict[str, str]:
    """The variables by which a command finds a sandbox."""
    values = {"--url": url, "--key": key, "--control-token": token}
    return {variable(name): value for name, value in values.items() if value} | past_proxies(url)


def _failure(
    commands: CapturedCommands, command: Sequence[str], variables: Mapping[str, str], time_limit: float | None
) -> str | None:
    """Why the command failed, in one line; None if it did not."""
    # Imported here: the help of a command line needs no processes.
    from subprocess import TimeoutExpired

    try:
        status, output = commands.run(command, variables, time_limit)
    except OSError as error:
        raise click.ClickException(f"{command[0]}: cannot be run: {error.strerror}") from None
    except TimeoutExpired:
        return f"no end within {time_limit:g} s"
    last = output.strip().splitlines()[-1:]
    return None if status == 0 else ", ".join([f"exit status {status}", *last])
