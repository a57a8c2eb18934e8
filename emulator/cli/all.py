"""``test all``: the examinations of an application, its tests, its receiver and its client, in one report."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from emulator.cli.groups import FOUND, INTERRUPTED, repeating
from emulator.cli.listen import destination
from emulator.cli.options import option
from emulator.cli.output import ReportOutput
from emulator.cli.receiver import certified
from emulator.cli.runs import examination, jobs, limited
from emulator.cli.suite import SuiteRuns, with_usage

if TYPE_CHECKING:
    from emulator.checks.report import Report
    from emulator.checks.runs import RunLimits


@examination(
    click.option(
        "--app", "scenario", metavar="COMMAND", help="What your application does, to be tried with every fault."
    ),
    click.option("--receiver", metavar="URL", help="Your webhook receiver, to be tested."),
    option("--secret", metavar="SECRET", help="Secret of the receiver."),
    jobs(1),
)
def all_four(
    command: tuple[str, ...],
    key: str,
    *,
    scenario: str | None,
    receiver: str | None,
    secret: str | None,
    jobs: int,
    output: ReportOutput,
    **chosen: Any,
) -> int:
    """Test an application, its tests, receiver and client at once.

    \b
    payments-emulator test all -- pytest -x
    payments-emulator test all --app 'python buy.py' -- npm test
    payments-emulator test all --html report.html -- pytest -x

    COMMAND is your test suite: 'test suite' runs it with mutants of the service, and 'test client' looks at what its first
    run did. With --app 'test app' tries what your application does with every fault, with --receiver 'test receiver' tests
    your webhook receiver. The worst findings come first.

    Exit status 1 where anything was found, 130 after Ctrl-C.
    """
    from emulator.checks.report import joined

    limits = partial(limited, jobs=jobs, quiet=output.as_json)
    reports: list[Report] = []
    try:
        if scenario:
            reports.append(_of_app(command, shlex.split(scenario), key, chosen, limits))
        if receiver:
            url = destination(receiver, "'--receiver'")
            reports.append(certified(url, secret=secret, webhook=None, ssl_verification=True, quiet=output.as_json))
        reports += _of_tests(command, key, chosen, limits)
    except KeyboardInterrupt:
        click.echo("Interrupted before all was tried, so there is no report.", err=True)
        return INTERRUPTED
    report = joined("test all", reports)
    output.show(report)
    return 0 if report.passed else FOUND


Limited = Callable[..., AbstractContextManager["RunLimits"]]


def _of_app(command: tuple[str, ...], scenario: list[str], key: str, chosen: dict[str, Any], limits: Limited) -> Report:
    from emulator.checks.app.driver import examine
    from emulator.cli.app import CommandRuns

    runs = CommandRuns(scenario, key, chosen)
    with limits(runs.commands, title="app: ") as limited:
        report = examine(runs.play, limited)
    if report.interrupted:
        raise KeyboardInterrupt
    return report._replace(repeat=repeating(command, "test", "app", runs=scenario)).report()


def _of_tests(command: tuple[str, ...], key: str, chosen: dict[str, Any], limits: Limited) -> list[Report]:
    from emulator.checks import client
    from emulator.checks.suite.mutants import MUTANTS
    from emulator.checks.suite.search import try_mutants
    from emulator.checks.suite.usage import WorldRecorder

    recorder = WorldRecorder()
    with (
        closing(SuiteRuns(command, key, chosen, recorder)) as runs,
        limits(runs.commands, title="suite: ") as limited,
    ):
        report = try_mutants(runs.play, MUTANTS, limited)
    if report.interrupted:
        raise KeyboardInterrupt
    report = report._replace(repeat=repeating(command, "test", "suite"))
    return [client.report(recorder.audits), with_usage(report, None)]
