"""``exec --readings all``: a command run once under the default readings and once for each other value (B-99)."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import click

from emulator.cli.serve import make_server
from emulator.cli.server_thread import serving

LAST_LINES = 15
"""How many lines of a failed run's output are shown."""

Environment = Callable[[Any], Mapping[str, str]]
"""The variables for the command, from the server it is to use."""


class CommandRun(NamedTuple):
    """One run of the command. ``reading`` and ``value`` are None for the run under the defaults."""

    reading: str | None
    value: str | None
    status: int
    output: str

    @property
    def title(self) -> str:
        """Under which reading it ran."""
        return "under the defaults" if self.reading is None else f"when {self.reading} is {self.value}"


def run_all(command: Sequence[str], environment: Environment, chosen: Mapping[str, Any]) -> list[CommandRun]:
    """Run the command under the defaults and, if it passes, under each other value, one run for each core at a time.

    Each run has a sandbox of its own.
    """
    # Imported here: the help of exec needs no fixtures.
    from emulator.engine.readings import readings

    def run(reading: str | None, value: str | None) -> CommandRun:
        own = () if reading is None else ((reading, value),)
        server = make_server(**{**chosen, "port": 0, "chosen_readings": (*chosen["chosen_readings"], *own)})
        with serving(server):
            # Running what the user names is the purpose of this command.
            ended = subprocess.run(  # noqa: S603  # see above
                command,
                env={**os.environ, **environment(server)},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                check=False,
            )
        return CommandRun(reading, value, ended.returncode, ended.stdout.decode(errors="replace"))

    first = run(None, None)
    if first.status != 0:
        return [first]
    others = [(name, value) for name, reading in readings().items() for value in list(reading.values)[1:]]
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        return [first, *pool.map(lambda other: run(*other), others)]


def report(runs: Sequence[CommandRun], *, as_json: bool, junit: Path | None) -> int:
    """Print which readings the command depends on; exit status 1 if it depends on any, or fails under the defaults."""
    if junit is not None:
        junit.write_text(as_junit(runs), "utf-8")
    if as_json:
        for run in runs:
            click.echo(json.dumps({"reading": run.reading, "value": run.value, "status": run.status}))
    else:
        for line in summary(runs):
            click.echo(line)
    return int(any(run.status for run in runs))


def summary(runs: Sequence[CommandRun]) -> list[str]:
    """The report as lines to read."""
    failed = [run for run in runs if run.status]
    lines = [line for run in failed for line in (*run.output.splitlines()[-LAST_LINES:], "")]
    if failed and failed[0].reading is None:
        return [*lines, "The command fails under the default readings; nothing else was tried."]
    lines += [f"Your tests fail {run.title}." for run in failed]
    depends = f"depends on {len(failed)} of" if failed else "depends on none of"
    return [*lines, f"The command {depends} {len(runs) - 1} other values of readings (/docs/decisions)."]


def as_junit(runs: Sequence[CommandRun]) -> str:
    """The report as JUnit XML: a test case for each run."""
    suite = ElementTree.Element("testsuite", name="readings", tests=str(len(runs)))
    for run in runs:
        case = ElementTree.SubElement(suite, "testcase", classname="readings", name=run.title)
        if run.status:
            failure = ElementTree.SubElement(case, "failure", message=f"exit status {run.status}")
            # XML has no control characters, which colours in a terminal are made of.
            failure.text = "".join(each for each in run.output if each.isprintable() or each == "\n")
    return ElementTree.tostring(suite, encoding="unicode")
