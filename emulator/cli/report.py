"""``test all``: one report of an application and its tests, made of what the other commands find."""

from __future__ import annotations

import json
import os
import shlex
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from emulator.cli.exec import handling
from emulator.cli.groups import INTERRUPTED, SandboxCommand
from emulator.cli.options import DEFAULT_KEY, OUTPUT_FILE, option, write_text
from emulator.cli.runs import ProgressLine, run_captured
from emulator.cli.serve import serve
from emulator.cli.suite import LEFT_OUT, environment
from emulator.cli.suite import player as doubt_player

if TYPE_CHECKING:
    from emulator.checks.grade_report import Area, Exam
    from emulator.checks.runs import RunLimits


PARAMETERS = [each for each in serve.params if each.name not in LEFT_OUT]


NO_STORY = (
    "Name a command that does what your application does, for the world of the key in PAYMENTS_EMULATOR_KEY, with "
    "--story, or call payments.test_app(scenario) in a test."
)
NO_RECEIVER = "Start your webhook receiver, and name it with --receiver URL and --secret SECRET."


class ExamPlan(NamedTuple):
    """What is examined, and how much of it."""

    command: Sequence[str]
    story: Sequence[str]
    key: str
    receiver: str | None
    secret: str | None
    skip: Sequence[str]
    most: int | None
    jobs: int
    chosen: dict[str, Any]
    quiet: bool


@click.command("all", cls=SandboxCommand, params=PARAMETERS, context_settings={"allow_interspersed_args": False})
@option("--key", default=DEFAULT_KEY, metavar="KEY", help="API key for COMMAND.")
@click.option(
    "--story", default="", metavar="COMMAND", help="What your application does, to be tried with every fault."
)
@click.option("--receiver", metavar="URL", help="Your webhook receiver, to be tested.")
@option("--secret", metavar="SECRET", help="Secret of the receiver.")
@click.option("--skip", multiple=True, metavar="NAME", help="Not this wrong service; repeatable.")
@click.option("--sample", "most", type=click.IntRange(min=1), metavar="N", help="At most N questions for each area.")
@click.option("--fail-on", type=click.FloatRange(0, 100), default=100, metavar="MARK", help="Fail below this mark.")
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
    skip: tuple[str, ...],
    most: int | None,
    fail_on: float,
    jobs: int,
    html: Path | None,
    junit: Path | None,
    sarif: Path | None,
    badge: Path | None,
    as_json: bool,
    **chosen: Any,
) -> int:
    """Test an application, its tests, its receiver and its client, in one report.

    \b
    payments-emulator test all -- pytest -x
    payments-emulator test all --story 'python buy.py' --html report.html -- npm test
    payments-emulator test all --sample 5 --fail-on 90 -- pytest -x

    COMMAND is your test suite. It runs many times, each time in a sandbox of its own with the same seed. The areas are
    app, receiver, client, usage, suite and assumptions. The report has no times, ids or paths of a run: the same code
    gets the same report.

    Exit status 1 where the mark, the mean of the areas that were asked, is less than --fail-on (100); 130 after Ctrl-C.
    """
    # Imported here: the help of this command needs none of them.
    from emulator.checks import grade_report
    from emulator.checks.grade_report import as_html

    def as_sarif(exam: Exam) -> str:
        return grade_report.as_sarif(exam, examined_file(command))

    seed = 0 if chosen["seed"] is None else chosen["seed"]
    own = {**chosen, "seed": seed, "state": "memory", "port": 0, "strict": False}
    plan = ExamPlan(command, shlex.split(story), key, receiver, secret, skip, most, jobs, own, quiet=as_json)
    try:
        # SIGTERM too is to end the commands under way.
        with handling(signal.default_int_handler):
            exam = examine(plan)
    except KeyboardInterrupt:
        click.echo("Interrupted: an exam that is not finished has no mark.", err=True)
        return INTERRUPTED
    files = {html: as_html, junit: grade_report.as_junit, sarif: as_sarif, badge: grade_report.badge}
    for file, written in files.items():
        if file is not None:
            write_text(file, written(exam))
    click.echo(grade_report.as_json(exam) if as_json else "\n".join(exam.lines()), nl=not as_json)
    return int(exam.failure is not None or exam.mark < fail_on)


