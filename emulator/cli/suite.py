"""``test suite``: which mutants of the service do these tests catch, and what do they never use?"""

from __future__ import annotations

import shutil
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, suppress
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from emulator.checks.runs import counted
from emulator.cli.groups import FOUND, INTERRUPTED, UNFINISHED, repeating
from emulator.cli.options import Number
from emulator.cli.output import fitted
from emulator.cli.runs import CapturedCommands, CommandLine, budget, examination, jobs, sandbox

if TYPE_CHECKING:
    from emulator.checks.report import Report
    from emulator.checks.suite.mutants import Mutant
    from emulator.checks.suite.search import MutantRun, SuiteReport
    from emulator.checks.suite.wrong_service import WrongService
    from emulator.server.server import Server


GROUPS = ("events", "states", "moves", "errors", "operations", "statuses", "fields", "parameters")
"""The groups of usage; those whose gaps cost an application most come first."""


def listed(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    """Print every mutant by area, with what is wrong and what a test has to look at, and end."""
    if wanted:
        from emulator.checks.suite.mutants import AREAS

        for area, rows in AREAS.items():
            click.echo(click.style(area, bold=True))
            for row in rows:
                click.echo(fitted(f"  {row.name}\n    {row.wrong}\n    {row.look}"))
        context.exit(0)


@examination(
    click.option(
        "--fail-on",
        "least",
        type=Number(0, 100),
        default=100,
        help="Fail below this score. [default: 100]",
    ),
    click.option(
        "--only",
        multiple=True,
        metavar="NAME",
        help="Only this one, or 'refund-*'. May be repeated.",
    ),
    click.option(
        "--skip", multiple=True, metavar="NAME", help="Skip this mutant. May be repeated."
    ),
    click.option(
        "--list",
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=listed,
        help="List every mutant.",
    ),
    click.option("--usage", is_flag=True, help="Run COMMAND once, and show only what it uses."),
    budget,
    jobs,
)
def suite(
    line: CommandLine, *, least: float, only: tuple[str, ...], skip: tuple[str, ...], usage: bool
) -> int:
    """Show which mutants of the service your tests catch.

    The report ends with what they never use.

    \b
    payments-emulator test suite -- pytest -x
    payments-emulator test suite --fail-on 80 --budget 120 -- npm test
    payments-emulator test suite --usage -- npm test

    Run your test suite once as a baseline, then once per mutant (a service that is wrong in one
    way) that it could detect, each time in its own sandbox with the same seed. A mutant survives a
    run that passes. Under pytest with the plugin, only the tests that reached its place in the
    baseline are run. What COMMAND uses is what the baseline exercised, in all its Apps.

    Exit status 1 where the score, the percentage of mutants caught, is below --fail-on; 3 where
    --budget ended before all was tried; 130 after Ctrl-C, with what was found before.
    """
    from emulator.checks.suite.mutants import MUTANTS
    from emulator.checks.suite.search import named_by, try_mutants

    for name in (*only, *skip):
        if not any(named_by(row, [name]) for row in MUTANTS.values()):
            raise click.BadParameter(
                f"{name}: there is no such mutant; --list shows them", param_hint="'--only'"
            )
    with closing(SuiteRuns(line)) as runs, line.limits(runs.commands) as limits:
        report = try_mutants(runs.play, {} if usage else MUTANTS, limits, only=only, skip=skip)
    report = report._replace(repeat=repeating(line.command))
    is_played = not (report.failure or report.interrupted)
    line.output.show(
        with_usage(
            report, runs.recorder.used.report(GROUPS) if is_played else None, only_usage=usage
        )
    )
    if report.interrupted:
        return INTERRUPTED
    untried = usage or (report.remaining > 0 and not report.tried)
    if report.failure or not (untried or report.passes(least)):
        return FOUND
    return UNFINISHED if report.remaining else 0


def with_usage(report: SuiteReport, used: Any, *, only_usage: bool = False) -> Report:
    """Return the report with the suite's usage (if the suite ran to its end), or that alone."""
    whole = report.report()
    whole = whole._replace(facts={**whole.facts, "usage": used})
    if not used:
        return whole
    headline, *lines = usage_lines(used)
    if only_usage:
        return whole._replace(headline=headline, failure=None, notes=lines)
    gap = [""] if whole.notes or not whole.findings else []
    return whole._replace(
        notes=[*whole.notes, *([*gap, headline, *lines] if used["request_count"] else [])]
    )


def usage_lines(used: Any) -> Iterator[str]:
    yield f"What the tests never used, with {counted(used['request_count'], 'request')}:"
    yield from [f"  no test sees {need}" for need in used["needs"]]
    room = shutil.get_terminal_size().columns - len("  never: , and 999 more")
    for name, group in used["groups"].items():
        # Rounded down: only a complete group has 100 %.
        percentage = int(1000 * group["count"] / group["total"]) / 10
        yield f"{name:12}{group['count']:>4} of {group['total']:>3} {percentage:>7.1f} %"
        if missing := group["missing"]:
            lengths = accumulate(len(name) + len(", ") for name in missing)
            fitting = sum(length <= room + len(", ") for length in lengths)
            rest = f"{len(missing) - fitting} more" if fitting < len(missing) else ""
            yield f"  never: {', and '.join(filter(None, (', '.join(missing[:fitting]), rest)))}"


# -- the runs: the command with the right service, then with each mutant


# Most of a short run of pytest is its start. So where a mutant needs only some tests, pytest starts
# once for many mutants: it loads all tests, then forks for each mutant, and the copy runs its tests
# as pytest would.

TESTS = "PAYMENTS_EMULATOR_TESTS"
"""The variable with the tests to run (empty: all); with it their keys are the same in each run."""

FORKS = "PAYMENTS_EMULATOR_FORKS"
"""The variable with the loopback port that tells the pytest plugin the tests to fork for."""

SUITE_RUN_SECONDS = 10.0
"""Seconds (real time) that each run may take at least, and a pytest that has nothing more to do."""


class LoadedTests(NamedTuple):
    """A pytest with loaded tests that it forks for; its own sandbox is wrong in changing ways."""

    connection: socket.socket
    service: WrongService
    servers: Sequence[Server]
    ends: Sequence[Callable[[], None]]


class SuiteRuns:
    """Runs of a command with a wrong or the right service; ``recorder`` looks at their worlds."""

    def __init__(self, line: CommandLine) -> None:
        from emulator.checks.suite.wrong_service import WorldRecorder

        self._line = line
        self.recorder = WorldRecorder()
        self._idle: list[LoadedTests] = []
        self._can_fork = True
        self._open = ExitStack()
        self.commands = CapturedCommands(SUITE_RUN_SECONDS)

    def play(self, row: Mutant | None) -> MutantRun:
        """Run the command, or those of its tests that a mutant needs; called by several threads."""
        if row and row.tests and self._can_fork:
            if run := self._fork(row):
                return run
            self._can_fork = False
        return self._play_command(row)

    def close(self) -> None:
        """Let each pytest end by itself: its plugins may have something to clear away."""
        self._open.close()

    def _play_command(self, row: Mutant | None) -> MutantRun:
        from emulator.checks.suite.mutants import MUTANTS
        from emulator.checks.suite.search import MutantRun
        from emulator.checks.suite.wrong_service import WrongService

        service = WrongService([row], row) if row else WrongService(MUTANTS.values())

        def built(server: Server) -> None:
            if row is None:
                self.recorder.attach(server.sandbox.engine)

        with sandbox(self.commands, self._line.key, self._line.worlds, service.parts(), built) as (
            _,
            variables,
        ):
            failure, _ = self.commands.attempt(
                self._line.command, {**variables, TESTS: _listed(row)}
            )
        if row is None:
            self.recorder.collect()
        return MutantRun(failure, service.reached)

    def _fork(self, row: Mutant) -> MutantRun | None:
        """Run a mutant's tests in a fork of a loaded pytest; None if the command has none."""
        from emulator.checks.suite.search import MutantRun

        try:
            loaded = self._idle.pop()
        except IndexError:
            try:
                loaded = self._load()
            except TimeoutError:  # while it loads its tests; a run of its own has this limit too
                return None
        loaded.service.become([row], row)
        loaded.connection.settimeout(self.commands.time_limit)
        try:
            loaded.connection.sendall(f"{_listed(row)}\n".encode())
            status = loaded.connection.recv(16).decode()
        except TimeoutError:
            _end(loaded.ends)
            return MutantRun("it does not end", loaded.service.reached)
        except OSError:
            return None
        if not status:
            return None
        run = MutantRun(None if status == "0" else f"exit status {status}", loaded.service.reached)
        loaded.servers[0].discard()
        self._idle.append(loaded)
        return run

    def _load(self) -> LoadedTests:
        """Start the command; if it connects to nothing and ends, so does the connection."""
        from emulator.checks.suite.wrong_service import WrongService

        service = WrongService(())
        servers: list[Server] = []
        ends: list[Callable[[], None]] = []
        opened = sandbox(
            self.commands, self._line.key, self._line.worlds, service.parts(), servers.append
        )
        _, variables = self._open.enter_context(opened)
        with socket.create_server(("127.0.0.1", 0)) as listening:
            address = listening.getsockname()
            listening.settimeout(self.commands.time_limit)

            def run() -> None:
                own = {TESTS: "", FORKS: str(address[1])}
                with suppress(OSError, KeyboardInterrupt):
                    self.commands.run(
                        self._line.command, {**variables, **own}, ends.append, is_limited=False
                    )
                with suppress(OSError):
                    socket.create_connection(address).close()

            running = threading.Thread(target=run, daemon=True)
            running.start()
            self._open.callback(lambda: _end(ends) if running.is_alive() else None)
            self._open.callback(running.join, SUITE_RUN_SECONDS)
            connection = self._open.enter_context(listening.accept()[0])
        return LoadedTests(connection, service, servers, ends)


def _listed(row: Mutant | None) -> str:
    return ",".join(sorted(row.tests)) if row and row.tests else ""


def _end(ends: Sequence[Callable[[], None]]) -> None:
    for end in ends:
        end()
