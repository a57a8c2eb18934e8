"""The report of a test run: the charts of every test's world in one HTML file."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from emulator.presentation.languages import catalogs
from emulator.presentation.languages.language import language_of
from emulator.testing.api import Api
from emulator.ui.reports import report_page
from emulator.ui.reports.report_page import collect

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
        """Take the charts of a test."""
        charts = getattr(report, CHARTS, None)
        if charts is not None:
            self._tests.append(report_page.TestedWorld(report.nodeid, report.outcome, charts))

    def pytest_sessionfinish(self) -> None:
        """Write the file."""
        self._file.write_text(report_page.page_of_tests(self._tests, language_of(catalogs.SOURCE)), "utf-8")

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say where the file is."""
        terminalreporter.write_line(f"payments report: {self._file}")


def charts(emulator: BaseEmulator) -> str:
    """The charts of a world as HTML; where the world does not answer, the reason."""
    # Without the check before each request: it would hide the charts of a world that fails it.
    api = Api(emulator.url, emulator.key)
    try:
        return report_page.charts(collect(api.get), language_of(catalogs.SOURCE))
    except Exception as error:  # any error of the emulator must not hide the result of the test
        return f"<p>{escape(f'{type(error).__name__}: {error}')}</p>"
    finally:
        api.close()
