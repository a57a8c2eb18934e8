"""``coverage``: what of the service's document was exercised, and whether that is enough."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from emulator.cli.options import Words, as_json, guidance, speaking
from emulator.cli.output import counted, print_line

if TYPE_CHECKING:
    from emulator.cli.client import ControlClient

GROUPS = ("operations", "statuses", "fields", "parameters", "states", "moves", "events", "errors")


class Floor(NamedTuple):
    """What per cent of a group, or of each (None), must have been exercised."""

    group: str | None
    per_cent: float


class FloorType(click.ParamType):  # type: ignore[type-arg]  # older clicks have no generic one
    """``80``, ``80%`` or ``events=100``."""

    name = "[GROUP=]PERCENT"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Floor:
        """The floor that is meant."""
        group, _, number = value.rpartition("=")
        if group and group not in GROUPS:
            self.fail(f"there is no group {group!r}; {guidance(group, GROUPS)}", param, ctx)
        try:
            per_cent = float(number.removesuffix("%"))
        except ValueError:
            per_cent = -1
        if not 0 <= per_cent <= 100:
            self.fail(f"{value!r}: 0 to 100 per cent, such as 80 for every group or events=100 for one", param, ctx)
        return Floor(group or None, per_cent)


@click.command()
@click.option("--group", "groups", multiple=True, type=Words("GROUP", GROUPS), help="Only this one; can be repeated.")
@click.option("--missing", is_flag=True, help="List all that is missing, each on a line.")
@click.option(
    "--fail-on",
    "floors",
    multiple=True,
    type=FloorType(),
    help="Exit status 1 if of a group shown, or of GROUP, less was exercised; can be repeated.",
)
@click.option("--every-app", is_flag=True, help="Of all Apps whose worlds are open, such as one for each test.")
@as_json
@speaking
def coverage(
    emulator: ControlClient,
    *,
    groups: tuple[str, ...],
    missing: bool,
    floors: tuple[Floor, ...],
    every_app: bool,
    as_json: bool,
) -> int:
    """Show what of the service was exercised; exit status 1 under --fail-on.

    \b
    payments-emulator coverage
    payments-emulator coverage --missing --group operations --group events
    payments-emulator coverage --fail-on 80 --group operations
    payments-emulator coverage --every-app --fail-on operations=80 --fail-on events=100

    It counts what the App's world met since the emulator started, or since 'payments-emulator reset'.
    """
    shown = groups or GROUPS
    wanted = least(floors, shown)
    query = {"group": ",".join(groups) or None}
    apps = [told for _, told in emulator.of_every_app("/coverage", **query)] if every_app else []
    report = together(apps) if apps else emulator.get("/coverage", **query)
    print_line(report, lambda report: "\n".join(lines(report, missing)), as_json)
    short = [name for name in shown if per_cent(report[name]) < wanted.get(name, 0)]
    for name in short:
        click.echo(f"{name}: {told(report[name])} is less than {wanted[name]:g} %", err=True)
    return 1 if short else 0


def least(floors: Sequence[Floor], shown: Sequence[str]) -> Mapping[str, float]:
    """What per cent each group needs; what is said of one group counts more than what is said of all."""
    every = {name: floor.per_cent for floor in floors if floor.group is None for name in shown}
    own = {floor.group: floor.per_cent for floor in floors if floor.group is not None}
    for name in own.keys() - {*shown}:
        raise click.UsageError(f"--fail-on {name}=… is about a group that is not shown; add --group {name}")
    return {**every, **own}


def together(reports: Sequence[Any]) -> Any:
    """Several reports as one: exercised is what was so anywhere."""
    counts = {name: sum(told[name] for told in reports) for name in ("request_count", "passed_over")}
    groups = {name: united([told[name] for told in reports]) for name in GROUPS if name in reports[0]}
    return {"object": "coverage", **counts, **groups}


def united(groups: Sequence[Any]) -> Any:
    """One group of several reports as one."""
    exercised = [*dict.fromkeys(name for group in groups for name in group["exercised"])]
    missing = [name for name in groups[0]["missing"] if name not in exercised]
    total = groups[0]["total"]
    counts = {"share": round(len(exercised) / total, 4), "count": len(exercised), "total": total}
    calls = sum((Counter(group.get("calls", {})) for group in groups), Counter())
    return {**counts, "exercised": exercised, "missing": missing, **({"calls": calls} if calls else {})}


def per_cent(group: Any) -> float:
    """The share of a group that was exercised."""
    return float(100 * group["count"] / group["total"])


def told(group: Any) -> str:
    """The same in words; what is not all of it is never 100 %."""
    return f"{int(10 * per_cent(group)) / 10:.1f} %"


def lines(report: Any, every: bool) -> Iterator[str]:
    """A line for each group and, below it, what is missing: what fits into a line, or everything."""
    yield f"{counted(report['request_count'], 'request')} to the service"
    for name in GROUPS:
        if group := report.get(name):
            head = click.style(name.ljust(12), bold=True)
            yield f"{head}{group['count']:>4} of {group['total']:>3} {told(group):>9}"
            yield from [f"  {each}" for each in group["missing"]] if every else preview(group["missing"])
    if report["passed_over"]:
        yield f"For states and moves, {counted(report['passed_over'], 'job')} of long advances do not count."


def preview(missing: Sequence[str]) -> Iterator[str]:
    """As many of them as a line of the terminal holds, and how many there are beside."""
    room = shutil.get_terminal_size().columns - len("  missing: , and 999 more")
    lengths = accumulate(len(name) + len(", ") for name in missing)
    fitting = sum(length <= room + len(", ") for length in lengths)
    shown = ", ".join(missing[:fitting])
    rest = f"{len(missing) - fitting} more" if fitting < len(missing) else ""
    if missing:
        yield f"  missing: {', and '.join(filter(None, (shown, rest)))}"
