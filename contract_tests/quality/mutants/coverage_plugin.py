"""The pytest plugin that records which test executes which line, and how long each test takes.

Loaded by ``-p`` in every worker of the run that :mod:`contract_tests.quality.mutants.coverage_map` starts. Coverage has to be
started before the emulator is imported, so this happens when the module is imported.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from coverage import Coverage

from contract_tests.quality.mutants.coverage_map import ROOT, digest

FOLDER = Path(os.environ["CONTRACT_TESTS_COVERAGE"])
"""Where each worker writes its two files."""

SOURCES = os.environ["CONTRACT_TESTS_SOURCES"].split(os.pathsep)

NAME = os.environ["CONTRACT_TESTS_FOLDER"]

COVERAGE = Coverage(data_file=str(FOLDER / f"{NAME}.coverage"), source=SOURCES, config_file=False)
COVERAGE.start()

seconds: dict[str, float] = defaultdict(float)
failed: set[str] = set()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    COVERAGE.switch_context(item.nodeid)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
) -> Generator[None, Any, Any]:
    """What the whole run shares, such as a server, is no more the first test's than what is executed on import."""
    if fixturedef.scope == "function":
        return (yield)
    COVERAGE.switch_context("")
    try:
        return (yield)
    finally:
        COVERAGE.switch_context(os.environ["PYTEST_CURRENT_TEST"].rpartition(" ")[0])


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    seconds[report.nodeid] += report.duration
    if not report.passed:
        failed.add(report.nodeid)


def pytest_sessionfinish() -> None:
    """Failed and skipped tests would count every mutant as noticed: they are left out."""
    COVERAGE.stop()
    COVERAGE.save()
    passed = {test: round(seconds[test], 3) for test in sorted(seconds) if test not in failed}
    files = {file: digest(ROOT / file) for file in sorted({test.split("::")[0] for test in passed})}
    (FOLDER / f"{NAME}.json").write_text(json.dumps({"seconds": passed, "files": files}), "utf-8")
