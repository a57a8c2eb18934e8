"""Suites that were written for an earlier release pass with the plugin of today."""

from __future__ import annotations

import pytest

from contract_tests.quality.docs.pages import samples
from contract_tests.robustness.state import golden
from contract_tests.surfaces.testing.test_plugin import PLUGIN, suite

pytestmark = pytest.mark.long

__all__ = ["suite"]


@pytest.mark.parametrize("release", golden.RELEASES)
def test_the_suites_of_a_release_pass(suite: pytest.Pytester, release: str) -> None:
    """Every suite on the page that described the plugin of that release, each as a module of its own."""
    page = golden.FOLDER / release / "testing.md"
    written = [each.text for each in samples(page) if each.language == "python" and not each.reason]
    suites = {f"test_sample_{number}": text for number, text in enumerate(written) if "def test_" in text}
    assert len(suites) >= 10
    suite.makepyfile(**suites)
    outcomes = suite.runpytest_subprocess(*PLUGIN).parseoutcomes()
    assert outcomes.keys() == {"passed"}
    assert outcomes["passed"] >= sum(text.count("def test_") for text in suites.values())
