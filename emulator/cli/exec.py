"""``exec``: run a command with a sandbox of its own."""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from emulator.checks.report import Finding, Report
from emulator.checks.runs import RunLimits, Runs
from emulator.cli.groups import PROGRAM
from emulator.cli.options import PORT
from emulator.cli.output import ReportOutput, with_report
from emulator.cli.runs import (
    CapturedCommands,
    begin,
    command_line,
    environment,
    handling,
    key,
    sandbox,
)
from emulator.cli.serve import StartingServer, serve
from emulator.cli.server import tune_garbage_collector

if TYPE_CHECKING:
    import subprocess


NOT_FOUND, CANNOT_RUN = 127, 126
"""The exit statuses of a missing command and of one that cannot be run, as in a shell."""

SIGNALED_SECONDS = 5.0
"""Seconds (real time) between the signal to end and SIGKILL."""

KILL = getattr(signal, "SIGKILL", signal.SIGTERM)
"""What no command survives; on Windows SIGTERM, which ends it at once."""


@click.command(
    "exec",
    # Not those about a server: its port, which has an environment variable, its end, its output.
    params=[
        parameter
        for parameter in serve.params
        if parameter.name not in ("port", "port_file", "quiet", "exit_with_stdin")
    ],
    context_settings={"allow_interspersed_args": False},
)
@click.option("--port", type=PORT, default=0, show_default=True, help="0 picks a free port.")
@key
@click.option(
    "--assumptions",
    "under_all",
    type=click.Choice(["all"]),
    help=(
        "Run COMMAND again under each other value of an assumption, and report on which it depends."
    ),
)
@with_report
@command_line
def execute(
    command: tuple[str, ...],
    key: str,
    *,
    under_all: str | None,
    output: ReportOutput,
    **chosen: Any,
) -> int:
    """Run COMMAND with its own sandbox.

    \b
    payments-emulator exec -- npm test
    payments-emulator exec --clock frozen@2026-01-01T00:00:00Z -- pytest -x
    payments-emulator exec --assumptions all -- npm test

    COMMAND finds the sandbox in the environment variables PAYMENTS_EMULATOR_URL and
    PAYMENTS_EMULATOR_KEY, which this command line also reads, and uses no proxy for it (NO_PROXY).
    Exit with the status of COMMAND, 127 if it was not found and 126 if it cannot be run. Ctrl-C and
    SIGTERM end both.
    """
    # A SIGTERM before the command runs must also stop the server.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    if under_all:
        if chosen["state"] != "memory":
            raise click.UsageError(
                "--assumptions runs several sandboxes at once, which cannot share one --state"
            )
        with not_run():
            return output.show(report_of(run_all(command, key, chosen)))
    if any(output):
        raise click.UsageError("--html, --junit and --json require --assumptions all")
    # As in serve: a start creates no garbage, and what it loads stays.
    gc.disable()
    child = Child()
    with StartingServer(chosen, child.end, lambda _: tune_garbage_collector()) as server:
        variables = environment(server.url, key, chosen["control_token"])
        with not_run():
            return child.run(command, {**os.environ, **variables}, server.start)


@contextmanager
def not_run() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        click.echo(f"{PROGRAM}: {error.filename}: cannot be run: {error.strerror}", err=True)
        sys.exit(NOT_FOUND if isinstance(error, FileNotFoundError) else CANNOT_RUN)


class Child:
    """The running command. It leads a process group, so its own children receive each signal too.

    On a terminal it stays in the group of this process, so that it can read from the terminal and
    both can be stopped together; the terminal itself sends Ctrl-C to both.
    """

    def __init__(self) -> None:
        self._shares_terminal = on_terminal()
        self._process: subprocess.Popen[bytes] | None = None
        self._early: list[int] = []
        self._interrupted = False

    def run(
        self, command: tuple[str, ...], environment: dict[str, str], started: Callable[[], None]
    ) -> int:
        """Run the command; return its exit status, or 128 plus the signal's number, as a shell."""
        with handling(self._on_signal):
            self._process = begin(command, environment, None if self._shares_terminal else 0)
            started()
            for number in self._early:
                self._pass_on(number)
            status = self._process.wait()
            deadline = time.monotonic() + SIGNALED_SECONDS + 1
            # Its own children receive the signal, too: the group is gone when the last of them is.
            with suppress(ProcessLookupError):
                while (
                    self._interrupted and not self._shares_terminal and time.monotonic() < deadline
                ):
                    os.killpg(self._process.pid, 0)
                    time.sleep(0.02)
        return status if status >= 0 else 128 - status

    def end(self) -> None:
        self._on_signal(signal.SIGTERM, None)

    def _on_signal(self, number: int, _: Any) -> None:
        if number == signal.SIGINT and self._shares_terminal:
            return
        self._interrupted = True
        if self._process:
            self._pass_on(number)
        else:
            self._early.append(number)

    def _pass_on(self, number: int) -> None:
        self._send(number)
        timer = threading.Timer(SIGNALED_SECONDS, self._send, [KILL])
        timer.daemon = True
        timer.start()

    def _send(self, number: int) -> None:
        assert self._process
        if self._shares_terminal:
            self._process.send_signal(number)
            return
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)


