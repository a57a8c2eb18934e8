"""``coverage``: how much of the OpenAPI document was exercised, as a report or as a check."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from emulator.cli.options import Words, as_json, guidance, with_client
from emulator.cli.output import counted, print_line

if TYPE_CHECKING:
    from emulator.cli.client import ControlClient

GROUPS = ("operations", "statuses", "fields", "parameters", "states", "moves", "events", "errors")


class Threshold(NamedTuple):
    """The least percentage of a group, or of every group (None), that must be exercised."""

    group: str | None
    percentage: float


class ThresholdType(click.ParamType):  # type: ignore[type-arg]  # older clicks have no generic one
    """``80``, ``80%`` or ``events=100``."""

    name = "[GROUP=]PERCENT"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Threshold:
        """The threshold."""
        group, _, number = value.rpartition("=")
        if group and group not in GROUPS:
            self.fail(f"there is no group {group!r}; {guidance(group, GROUPS)}", param, ctx)
        try:
            percentage = float(number.removesuffix("%"))
        except ValueError:
            percentage = -1
        if not 0 <= percentage <= 100:
            self.fail(
                f"{value!r}: a percentage from 0 to 100, such as 80 for every group or events=100 for one", param, ctx
            )
        return Threshold(group or None, percentage)


@click.command()
@click.option(
    "--group", "groups", multiple=True, type=Words("GROUP", GROUPS), help="Show only this group; may be repeated."
)
@click.option("--missing", is_flag=True, help="List everything that is missing, one per line.")
@click.option(
    "--fail-on",
    "thresholds",
    multiple=True,
    type=ThresholdType(),
    help="Exit with status 1 if a group shown, or GROUP, has less; may be repeated.",
)
@click.option("--every-app", is_flag=True, help="Include all open Apps (for example one per test).")
@as_json
@with_client
def coverage(
    emulator: ControlClient,
    *,
    groups: tuple[str, ...],
    missing: bool,
    thresholds: tuple[Threshold, ...],
    every_app: bool,
    as_json: bool,
) -> int:
    """Show how much of the service was exercised.

    \b
    payments-emulator coverage
    payments-emulator coverage --missing --group operations --group events
    payments-emulator coverage --fail-on 80 --group operations
    payments-emulator coverage --every-app --fail-on operations=80 --fail-on events=100

    Counts everything in the App's world since the emulator started, or since 'payments-emulator reset'. Exit status 1
    where a group is below --fail-on.
    """
    shown = groups or GROUPS
    wanted = required(thresholds, shown)
    query = {"group": ",".join(groups) or None}
    apps = [report for _, report in emulator.of_every_app("/coverage", **query)] if every_app else []
    report = merged(apps) if apps else emulator.get("/coverage", **query)
    print_line(report, lambda report: "\n".join(lines(report, missing)), as_json)
    short = [name for name in shown if percentage(report[name]) < wanted.get(name, 0)]
    for name in short:
        click.echo(f"{name}: {shown_percentage(report[name])} is less than {wanted[name]:g} %", err=True)
    return 1 if short else 0


def required(thresholds: Sequence[Threshold], shown: Sequence[str]) -> Mapping[str, float]:
    """The percentage each group needs. A threshold for one group overrides one for all groups."""
    every = {name: each.percentage for each in thresholds if each.group is None for name in shown}
    own = {each.group: each.percentage for each in thresholds if each.group is not None}
    for name in own.keys() - {*shown}:
        raise click.UsageError(f"--fail-on {name}=… names a group that is not shown; add --group {name}")
    return {**every, **own}


def merged(reports: Sequence[Any]) -> Any:
    """Several reports as one: the union of what they exercised."""
    counts = {name: sum(report[name] for report in reports) for name in ("request_count", "passed_over")}
    groups = {name: merged_group([report[name] for report in reports]) for name in GROUPS if name in reports[0]}
    return {"object": "coverage", **counts, **groups}


def merged_group(groups: Sequence[Any]) -> Any:
    """The union of one group of several reports."""
    exercised = [*dict.fromkeys(name for group in groups for name in group["exercised"])]
    missing = [name for name in groups[0]["missing"] if name not in exercised]
    total = groups[0]["total"]
    counts = {"share": round(len(exercised) / total, 4), "count": len(exercised), "total": total}
    calls = sum((Counter(group.get("calls", {})) for group in groups), Counter())
    return {**counts, "exercised": exercised, "missing": missing, **({"calls": calls} if calls else {})}


def percentage(group: Any) -> float:
    """The percentage of a group that was exercised."""
    return float(100 * group["count"] / group["total"])


def shown_percentage(group: Any) -> str:
    """The percentage as text, rounded down: only a complete group has 100 %."""
    return f"{int(10 * percentage(group)) / 10:.1f} %"


def lines(report: Any, every: bool) -> Iterator[str]:
    """A line for each group and below it what is missing: as much as fits on one line, or everything."""
    yield f"{counted(report['request_count'], 'request')} to the service"
    for name in GROUPS:
        if group := report.get(name):
            head = click.style(name.ljust(12), bold=True)
            yield f"{head}{group['count']:>4} of {group['total']:>3} {shown_percentage(group):>9}"
            yield from [f"  {each}" for each in group["missing"]] if every else preview(group["missing"])
    if report["passed_over"]:
        yield f"Not counted towards states and moves: {counted(report['passed_over'], 'job')} in long advances."


def preview(missing: Sequence[str]) -> Iterator[str]:
    """As many names as fit on a line of the terminal, and the number of the others."""
    room = shutil.get_terminal_size().columns - len("  missing: , and 999 more")
    lengths = accumulate(len(name) + len(", ") for name in missing)
    fitting = sum(length <= room + len(", ") for length in lengths)
    shown = ", ".join(missing[:fitting])
    rest = f"{len(missing) - fitting} more" if fitting < len(missing) else ""
    if missing:
        yield f"  missing: {', and '.join(filter(None, (shown, rest)))}"
