"""``exec --assumptions all``: a command run once under the chosen assumptions and once for each other value (B-99)."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import click

from emulator.checks import junit
from emulator.cli.captured import CapturedCommands
from emulator.cli.output_files import write_text
from emulator.cli.serve import make_server
from emulator.cli.server_thread import serving

LAST_LINES = 15
"""How many lines of a failed run's output are shown."""

FIRST = "under the chosen assumptions"
"""The title of the first run. An assumption that neither ``--assume`` nor a fixture file chooses has its default."""

Environment = Callable[[Any], Mapping[str, str]]
"""The variables for the command, from the server it is to use."""


OtherValue = tuple[str, str]
"""The name of an assumption, and a value that it does not have at the start of an App."""


class CommandRun(NamedTuple):
    """One run of the command. ``assumption`` and ``value`` are None for the first run, under the chosen assumptions.

    ``depends`` says whether it ended otherwise than the first run: passed where that failed, or failed where it passed.
    """

    assumption: str | None
    value: str | None
    status: int
    output: str
    depends: bool = False

    @property
    def title(self) -> str:
        """Under which assumption it ran."""
        return FIRST if self.assumption is None else f"when {self.assumption} is {self.value}"


def run_all(
    command: Sequence[str],
    app: str,
    environment: Environment,
    chosen: Mapping[str, Any],
    *,
    choose: Callable[[list[OtherValue]], list[OtherValue]] = lambda others: others,
    progress: Callable[[int, int], None] = lambda done, of: None,
) -> list[CommandRun]:
    """Run the command under the assumptions chosen for an App, then under each other value, each in its own sandbox.

    ``choose`` may leave values out. ``progress`` is called with the runs done so far and all. Ctrl-C ends the runs.

    There is one run for each core at a time. Where the first one fails, the others are tried all the same: another
    value may be the one that the command expects.
    """
    commands = CapturedCommands()
    first = CommandRun(None, None, *_ended(commands, command, environment, chosen))
    others = choose([*_other_values(app, chosen)])
    runs = [first]
    with TemporaryDirectory() as folder, ThreadPoolExecutor(_cores()) as pool:

        def run(other: OtherValue) -> CommandRun:
            # A fixture file, after those of the user: it has the last word.
            file = Path(folder, "-".join(other)).with_suffix(".json")
            file.write_text(json.dumps({"settings": {"assumptions": dict([other])}}), "utf-8")
            ended = _ended(commands, command, environment, {**chosen, "fixtures": (*chosen["fixtures"], file)})
            return CommandRun(*other, *ended, depends=bool(ended[0]) != bool(first.status))

        try:
            for ended in pool.map(run, others):
                runs.append(ended)
                progress(len(runs), 1 + len(others))
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            commands.stop()
            raise
    return runs


def _cores() -> int:
    """How many runs there can be side by side."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _other_values(app: str, chosen: Mapping[str, Any]) -> Iterator[OtherValue]:
    """Each assumption with each value that it does not have at the start of an App."""
    # Imported here: the help of exec needs no fixtures.
    from emulator.engine.fixtures import Fixtures
    from emulator.engine.reference_data import assumptions_of, named_assumptions

    calibrated = chosen["profile"].chosen() if chosen["profile"] else {}
    settings = Fixtures(chosen["fixtures"], dict(chosen["chosen_assumptions"]), calibrated).settings(app)
    present = {each["name"]: each["value"] for each in assumptions_of(settings)}
    for name, assumption in named_assumptions().items():
        yield from ((name, value) for value in assumption.values if value != present[name])


def _ended(
    commands: CapturedCommands, command: Sequence[str], environment: Environment, chosen: Mapping[str, Any]
) -> tuple[int, str]:
    """Run the command with a sandbox of its own to its end; its exit status and what it printed."""
    server = make_server(**{**chosen, "port": 0})
    with serving(server):
        # An OSError is reported by exec.
        return commands.run(command, environment(server))


def report(runs: Sequence[CommandRun], *, as_json: bool, junit_file: Path | None) -> int:
    """Print which assumptions the command depends on; exit status 1 if it depends on any, or fails in the first run."""
    if junit_file is not None:
        write_text(junit_file, as_junit(runs))
    if as_json:
        for run in runs:
            row = {"assumption": run.assumption, "value": run.value, "status": run.status, "depends": run.depends}
            click.echo(json.dumps(row))
    else:
        for line in summary(runs):
            click.echo(line)
    return int(any(_is_finding(run) for run in runs))


def _is_finding(run: CommandRun) -> bool:
    return run.depends or (run.assumption is None and run.status != 0)


def summary(runs: Sequence[CommandRun]) -> list[str]:
    """The report as lines to read: the end of each failure that says something new, then the findings."""
    first, *others = runs
    lines: list[str] = []
    for run in runs:
        if run.status and _is_finding(run):
            lines += [f"--- {run.title}:", *run.output.splitlines()[-LAST_LINES:], ""]
    if first.status:
        lines.append(f"Your tests fail {FIRST}.")
    depending = [run for run in others if run.depends]
    lines += [f"Your tests {'fail' if run.status else 'pass'} {run.title}." for run in depending]
    depends = f"depends on {len(depending)} of" if depending else "depends on none of"
    return [*lines, f"The command {depends} {len(others)} other values of assumptions (/docs/assumptions)."]


def as_junit(runs: Sequence[CommandRun]) -> str:
    """The report as JUnit XML: a test case for each run, which fails where the report names it."""
    return junit.report("assumptions", "assumptions", [junit.TestCase(run.title, _failures(run)) for run in runs])


def _failures(run: CommandRun) -> list[junit.TestFailure]:
    if not _is_finding(run):
        return []
    message = f"the command {'fails' if run.status else 'passes'} {run.title}: exit status {run.status}"
    return [junit.TestFailure(message, run.output)]
