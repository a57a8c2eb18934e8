"""The report of an examination as commands show it: on the terminal or as JSON, and in the files that are asked for."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from emulator.cli.options import OUTPUT_FILE, with_options, write_text
from emulator.cli.output import fitted

if TYPE_CHECKING:
    from emulator.checks.report import Report


class ReportOutput(NamedTuple):
    """Where a report goes: to files, and as text or JSON to the standard output."""

    html: Path | None
    junit: Path | None
    as_json: bool

    def show(self, report: Report) -> None:
        from emulator.checks.report import as_json, as_junit

        if self.html is not None:
            # Imported here: only the page needs templates.
            from emulator.ui.reports.report_page import page_of_report

            write_text(self.html, page_of_report(report))
        if self.junit is not None:
            write_text(self.junit, as_junit(report))
        click.echo(as_json(report) if self.as_json else fitted("\n".join(report.lines(colour=True))))


def with_report(function: Callable[..., Any]) -> Any:
    @wraps(function)
    def command(*, html: Path | None, junit: Path | None, as_json: bool, **chosen: Any) -> Any:
        return function(output=ReportOutput(html, junit, as_json), **chosen)

    return with_options(
        [
            click.option("--html", type=OUTPUT_FILE, help="Write the report as a page."),
            click.option("--junit", type=OUTPUT_FILE, help="Write the report as JUnit XML."),
            click.option("--json", "as_json", is_flag=True, help="Print the report as JSON."),
        ]
    )(command)
