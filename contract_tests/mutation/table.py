"""The table of seeded faults in the documentation, between two marks."""

from __future__ import annotations

from pathlib import Path

from contract_tests.mutation.faults import FAULTS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "contract-tests.md"
BEGIN, END = "<!-- faults -->\n", "<!-- end of faults -->"


def table() -> str:
    """What is seeded and which test notices, a row for each."""
    rows = (f"| {fault.name} | {fault.breaks} | `{fault.caught_by}` |\n" for fault in FAULTS)
    return "| fault | breaks | noticed by |\n|---|---|---|\n" + "".join(rows)


def documented(page: str) -> str:
    """What stands between the marks of a page."""
    return page.split(BEGIN)[1].split(END, maxsplit=1)[0]


def write() -> None:
    """Bring the page up to date."""
    before, rest = PAGE.read_text("utf-8").split(BEGIN)
    PAGE.write_text(before + BEGIN + table() + END + rest.split(END)[1], "utf-8")
