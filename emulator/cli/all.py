"""``test all``: the examinations of an application, its tests, its receiver and its client, in one report."""

from __future__ import annotations

import os
import shlex
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from emulator.cli.exec import handling
from emulator.cli.groups import FOUND, INTERRUPTED, RepeatableCommand, repeating
from emulator.cli.listen import destination
from emulator.cli.options import DEFAULT_KEY, option
from emulator.cli.receiver import certified
from emulator.cli.report_output import ReportOutput, with_report
from emulator.cli.runs import CapturedCommands, ProgressLine
from emulator.cli.serve import serve
from emulator.cli.suite import OWN_OPTIONS, player, with_usage

if TYPE_CHECKING:
    from emulator.checks.report import Report
    from emulator.checks.runs import RunLimits


PARAMETERS = [each for each in serve.params if each.name not in OWN_OPTIONS]


@click.command("all", cls=RepeatableCommand, params=PARAMETERS, context_settings={"allow_interspersed_args": False})
@option("--key", default=DEFAULT_KEY, metavar="KEY", help="API key for COMMAND.")
@click.option("--app", "scenario", metavar="COMMAND", help="What your application does, to be tried with every fault.")
@click.option("--receiver", metavar="URL", help="Your webhook receiver, to be tested.")
@option("--secret", metavar="SECRET", help="Secret of the receiver.")
@click.option("--jobs", type=click.IntRange(1, 64), default=os.cpu_count() or 1, help="Runs at a time.")
@with_report
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
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
    payments-emulator test all --app 'python buy.py' --receiver localhost:3000/hooks -- npm test
    payments-emulator test all --html report.html -- pytest -x

    COMMAND is your test suite: 'test suite' runs it with mutants of the service, and 'test client' looks at what its first
    run did. With --app 'test app' tries what your application does with every fault, with --receiver 'test receiver' tests
    your webhook receiver. The worst findings come first.

    Exit status 1 where anything was found, 130 after Ctrl-C.
    """
    from emulator.checks.report import joined

    @contextmanager
    def limited(name: str, stop: Callable[[], None]) -> Iterator[RunLimits]:
        from emulator.checks.runs import RunLimits

        shown = ProgressLine(quiet=output.as_json, title=f"{name}: ")
        try:
            yield RunLimits(jobs, progress=shown.show, stop=stop)
        finally:
            shown.end()

    reports: list[Report] = []
    try:
        # SIGTERM too is to end the commands under way.
        with handling(signal.default_int_handler):
            if scenario:
                reports.append(_of_app(command, shlex.split(scenario), key, chosen, limited))
            if receiver:
                url = destination(receiver, "'--receiver'")
                reports.append(certified(url, secret=secret, webhook=None, ssl_verification=True, quiet=output.as_json))
            reports += _of_tests(command, key, chosen, limited)
    except KeyboardInterrupt:
        click.echo("Interrupted before all was tried, so there is no report.", err=True)
        return INTERRUPTED
    report = joined("test all", reports)
    output.show(report)
    return 0 if report.passed else FOUND


Limited = Callable[[str, Callable[[], None]], Any]


def _of_app(
    command: tuple[str, ...], scenario: list[str], key: str, chosen: dict[str, Any], limited: Limited
) -> Report:
    from emulator.checks.app.driver import examine
    from emulator.cli.app import CommandRuns

    own = {
        **chosen,
        "seed": 0 if chosen["seed"] is None else chosen["seed"],
        "state": "memory",
        "port": 0,
        "strict": False,
    }
    runs = CommandRuns(scenario, (), key, "2d", own)
    with limited("app", runs.stop) as limits:
        report = examine(runs.play, limits)
    if report.interrupted:
        raise KeyboardInterrupt
    return report._replace(repeat=repeating(command, "test", "app", runs=scenario)).report()


def _of_tests(command: tuple[str, ...], key: str, chosen: dict[str, Any], limited: Limited) -> list[Report]:
    """Return the reports of the client that the tests are, and of the tests themselves."""
    from emulator.checks import client
    from emulator.checks.suite.search import try_mutants
    from emulator.checks.suite.table import MUTANTS
    from emulator.checks.suite.usage import WorldRecorder

    recorder, commands = WorldRecorder(), CapturedCommands()
    with limited("suite", commands.stop) as limits:
        report = try_mutants(player(command, key, chosen, commands, recorder), MUTANTS, limits)
    if report.interrupted:
        raise KeyboardInterrupt
    report = report._replace(repeat=repeating(command, "test", "suite"))
    return [client.report(recorder.audits), with_usage(report, None)]
