"""``test suite``: which mutants of the service do these tests catch, and what do they never use?"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from emulator.cli.groups import FOUND, INTERRUPTED, UNFINISHED, repeating
from emulator.cli.options import Parsed, Words, guidance
from emulator.cli.output import counted, fitted
from emulator.cli.report_output import ReportOutput
from emulator.cli.runs import budget, examination, jobs, limited
from emulator.cli.suite_runs import SuiteRuns

if TYPE_CHECKING:
    from emulator.checks.report import Report
    from emulator.checks.suite.search import SuiteReport


GROUPS = ("events", "states", "moves", "errors", "operations", "statuses", "fields", "parameters")
"""The groups of what is used, first those in which what is missing costs an application most."""


class Threshold(NamedTuple):
    """The least percentage: of a group of what is used, or of mutants that are caught (None)."""

    group: str | None
    percentage: float


def threshold(value: str) -> Threshold:
    group, _, number = value.rpartition("=")
    if group and group not in GROUPS:
        raise ValueError(f"there is no group {group!r}; {guidance(group, GROUPS)}")
    try:
        percentage = float(number.removesuffix("%"))
    except ValueError:
        percentage = -1
    if not 0 <= percentage <= 100:
        raise ValueError(f"{value!r}: a percentage from 0 to 100, such as 80 for the score or events=100 for a group")
    return Threshold(group or None, percentage)


def listed(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    """Print every mutant by area, with what is wrong and what a test has to look at, and end."""
    if wanted:
        from emulator.checks.suite.table import AREAS

        for area, rows in AREAS.items():
            click.echo(click.style(area, bold=True))
            for row in rows:
                click.echo(fitted(f"  {row.name}\n    {row.wrong}\n    {row.look}"))
        context.exit(0)


@examination(
    click.option(
        "--fail-on",
        "thresholds",
        multiple=True,
        type=Parsed("[GROUP=]PERCENT", threshold),
        help="Fail below this score (100) or use of GROUP.",
    ),
    click.option("--all", "every", is_flag=True, help="Include mutants that a client shouldn't detect."),
    click.option("--all-tests", is_flag=True, help="Run all tests for each, not only those that reached its place."),
    click.option("--only", multiple=True, metavar="NAME", help="Only this one, or 'refund-*'. May be repeated."),
    click.option("--skip", multiple=True, metavar="NAME", help="Skip this mutant. May be repeated."),
    click.option("--list", is_flag=True, is_eager=True, expose_value=False, callback=listed, help="List every mutant."),
    click.option("--usage", is_flag=True, help="Run COMMAND once, and show only what it uses."),
    click.option(
        "--group", "groups", multiple=True, type=Words("GROUP", GROUPS), help="Show this group of it. May be repeated."
    ),
    click.option("--missing", is_flag=True, help="List all that is never used, one per line."),
    budget,
    jobs(1),
)
def suite(
    command: tuple[str, ...],
    key: str,
    *,
    thresholds: tuple[Threshold, ...],
    every: bool,
    all_tests: bool,
    only: tuple[str, ...],
    skip: tuple[str, ...],
    usage: bool,
    groups: tuple[str, ...],
    missing: bool,
    budget: float | None,
    jobs: int,
    output: ReportOutput,
    **chosen: Any,
) -> int:
    """Show which mutants of the service your tests catch.

    The report ends with what they never use.

    \b
    payments-emulator test suite -- pytest -x
    payments-emulator test suite --fail-on 80 --budget 120 -- npm test
    payments-emulator test suite --usage --fail-on operations=60 -- npm test

    Run your test suite once as a baseline, then once per mutant (a service that is wrong in one way) that it could
    detect, each time in its own sandbox with the same seed. A mutant survives a run that passes. Under pytest with the
    plugin, only the tests that reached its place in the baseline are run. What COMMAND uses is what the baseline
    exercised, in all its Apps.

    Exit status 1 where the score, the percentage of mutants caught, or a GROUP is below --fail-on; 3 where --budget
    ended before all was tried; 130 after Ctrl-C, with what was found before.
    """
    from emulator.checks.suite.search import named_by, try_mutants
    from emulator.checks.suite.table import MUTANTS
    from emulator.checks.suite.usage import WorldRecorder

    for name in (*only, *skip):
        if not any(named_by(row, [name]) for row in MUTANTS.values()):
            raise click.BadParameter(f"{name}: there is no such mutant; --list shows them", param_hint="'--only'")
    wanted = {each.group: each.percentage for each in thresholds}
    for group in wanted:
        if groups and group and group not in groups:
            raise click.UsageError(f"--fail-on {group}=… names a group that is not shown; add --group {group}")
    recorder = WorldRecorder()
    with (
        closing(SuiteRuns(command, key, chosen, recorder)) as runs,
        limited(runs.commands, jobs=jobs, budget=budget, quiet=output.as_json) as limits,
    ):
        mutants = {} if usage else MUTANTS
        report = try_mutants(runs.play, mutants, limits, only=only, skip=skip, every=every, all_tests=all_tests)
    report = report._replace(repeat=repeating(command))
    used = recorder.used.report(groups or GROUPS)
    is_played = not (report.failure or report.interrupted)
    output.show(with_usage(report, used if is_played else None, only_usage=usage, missing=missing))
    if report.interrupted:
        return INTERRUPTED
    is_short = is_played and _is_short(used["groups"], wanted)
    untried = usage or (report.remaining > 0 and not report.tried)
    if is_short or report.failure or not (untried or report.passes(wanted.get(None, 100))):
        return FOUND
    return UNFINISHED if report.remaining else 0


def with_usage(report: SuiteReport, used: Any, *, only_usage: bool = False, missing: bool = False) -> Report:
    """Return the report with what the suite used, where it was played to its end; with that alone if nothing else is asked."""
    whole = report.report()
    if not used:
        return whole._replace(facts={**whole.facts, "usage": None})
    headline, *lines = usage_lines(used, missing)
    facts = {**whole.facts, "usage": used}
    if only_usage:
        return whole._replace(headline=headline, failure=None, notes=lines, facts=facts)
    gap = [""] if whole.notes or not whole.findings else []
    notes = [*whole.notes, *([*gap, headline, *lines] if used["request_count"] else [])]
    return whole._replace(notes=notes, facts=facts)


def _is_short(groups: Mapping[str, Any], wanted: Mapping[str | None, float]) -> bool:
    short = [name for name, group in groups.items() if percentage(group) < wanted.get(name, 0)]
    for name in short:
        click.echo(f"{name}: {shown_percentage(groups[name])} is less than {wanted[name]:g} %", err=True)
    return bool(short)


def percentage(group: Any) -> float:
    return float(100 * group["count"] / group["total"])


def shown_percentage(group: Any) -> str:
    """Return the percentage as text, rounded down: only a complete group has 100 %."""
    return f"{int(10 * percentage(group)) / 10:.1f} %"


def usage_lines(used: Any, every: bool) -> Iterator[str]:
    yield f"What the tests never used, with {counted(used['request_count'], 'request')}:"
    yield from [f"  no test sees {need}" for need in used["needs"]]
    for name, group in used["groups"].items():
        yield f"{name:12}{group['count']:>4} of {group['total']:>3} {shown_percentage(group):>9}"
        yield from [f"  {each}" for each in group["missing"]] if every else preview(group["missing"])


def preview(missing: Sequence[str]) -> Iterator[str]:
    """Yield as many names as fit on a line of the terminal, and the number of the others."""
    room = shutil.get_terminal_size().columns - len("  never: , and 999 more")
    lengths = accumulate(len(name) + len(", ") for name in missing)
    fitting = sum(length <= room + len(", ") for length in lengths)
    shown = ", ".join(missing[:fitting])
    rest = f"{len(missing) - fitting} more" if fitting < len(missing) else ""
    if missing:
        yield f"  never: {', and '.join(filter(None, (shown, rest)))}"
