"""The table of the budget in the guide: limits and answers from the code, memory and time as they were measured."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Sequence

from contract_tests.quality.docs.pages import ROOT
from contract_tests.simulator.hostile.budget import ROWS, Row, Target
from contract_tests.simulator.hostile.crowd import allow_open_files
from contract_tests.support.servers import ServerProcess
from emulator.core.limits import KIB, MIB, Limit

PAGE = ROOT / "docs" / "guide" / "security.md"
START, END = "<!-- budget -->", "<!-- /budget -->"
HEAD = ("Input", "Limit", "Beyond it", "At the limit", "Ten times as much¹")


def amount(limit: Limit) -> str:
    """Return a limit with its unit."""
    if limit.unit.startswith("bytes"):
        for size, name in ((MIB, "MiB"), (KIB, "KiB")):
            if limit.most % size == 0:
                return f"{limit.most // size} {name}{limit.unit.removeprefix('bytes')}"
    return f"{limit.most:,} {limit.unit}"


def measured(names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield the cells of each row, or of those that are named. Each has servers of its own: memory is not given back."""
    allow_open_files(10_000)
    for row in [row for row in ROWS if not names or row.name in names]:
        cells = [row.name, amount(row.limit), row.limit.beyond]
        for times, expected in ((1, row.within), (row.times, row.beyond)):
            with ServerProcess() as server:
                cells.append(_cost(server, row, times, expected))
        print(" | ".join(cells), flush=True)
        yield tuple(cells)


def _cost(server: ServerProcess, row: Row, times: float, expected: str) -> str:
    server.wait()
    with Target(server.url, "sk_test_budget") as target:
        target.http.get("/v1/customers/").raise_for_status()
        target.http.post("/v1/customers/", json={}).close()
        before, started = server.memory(), time.perf_counter()
        with server.highest_memory() as highest:
            result = row.play(target, int(times * row.limit.most))
        seconds = time.perf_counter() - started
    assert result.split(",")[0] == expected, f"{row.name}, times {times}: {result}, not {expected}"
    return f"{max(0, highest[0] - before) / MIB:.1f} MiB, {seconds:.2f} s"


def write(rows: Iterable[tuple[str, ...]]) -> None:
    """Put the table between its markers in the page."""
    every = {cells[0]: cells for cells in (*read(), *rows)}
    found = [every[row.name] for row in ROWS if row.name in every]
    lines = ["| " + " | ".join(cells) + " |" for cells in (HEAD, ("---",) * len(HEAD), *found)]
    text = PAGE.read_text("utf-8")
    table = f"{START}\n" + "\n".join(lines) + f"\n{END}"
    PAGE.write_text(re.sub(f"{START}.*{END}", lambda _: table, text, flags=re.DOTALL), "utf-8")


def read() -> list[list[str]]:
    """Return the cells of the rows that stand in the page."""
    table = PAGE.read_text("utf-8").partition(START)[2].partition(END)[0].strip()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]
