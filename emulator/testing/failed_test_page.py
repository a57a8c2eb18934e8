"""A failed test's page: its world's history over time, as one HTML file in a temporary folder."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from emulator.client.api import Api
from emulator.ui.reports import report_page

MOST = 10
"""The most failed tests of one process whose worlds are drawn: each takes a tenth of a second."""

_folder: list[Path] = []
_drawn: list[Path] = []


def draw(url: str, key: str, test: str, why: str, story: str) -> str:
    """Draw a key's world at an emulator; return the test page's path, or the reason for none."""
    if len(_drawn) == MOST:
        return f"(no further page: {MOST} are in {_folder[0]})"
    try:
        if not _folder:
            _folder.append(Path(tempfile.mkdtemp(prefix="payments-report-")))
        name = re.sub(r"[^A-Za-z0-9]+", "-", test.rpartition("::")[2]).strip("-")[:60]
        file = _folder[0] / f"{len(_drawn) + 1}-{name}.html"
        file.write_text(page(url, key, test, why, story), "utf-8")
    except OSError as error:
        return f"(no page of the world: {error})"
    _drawn.append(file)
    return str(file)


def page(url: str, key: str, test: str, why: str = "", story: str = "") -> str:
    """Return the page: cause of failure, the world's story, and plots, or the reason for none."""
    # Without the check before each request: it would hide the charts of a world that fails it.
    try:
        with Api(url, key) as api:
            return report_page.page_of_failed_test(test, why, story, report_page.read(api.get))
    except Exception as error:  # any error of the emulator must not hide the result of the test
        return report_page.page_of_failed_test(
            test, why, story, None, f"{type(error).__name__}: {error}"
        )
