"""The gate on instructions: what the machine executes for each request, counted by callgrind.

``python -m contract_tests.quality.benchmarks.instructions [--write]``. Unlike seconds, instructions
are the same on a busy machine: two counts differ by some thousandths. What is compared with the
page is each figure's ratio to the bare application's, counted in the same run: another build of
Python or release of uvicorn changes both. Needs valgrind and a C compiler.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import click

from contract_tests import ROOT
from contract_tests.quality.benchmarks.in_process import REQUESTS

PAGE = ROOT / "docs/contributing/benchmarks.md"
BEGIN, END = "<!-- instructions: begin -->", "<!-- instructions: end -->"

TOLERANCE = 0.02
"""The part by which a ratio may differ from the page's."""

SWITCH = """
#include <valgrind/callgrind.h>
void begin(void) { CALLGRIND_START_INSTRUMENTATION; CALLGRIND_ZERO_STATS; }
void end(const char *measure) { CALLGRIND_DUMP_STATS_AT(measure); CALLGRIND_STOP_INSTRUMENTATION; }
"""

BARE_START = """
import httptools, jsonschema_rs, msgspec, uvicorn, uvloop
from starlette.applications import Starlette
uvicorn.Config(Starlette(), loop="uvloop", http="httptools").load()
"""

START = """
from emulator.cli.main import cli
cli(["serve", "--quiet", "--port", "0", "--exit-with-stdin"])
"""

LINE = ", a line printed"

AIMS = {"GET one" + LINE: 1 / 0.72, "create" + LINE: 1 / 0.39}
"""The ratios that the emulator is to keep to."""


class Figure(NamedTuple):
    """Instructions of one request, renewal or start, and of the bare application's yardstick."""

    measure: str
    bare: float
    emulator: float

    @property
    def ratio(self) -> float:
        return self.emulator / self.bare

    @property
    def row(self) -> str:
        aim = f"≤ {AIMS[self.measure]:.2f}" if self.measure in AIMS else ""
        figures = f"{self.bare / 1000:,.0f} | {self.emulator / 1000:,.0f} | {self.ratio:.3f}"
        return f"| {self.measure} | {figures} | {aim} |"


def figures() -> Iterator[Figure]:
    """Count everything, which takes some minutes."""
    with tempfile.TemporaryDirectory() as folder:
        switch = f"{folder}/switch.so"
        compiler = ("cc", "-O1", "-shared", "-fPIC", "-o", switch, "-x", "c", "-")
        subprocess.run(compiler, input=SWITCH, text=True, check=True)
        bare = counted("bare", switch)
        for measure, instructions in (
            counted("emulator", switch) | counted("printing", switch)
        ).items():
            renewals = 2 * REQUESTS if measure == "renewal" else REQUESTS
            yardstick = bare.get(measure.removesuffix(LINE), bare["create"])
            yield Figure(measure, yardstick / REQUESTS, instructions / renewals)
    yield Figure("start", whole(BARE_START), whole(START))


def counted(application: str, switch: str) -> dict[str, int]:
    """Return the instructions of each measure of :mod:`in_process` for an application."""
    module = "contract_tests.quality.benchmarks.in_process"
    return callgrind("--instr-atstart=no", "-m", module, application, switch)


def whole(script: str) -> int:
    """Return the instructions of a process from its begin to its end, with bytecode at hand."""
    subprocess.run([sys.executable, "-P", "-c", script], check=True, **PROCESS)
    return callgrind("--instr-atstart=yes", "-P", "-c", script)[""]


ENVIRONMENT = {
    name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"
} | {"PYTHONHASHSEED": "0"}

PROCESS: dict[str, Any] = {
    "env": ENVIRONMENT,
    "cwd": ROOT,
    "stdin": subprocess.DEVNULL,
    "stdout": subprocess.DEVNULL,
}


def callgrind(option: str, *arguments: str) -> dict[str, int]:
    """Return the instructions of each dump of a Python's run by its name, ``""`` for the last."""
    with tempfile.TemporaryDirectory() as folder:
        tool = (
            "valgrind",
            "--quiet",
            "--tool=callgrind",
            option,
            f"--callgrind-out-file={folder}/out",
        )
        subprocess.run([*tool, sys.executable, *arguments], check=True, **PROCESS)
        dumps = [path.read_text("utf-8", "replace") for path in sorted(Path(folder).iterdir())]
    named = {}
    for dump in dumps:
        name = re.search(r"^desc: Trigger: Client Request: (.*)$", dump, re.MULTILINE)
        total = re.search(r"^(?:summary|totals): (\d+)", dump, re.MULTILINE)
        if total:
            named[name[1] if name else ""] = int(total[1])
    return named if option.endswith("yes") else {name: n for name, n in named.items() if name}


def known(page: str) -> dict[str, float]:
    """Return the ratios that a page says."""
    table = page.partition(BEGIN)[2].partition(END)[0]
    rows = re.findall(r"^\| ([^|]+) \| [\d,]+ \| [\d,]+ \| ([\d.]+) \|", table, re.MULTILINE)
    return {measure: float(ratio) for measure, ratio in rows}


def written(page: str, counts: list[Figure]) -> str:
    head = "| thousands of instructions | bare | emulator | ratio | aim |\n|---|--:|--:|--:|---|"
    table = "\n".join((BEGIN, head, *(figure.row for figure in counts), END))
    before, _, rest = page.partition(BEGIN)
    return before + table + rest.partition(END)[2]


def faults(counts: list[Figure], ratios: Mapping[str, float]) -> Iterator[str]:
    """Yield a sentence for each figure that differs from the page's, or that one of them lacks."""
    for figure in counts:
        was = ratios.get(figure.measure)
        if was is None:
            yield f"{figure.measure}: the page has no such row."
        elif abs(figure.ratio / was - 1) > TOLERANCE:
            yield f"{figure.measure}: {figure.ratio:.3f} instead of {was:.3f}."
        if figure.ratio > AIMS.get(figure.measure, figure.ratio):
            yield f"{figure.measure}: {figure.ratio:.3f}, above its aim."
    for measure in ratios.keys() - {figure.measure for figure in counts}:
        yield f"{measure}: not counted any more."


@click.command()
@click.option("--write", is_flag=True, help="Write the counts into the page of figures.")
def main(write: bool) -> None:
    """Count instructions; fail where a ratio differs by more than 2 % from the page's."""
    page = PAGE.read_text("utf-8")
    counts = []
    for figure in figures():
        click.echo(figure.row)
        counts.append(figure)
    if write:
        PAGE.write_text(written(page, counts), "utf-8")
        return
    if wrong := list(faults(counts, known(page))):
        raise click.ClickException(
            "\n".join((*wrong, "If that is meant, --write makes the page say so."))
        )


if __name__ == "__main__":
    main()
