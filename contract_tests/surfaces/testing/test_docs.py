"""The samples in Python of the guide are run as they are printed, and the page on test suites has every helper."""

from __future__ import annotations

import re

import pytest

from contract_tests.quality.docs.pages import PAGES, ROOT, samples
from contract_tests.surfaces.testing.test_plugin import run
from contract_tests.surfaces.testing.test_plugin import suite as suite  # noqa: PLC0414  # a fixture
from emulator.testing import Emulator, Webhooks, plugin
from emulator.testing.base_emulator import BaseEmulator

SAMPLES = [each.text for page in PAGES for each in samples(page) if each.language == "python" and not each.reason]
SUITES = [sample for sample in SAMPLES if "def test_" in sample]


@pytest.mark.long
def test_the_suites_of_the_pages_pass(suite: pytest.Pytester) -> None:
    """All in one run, each as a module of its own. A test under several assumptions runs once for each."""
    modules = {f"test_sample_{number}": sample for number, sample in enumerate(SUITES)}
    outcomes = run(suite, "-p", "pytest_socket", **modules).parseoutcomes()
    assert set(outcomes) == {"passed"}
    assert outcomes["passed"] >= sum(sample.count("def test_") for sample in SUITES)


@pytest.mark.parametrize("sample", [each for each in SAMPLES if each not in SUITES])
def test_the_scripts_of_the_pages_run(sample: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PAYMENTS_EMULATOR_URL", raising=False)
    exec(compile(sample, "sample", "exec"), {"__name__": "sample"})


def test_the_page_describes_every_option_and_every_method_of_the_helpers() -> None:
    page = (ROOT / "docs/guide/testing.md").read_text("utf-8")
    options = {*plugin.ARGUMENTS, "payments_clock", "payments_fixtures"}
    assert [option for option in options if option not in page] == []
    names = {name for kind in (BaseEmulator, Emulator, Webhooks) for name in vars(kind) if not name.startswith("_")}
    unsaid = {"close", "record", "recording", "summary", "so_far"}
    assert names - set(re.findall(r"\w+", page)) == unsaid
