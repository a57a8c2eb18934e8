"""``test all``: examines an application, its tests, its receiver and its client in one report."""

from __future__ import annotations

import shlex
from contextlib import closing
from typing import TYPE_CHECKING

import click

from emulator.cli.groups import INTERRUPTED, repeating
from emulator.cli.listen import destination
from emulator.cli.options import option
from emulator.cli.receiver import certified
from emulator.cli.runs import CommandLine, examination, jobs
from emulator.cli.suite import SuiteRuns, with_usage

if TYPE_CHECKING:
    from emulator.checks.report import Report


@examination(
    click.option(
        "--app",
        "scenario",
        metavar="COMMAND",
        help="What your application does, to be tried with every fault.",
    ),
    click.option("--receiver", metavar="URL", help="Your webhook receiver, to be tested."),
    option("--secret", metavar="SECRET", help="Secret of the receiver."),
    jobs,
)
def all_four(
    line: CommandLine, *, scenario: str | None, receiver: str | None, secret: str | None
) -> int:
    """Test an application, its tests, receiver and client at once.

    \b
    payments-emulator test all -- pytest -x
    payments-emulator test all --app 'python buy.py' -- npm test
    payments-emulator test all --html report.html -- pytest -x

    COMMAND is your test suite: 'test suite' runs it with mutants of the service, and 'test client'
    looks at what its first run did. With --app 'test app' tries what your application does with
    every fault, with --receiver 'test receiver' tests your webhook receiver. The worst findings
    come first.

    Exit status 1 where anything was found, 130 after Ctrl-C.
    """
    from emulator.checks.report import joined

    reports: list[Report] = []
    try:
        if scenario:
            reports.append(_of_app(line, tuple(shlex.split(scenario))))
        if receiver:
            url, quiet = destination(receiver, "'--receiver'"), line.output.as_json
            reports.append(
                certified(url, secret=secret, webhook=None, ssl_verification=True, quiet=quiet)
            )
        reports += _of_tests(line)
    except KeyboardInterrupt:
        click.echo("Interrupted before all was tried, so there is no report.", err=True)
        return INTERRUPTED
    return line.output.show(joined("test all", reports))


def _of_app(line: CommandLine, scenario: tuple[str, ...]) -> Report:
    from emulator.checks.app.driver import examine
    from emulator.cli.app import CommandRuns

    runs = CommandRuns(line._replace(command=scenario))
    with line.limits(runs.commands, title="app: ") as limits:
        report = examine(runs.play, limits)
    runs.outputs.kept(is_needed=False)
    if report.interrupted:
        raise KeyboardInterrupt
    return report._replace(repeat=repeating(line.command, "test", "app", runs=scenario)).report()


def _of_tests(line: CommandLine) -> list[Report]:
    from emulator.checks import client
    from emulator.checks.suite.mutants import MUTANTS
    from emulator.checks.suite.search import try_mutants

    with closing(SuiteRuns(line)) as runs, line.limits(runs.commands, title="suite: ") as limits:
        report = try_mutants(runs.play, MUTANTS, limits)
    if report.interrupted:
        raise KeyboardInterrupt
    report = report._replace(repeat=repeating(line.command, "test", "suite"))
    return [client.report(runs.recorder.audits), with_usage(report, None)]
