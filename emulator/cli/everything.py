"""``test all``: one report of an application and its tests, made of what the other commands find."""

from __future__ import annotations

import json
import os
import platform
import shlex
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from emulator.cli.exec import handling
from emulator.cli.groups import INTERRUPTED, PROGRAM, RepeatableCommand, repeating
from emulator.cli.options import DEFAULT_KEY, OUTPUT_FILE, Number, Words, option, write_text
from emulator.cli.output import fitted
from emulator.cli.runs import CapturedCommands, ProgressLine
from emulator.cli.serve import serve
from emulator.cli.suite import OWN_OPTIONS
from emulator.cli.suite import player as mutant_player
from emulator.version import VERSION

if TYPE_CHECKING:
    from emulator.checks.all_report import AllReport, Area
    from emulator.checks.runs import RunLimits


PARAMETERS = [each for each in serve.params if each.name not in OWN_OPTIONS]


NO_STORY = (
    "Name a command that does what your application does, for the world of the key in PAYMENTS_EMULATOR_KEY, with "
    "--story, or call payments.test_app(scenario) in a test."
)
NO_RECEIVER = "Start your webhook receiver, and name it with --receiver URL and --secret SECRET."


AREAS = ("app", "receiver", "client", "usage", "suite", "assumptions")


class AllPlan(NamedTuple):
    """What is examined, and how much of it."""

    command: Sequence[str]
    story: Sequence[str]
    key: str
    receiver: str | None
    secret: str | None
    only: Sequence[str]
    skip: Sequence[str]
    sample: int | None
    jobs: int
    chosen: dict[str, Any]
    quiet: bool


@click.command("all", cls=RepeatableCommand, params=PARAMETERS, context_settings={"allow_interspersed_args": False})
@option("--key", default=DEFAULT_KEY, metavar="KEY", help="API key for COMMAND.")
@click.option(
    "--story", default="", metavar="COMMAND", help="What your application does, to be tried with every fault."
)
@click.option("--receiver", metavar="URL", help="Your webhook receiver, to be tested.")
@option("--secret", metavar="SECRET", help="Secret of the receiver.")
@click.option("--only", multiple=True, type=Words("AREA", AREAS), help="Examine this area. May be repeated.")
@click.option("--skip", multiple=True, metavar="NAME", help="Not this mutant. May be repeated.")
@click.option("--sample", type=click.IntRange(min=1), metavar="N", help="Try at most N cases in each area; no mark.")
@click.option("--fail-on", type=Number(0, 100), metavar="MARK", help="Fail below this mark (100).")
@click.option("--jobs", type=click.IntRange(1, 64), default=os.cpu_count() or 1, help="Runs at a time.")
@click.option("--html", type=OUTPUT_FILE, help="Write the report as a page.")
@click.option("--junit", type=OUTPUT_FILE, help="Write the report as JUnit XML.")
@click.option("--sarif", type=OUTPUT_FILE, help="Write the report as SARIF.")
@click.option("--badge", type=OUTPUT_FILE, help="Write a badge with the mark as SVG.")
@click.option("--json", "as_json", is_flag=True, help="The report as JSON.")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def everything(
    command: tuple[str, ...],
    key: str,
    *,
    story: str,
    receiver: str | None,
    secret: str | None,
    only: tuple[str, ...],
    skip: tuple[str, ...],
    sample: int | None,
    fail_on: float | None,
    jobs: int,
    html: Path | None,
    junit: Path | None,
    sarif: Path | None,
    badge: Path | None,
    as_json: bool,
    **chosen: Any,
) -> int:
    """Test an application, its tests, receiver and client at once.

    \b
    payments-emulator test all -- pytest -x
    payments-emulator test all --story 'python buy.py' --html report.html -- npm test
    payments-emulator test all --fail-on 90 -- pytest -x
    payments-emulator test all --sample 5 -- pytest -x

    COMMAND is your test suite. It runs many times, each time in its own sandbox with the same seed. The areas are
    app, receiver, client, usage, suite and assumptions. The same code gets the same report on the same day
    (SOURCE_DATE_EPOCH is another one).

    Exit status 1 where the mark, the mean of the areas that were examined, is less than --fail-on (100), or a sample,
    which has no mark, found a problem; 130 after Ctrl-C.
    """
    from emulator.checks import all_report

    if sample and (fail_on is not None or badge is not None):
        raise click.UsageError("--fail-on and --badge are about the mark, and a sample has none")

    def as_sarif(report: AllReport) -> str:
        return all_report.as_sarif(report, examined_file(command))

    seed = 0 if chosen["seed"] is None else chosen["seed"]
    own = {**chosen, "seed": seed, "state": "memory", "port": 0, "strict": False}
    plan = AllPlan(command, shlex.split(story), key, receiver, secret, only, skip, sample, jobs, own, quiet=as_json)
    try:
        # SIGTERM too is to end the commands under way.
        with handling(signal.default_int_handler):
            report = examine(plan)
    except KeyboardInterrupt:
        click.echo("Interrupted before all was tried, so there is no report.", err=True)
        return INTERRUPTED
    files = {html: all_report.as_html, junit: all_report.as_junit, sarif: as_sarif, badge: all_report.badge}
    for file, written in files.items():
        if file is not None:
            write_text(file, written(report))
    click.echo(all_report.as_json(report) if as_json else fitted("\n".join(report.lines())), nl=not as_json)
    return int(fails(report, 100 if fail_on is None else fail_on))


