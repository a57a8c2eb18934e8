"""``test suite``: which mutants of the service do these tests catch, and what do they never use?"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import click

from emulator.cli.groups import FOUND, INTERRUPTED, UNFINISHED, repeating
from emulator.cli.options import Number
from emulator.cli.output import counted, fitted
from emulator.cli.report_output import ReportOutput
from emulator.cli.runs import budget, examination, jobs, limited
from emulator.cli.suite_runs import SuiteRuns

if TYPE_CHECKING:
    from emulator.checks.report import Report
    from emulator.checks.suite.search import SuiteReport


GROUPS = ("events", "states", "moves", "errors", "operations", "statuses", "fields", "parameters")
"""The groups of what is used, first those in which what is missing costs an application most."""


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
        show_default=True,
        metavar="PERCENT",
        help="Fail below this score.",
    ),
    click.option("--only", multiple=True, metavar="NAME", help="Only this one, or 'refund-*'. May be repeated."),
    click.option("--skip", multiple=True, metavar="NAME", help="Skip this mutant. May be repeated."),
    click.option("--list", is_flag=True, is_eager=True, expose_value=False, callback=listed, help="List every mutant."),
    click.option("--usage", is_flag=True, help="Run COMMAND once, and show only what it uses."),
    budget,
    jobs(1),
)
def suite(
    command: tuple[str, ...],
    key: str,
    *,
    least: float,
    only: tuple[str, ...],
    skip: tuple[str, ...],
    usage: bool,
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
    payments-emulator test suite --usage -- npm test

    Run your test suite once as a baseline, then once per mutant (a service that is wrong in one way) that it could
    detect, each time in its own sandbox with the same seed. A mutant survives a run that passes. Under pytest with the
    plugin, only the tests that reached its place in the baseline are run. What COMMAND uses is what the baseline
    exercised, in all its Apps.

    Exit status 1 where the score, the percentage of mutants caught, is below --fail-on; 3 where --budget ended before
    all was tried; 130 after Ctrl-C, with what was found before.
    """
    from emulator.checks.suite.mutants import MUTANTS
    from emulator.checks.suite.search import named_by, try_mutants
    from emulator.checks.suite.usage import WorldRecorder

    for name in (*only, *skip):
        if not any(named_by(row, [name]) for row in MUTANTS.values()):
            raise click.BadParameter(f"{name}: there is no such mutant; --list shows them", param_hint="'--only'")
    recorder = WorldRecorder()
    with (
        closing(SuiteRuns(command, key, chosen, recorder)) as runs,
        limited(runs.commands, jobs=jobs, budget=budget, quiet=output.as_json) as limits,
    ):
        report = try_mutants(runs.play, {} if usage else MUTANTS, limits, only=only, skip=skip)
    report = report._replace(repeat=repeating(command))
    is_played = not (report.failure or report.interrupted)
    output.show(with_usage(report, recorder.used.report(GROUPS) if is_played else None, only_usage=usage))
    if report.interrupted:
        return INTERRUPTED
    untried = usage or (report.remaining > 0 and not report.tried)
    if report.failure or not (untried or report.passes(least)):
        return FOUND
    return UNFINISHED if report.remaining else 0


def with_usage(report: SuiteReport, used: Any, *, only_usage: bool = False) -> Report:
    """Return the report with what the suite used, where it was played to its end; with that alone if nothing else is asked."""
    whole = report.report()
    if not used:
        return whole._replace(facts={**whole.facts, "usage": None})
    headline, *lines = usage_lines(used)
    facts = {**whole.facts, "usage": used}
    if only_usage:
        return whole._replace(headline=headline, failure=None, notes=lines, facts=facts)
    gap = [""] if whole.notes or not whole.findings else []
    notes = [*whole.notes, *([*gap, headline, *lines] if used["request_count"] else [])]
    return whole._replace(notes=notes, facts=facts)


def usage_lines(used: Any) -> Iterator[str]:
    yield f"What the tests never used, with {counted(used['request_count'], 'request')}:"
    yield from [f"  no test sees {need}" for need in used["needs"]]
    for name, group in used["groups"].items():
        # Rounded down: only a complete group has 100 %.
        percentage = int(1000 * group["count"] / group["total"]) / 10
        yield f"{name:12}{group['count']:>4} of {group['total']:>3} {percentage:>7.1f} %"
        yield from preview(group["missing"])


def preview(missing: Sequence[str]) -> Iterator[str]:
    """Yield as many names as fit on a line of the terminal, and the number of the others."""
    room = shutil.get_terminal_size().columns - len("  never: , and 999 more")
    lengths = accumulate(len(name) + len(", ") for name in missing)
    fitting = sum(length <= room + len(", ") for length in lengths)
    shown = ", ".join(missing[:fitting])
    rest = f"{len(missing) - fitting} more" if fitting < len(missing) else ""
    if missing:
        yield f"  never: {', and '.join(filter(None, (shown, rest)))}"
