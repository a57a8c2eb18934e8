"""The report of a test run: the charts of every test's world in one HTML file."""

from __future__ import annotations

import re
import tempfile
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from emulator.presentation.languages import catalogs
from emulator.presentation.languages.language import language_of
from emulator.testing.api import Api
from emulator.ui.reports import report_page

if TYPE_CHECKING:
    from emulator.testing.base_emulator import BaseEmulator

CHARTS = "payments_charts"
"""The attribute of a pytest report that holds the charts; xdist sends it from the worker to the controller."""


class RunReport:
    """A pytest plugin that collects the charts of all tests, on whichever worker they ran, and writes the file."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._tests: list[report_page.TestedWorld] = []

    def pytest_sessionstart(self) -> None:
        """Raise ``UsageError``, before any test runs, if the file cannot be written."""
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            self._file.open("a").close()
        except OSError as error:
            raise pytest.UsageError(f"payments_report: {self._file}: {error.strerror}") from None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        charts = getattr(report, CHARTS, None)
        if charts is not None:
            self._tests.append(report_page.TestedWorld(report.nodeid, report.outcome, charts))

    def pytest_sessionfinish(self) -> None:
        self._file.write_text(report_page.page_of_tests(self._tests, language_of(catalogs.SOURCE)), "utf-8")

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say where the file is."""
        terminalreporter.write_line(f"payments report: {self._file}")


MOST = 10
"""The most failed tests of one process whose worlds are drawn: each takes a tenth of a second."""

_folder: list[Path] = []
_drawn: list[Path] = []


def draw(emulator: BaseEmulator, nodeid: str) -> str:
    """Draw the world of a failed test on a page in a temporary folder, and return where it is, or why there is none."""
    if len(_drawn) == MOST:
        return f"(no further page: {MOST} are in {_folder[0]}; --payments-report FILE draws every test)"
    try:
        if not _folder:
            _folder.append(Path(tempfile.mkdtemp(prefix="payments-report-")))
        name = re.sub(r"[^A-Za-z0-9]+", "-", nodeid.rpartition("::")[2]).strip("-")[:60]
        file = _folder[0] / f"{len(_drawn) + 1}-{name}.html"
        tests = [report_page.TestedWorld(nodeid, "failed", charts(emulator))]
        file.write_text(report_page.page_of_tests(tests, language_of(catalogs.SOURCE)), "utf-8")
    except OSError as error:
        return f"(no page of the world: {error})"
    _drawn.append(file)
    return str(file)


def charts(emulator: BaseEmulator) -> str:
    """Return the charts of a world as HTML; where the world does not answer, the reason."""
    # Without the check before each request: it would hide the charts of a world that fails it.
    language = language_of(catalogs.SOURCE)
    try:
        with Api(emulator.url, emulator.key) as api:
            return report_page.charts(report_page.read(api.get, language), language)
    except Exception as error:  # any error of the emulator must not hide the result of the test
        return f"<p>{escape(f'{type(error).__name__}: {error}')}</p>"