def fails(report: AllReport, least: float) -> bool:
    """Return whether the mark is too low; where there is none, whether anything was found."""
    if report.failure:
        return True
    return report.problems > 0 if report.mark is None else report.mark < least


def examined_file(command: Sequence[str]) -> str:
    """Return the first file of the project that a command names, as a path in it; without one that of its README."""
    from emulator.checks.all_report import README

    files = [Path(word) for word in command if not Path(word).is_absolute() and Path(word).is_file()]
    return files[0].as_posix() if files else README


def examine(plan: AllPlan) -> AllReport:
    """Examine every area that is wanted."""
    from emulator.checks import all_report
    from emulator.checks.all_report import AllReport, Examined
    from emulator.checks.suite.search import try_mutants
    from emulator.checks.suite.table import MUTANTS
    from emulator.checks.suite.usage import WorldRecorder

    versions = f"{PROGRAM} {VERSION}, Python {platform.python_version()}"
    examined = Examined(Path.cwd().name, shlex.join(plan.command), today(), versions, plan.only, plan.sample)
    recorder, commands = WorldRecorder(), CapturedCommands()
    play = mutant_player(plan.command, plan.key, plan.chosen, commands, recorder)
    with _limited(plan, "suite", commands.stop) as limits:
        mutants = MUTANTS if "suite" in (plan.only or AREAS) else {}
        mutated = try_mutants(play, mutants, limits, skip=plan.skip, most=plan.sample)
    if mutated.interrupted:
        raise KeyboardInterrupt
    if mutated.failure:
        return AllReport(examined, (), mutated.failure)
    usage = repeating(plan.command, "test", "suite", case=("--usage", "--group", "states"))
    ways: dict[str, Callable[[], Area]] = {
        "app": lambda: _of_app(plan),
        "receiver": lambda: _of_receiver(plan),
        "client": lambda: all_report.of_client(recorder.audits, repeating(plan.command, case=("--only", "client"))),
        "usage": lambda: all_report.of_usage(recorder.used.states, usage),
        "suite": lambda: all_report.of_suite(mutated._replace(repeat=repeating(plan.command, "test", "suite"))),
        "assumptions": lambda: _of_assumptions(plan),
    }
    return AllReport(examined, [ways[area]() for area in AREAS if area in (plan.only or AREAS)])


def today() -> str:
    """Return the date in UTC; ``SOURCE_DATE_EPOCH``, in seconds, stands for the present as in reproducible builds."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    try:
        return datetime.fromtimestamp(int(epoch), UTC).date().isoformat()
    except (ValueError, OverflowError, OSError):
        return datetime.now(UTC).date().isoformat()


@contextmanager
def _limited(plan: AllPlan, area: str, stop: Callable[[], None] = lambda: None) -> Iterator[RunLimits]:
    """Give how many runs an area may have at a time; their number is shown on a terminal."""
    from emulator.checks.runs import RunLimits

    shown = ProgressLine(quiet=plan.quiet, title=f"{area}: ")
    try:
        yield RunLimits(plan.jobs, progress=shown.show, stop=stop)
    finally:
        shown.end()


def _of_app(plan: AllPlan) -> Area:
    from emulator.checks import all_report
    from emulator.checks.app.driver import Search, examine
    from emulator.cli.app import CommandRuns

    if not plan.story:
        return all_report.APP._replace(not_examined=NO_STORY)
    runs = CommandRuns(plan.story, (), plan.key, "2d", plan.chosen)
    with _limited(plan, "app", runs.stop) as limits:
        report = examine(runs.play, limits, Search(most=plan.sample))
    if report.interrupted:
        raise KeyboardInterrupt
    return all_report.of_app(report._replace(repeat=repeating(plan.command, "test", "app", runs=plan.story)))


def _of_receiver(plan: AllPlan) -> Area:
    from emulator.checks import all_report

    if not plan.receiver:
        return all_report.RECEIVER._replace(not_examined=NO_RECEIVER)
    words = ["test", "receiver", plan.receiver]
    return all_report.of_receiver(results_of(words, plan.secret), shlex.join([PROGRAM, *words]))


def results_of(words: Sequence[str], secret: str | None) -> list[Any]:
    """Return what ``test receiver``, run in a process of its own, found. Raises ``ClickException`` if it did not run."""
    command = [sys.executable, "-m", "emulator.cli.main", *words, "--json"]
    _, output = CapturedCommands().run(command, {"PAYMENTS_EMULATOR_SECRET": secret} if secret else {})
    results = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    if not results:
        raise click.ClickException(output.strip().removeprefix("payments-emulator: "))
    return results


def _of_assumptions(plan: AllPlan) -> Area:
    from emulator.checks import all_report
    from emulator.checks.suite.search import sample
    from emulator.cli.exec import run_all

    with _limited(plan, "assumptions") as limits:
        runs = run_all(
            plan.command,
            plan.key,
            plan.chosen,
            choose=lambda others: sample(others, plan.sample),
            progress=limits.progress,
        )
    return all_report.of_assumptions(runs, repeating(plan.command, "exec", case=("--assume", "CASE")))