def on_terminal() -> bool:
    """Return whether this process is in a terminal's foreground: its group then gets Ctrl-C."""
    if not hasattr(os, "tcgetpgrp"):
        # Windows sends signals to no process groups: its console sends Ctrl-C to this process and
        # to the command.
        return True
    try:
        with open("/dev/tty", "rb", buffering=0) as terminal:
            return os.tcgetpgrp(terminal.fileno()) == os.getpgrp()
    except OSError:
        return False


LAST_LINES = 15
"""How many lines of a failed run's output are shown."""


class CommandRun(NamedTuple):
    """A run with ``assumption`` at ``value``, or None: the first run, under chosen assumptions."""

    assumption: str | None = None
    value: str | None = None
    status: int = 0
    output: str = ""

    @property
    def name(self) -> str:
        return f"{self.assumption}-{self.value}"

    @property
    def title(self) -> str:
        return (
            f"when {self.assumption} is {self.value}"
            if self.assumption
            else "under the chosen assumptions"
        )


def run_all(command: Sequence[str], key: str, chosen: Mapping[str, Any]) -> list[CommandRun]:
    """Run the command under its App's assumptions, then under each other value, in own sandboxes.

    There is one run for each core at a time. Where the first one fails, the others are tried all
    the same: another value may be the one that the command expects. Ctrl-C ends the runs.
    """
    commands = CapturedCommands()

    def run(other: CommandRun, *fixtures: Path) -> CommandRun:
        with sandbox(commands, key, {**chosen, "fixtures": (*chosen["fixtures"], *fixtures)}) as (
            _,
            variables,
        ):
            status, output = commands.run(command, variables)  # an OSError is reported by exec
        return other._replace(status=status, output=output)

    first = run(CommandRun())
    others = [*_other_values(key.split("_", 2)[-1], chosen)]
    with TemporaryDirectory() as folder:

        def run_other(other: CommandRun) -> CommandRun:
            # A fixture file, after those of the user: it has the last word.
            file = Path(folder, other.name).with_suffix(".json")
            file.write_text(
                json.dumps({"settings": {"assumptions": {other.assumption: other.value}}}), "utf-8"
            )
            return run(other, file)

        runs = Runs(run_other, RunLimits(os.cpu_count() or 1, stop=commands.stop))
        runs.play_all(others)
    if runs.interrupted:
        raise KeyboardInterrupt
    return [first, *(runs.endings[other.name] for other in others)]


def _other_values(app: str, chosen: Mapping[str, Any]) -> Iterator[CommandRun]:
    from emulator.engine.fixtures import Fixtures
    from emulator.engine.reference_data import assumptions_of, named_assumptions

    calibrated = chosen["profile"].chosen() if chosen["profile"] else {}
    settings = Fixtures(
        chosen["fixtures"], dict(chosen["chosen_assumptions"]), calibrated
    ).settings(app)
    present = {assumption["name"]: assumption["value"] for assumption in assumptions_of(settings)}
    for name, assumption in named_assumptions().items():
        yield from (
            CommandRun(name, value) for value in assumption.values if value != present[name]
        )


def report_of(runs: Sequence[CommandRun]) -> Report:
    """Return the decisive assumptions: the command passes there or in the first run, not both."""
    first, *others = runs
    depending = [run for run in others if bool(run.status) != bool(first.status)]
    decisive = [*([first] if first.status else []), *depending]
    depends = f"depends on {len(depending)} of" if depending else "depends on none of"
    findings = [
        Finding(
            run.title,
            f"Your tests {'fail' if run.status else 'pass'} {run.title}.",
            run.output.splitlines()[-LAST_LINES:] if run.status else (),
            again="" if run.assumption is None else f"--assume {run.assumption}={run.value}",
        )
        for run in decisive
    ]
    rows = [
        {
            "assumption": run.assumption,
            "value": run.value,
            "status": run.status,
            "depends": run in depending,
        }
        for run in runs
    ]
    return Report(
        "exec --assumptions all",
        f"The command {depends} {len(others)} other values of assumptions (/docs/assumptions).",
        findings,
        right=[run.title for run in runs if run not in decisive],
        facts={"runs": rows},
    )