def examined_file(command: Sequence[str]) -> str:
    """The first file of the project that a command names, as a path in the project; without one its README."""
    from emulator.checks.grade_report import README

    files = [Path(word) for word in command if not Path(word).is_absolute() and Path(word).is_file()]
    return files[0].as_posix() if files else README


def examine(plan: ExamPlan) -> Exam:
    """Ask everything that can be asked."""
    from emulator.checks import grade_report
    from emulator.checks.grade_report import Exam, ExamRecorder
    from emulator.checks.suite.search import doubt
    from emulator.checks.suite.table import DOUBTS
    from emulator.cli.runs import CapturedCommands

    recorder, commands = ExamRecorder(), CapturedCommands()
    play = doubt_player(plan.command, plan.key, plan.chosen, commands, recorder)
    with _limited(plan, "suite", commands.stop) as limits:
        doubted = doubt(play, DOUBTS, limits, skip=plan.skip, most=plan.most)
    if doubted.interrupted:
        raise KeyboardInterrupt
    if doubted.failure:
        return Exam((), doubted.failure)
    return Exam(
        (
            _swept(plan),
            _certified(plan),
            grade_report.of_client(recorder.audits),
            grade_report.of_usage(recorder.reached),
            grade_report.of_suite(doubted),
            _read(plan),
        )
    )


@contextmanager
def _limited(plan: ExamPlan, area: str, stop: Callable[[], None] = lambda: None) -> Iterator[RunLimits]:
    """How many runs an area may have at a time; their number is shown on a terminal."""
    from emulator.checks.runs import RunLimits

    shown = ProgressLine(quiet=plan.quiet, title=f"{area}: ")
    try:
        yield RunLimits(plan.jobs, progress=shown.show, stop=stop)
    finally:
        shown.end()


def _swept(plan: ExamPlan) -> Area:
    from emulator.checks import grade_report
    from emulator.checks.app.driver import Search, examine
    from emulator.cli.app import CommandRuns

    if not plan.story:
        return grade_report.APP._replace(not_asked=NO_STORY)
    runs = CommandRuns(plan.story, (), plan.key, "2d", plan.chosen)
    with _limited(plan, "app", runs.stop) as limits:
        report = examine(runs.play, limits, Search(most=plan.most))
    if report.interrupted:
        raise KeyboardInterrupt
    return grade_report.of_app(report)


def _certified(plan: ExamPlan) -> Area:
    from emulator.checks import grade_report

    if not plan.receiver:
        return grade_report.RECEIVER._replace(not_asked=NO_RECEIVER)
    command = [sys.executable, "-m", "emulator.cli.main", "test", "receiver", "--json", plan.receiver]
    _, output = run_captured(command, {"PAYMENTS_EMULATOR_SECRET": plan.secret} if plan.secret else {})
    results = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    if not results:
        raise click.ClickException(output.strip().removeprefix("payments-emulator: "))
    return grade_report.of_receiver(results)


def _read(plan: ExamPlan) -> Area:
    from emulator.checks import grade_report
    from emulator.checks.suite.search import sample
    from emulator.cli.exec import run_all

    def variables(server: Any) -> dict[str, str]:
        return environment(server.url, plan.key, plan.chosen["control_token"])

    app = plan.key.split("_", 2)[-1]
    with _limited(plan, "assumptions") as limits:
        runs = run_all(
            plan.command,
            app,
            variables,
            plan.chosen,
            choose=lambda others: sample(others, plan.most),
            progress=limits.progress,
        )
    return grade_report.of_assumptions(runs)
