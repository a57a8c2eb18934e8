"""The report of a test run that the plugin writes: every test's world in one file, whichever worker it ran on."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from contract_tests.surfaces.testing.test_plugin import PLUGIN, suite

__all__ = ["suite"]

SUITE = """
    import pytest

    @pytest.fixture
    def renewed(payments):
        body = {"email": "awa@example.com", "name": "Awa", "phone": "+24177000000"}
        customer = payments.api.post("/v1/customers/", body)["id"]
        terms = {"customer": customer, "unit_amount": 5000, "interval": "month"}
        payments.api.post("/v1/subscriptions/", terms)
        payments.clock.advance("31d")

    def test_renewal(renewed):
        pass

    @pytest.mark.parametrize("text", ["<b>"])
    def test_of_the_shop(renewed, text):
        assert text == "<i>"

    def test_setup(payments, no_such_fixture):
        pass

    def test_without_a_world():
        pass
"""

INI = """
    [pytest]
    payments_clock = 2026-01-01T00:00:00Z
    payments_report = build/run.html
"""


def run(suite: pytest.Pytester, *options: str, **files: str) -> pytest.RunResult:
    """Run pytest in a process of its own: a run inside this one would forget modules that later tests need."""
    suite.makepyfile(**files)
    return suite.runpytest_subprocess(*PLUGIN, *options)


def listed(text: str) -> list[tuple[str, bool]]:
    """Return each test with its result in a report, and whether its charts are shown at once."""
    found = re.findall(r"<details( open)?><summary>(test_\S+: \w+)</summary>", text)
    return [(name, bool(opened)) for opened, name in found]


@pytest.mark.long
def test_each_world_is_drawn_whichever_worker_ran_the_test(suite: pytest.Pytester) -> None:
    suite.makeini(INI)
    file = suite.path / "build/run.html"
    result = run(suite, test_shop=SUITE)
    result.assert_outcomes(passed=2, failed=1, errors=1)
    result.stdout.fnmatch_lines([f"payments report: {file}"])
    alone = file.read_text("utf-8")
    assert listed(alone) == [
        ("test_shop.py::test_of_the_shop[&lt;b&gt;]: failed", True),
        ("test_shop.py::test_renewal: passed", False),
        ("test_shop.py::test_setup: failed", True),
    ]
    assert alone.count('<svg role="img"') == 4, "money and a subscription, in each of two worlds"
    ids = re.findall(r' id="([^"]+)"', alone)
    assert len(set(ids)) == len(ids)
    file.unlink()
    run(suite, "-p", "xdist.plugin", "-n", "2", test_shop=SUITE).assert_outcomes(passed=2, failed=1, errors=1)
    assert file.read_text("utf-8") == alone


def test_a_report_that_cannot_be_written_ends_the_run_at_its_start(suite: pytest.Pytester, tmp_path: Path) -> None:
    result = run(suite, "--payments-report", str(tmp_path), test_shop="def test_shop(payments): pass")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: payments_report: {tmp_path}: Is a directory"])


def test_without_the_option_nothing_is_written(suite: pytest.Pytester) -> None:
    module = "def test_shop(payments): pass"
    run(suite, "--payments-report", "own.html", test_shop=module).assert_outcomes(passed=1)
    written = suite.path / "own.html"
    assert "1 test used a world" in written.read_text("utf-8")
    written.unlink()
    run(suite, test_shop=module).assert_outcomes(passed=1)
    assert [*suite.path.glob("*.html")] == []


def test_a_failed_test_names_the_page_of_its_world(
    suite: pytest.Pytester, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without an option; the page calls a subscription by its customer, and passed tests are not drawn."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    result = run(suite, test_shop=SUITE)
    result.assert_outcomes(passed=2, failed=1, errors=1)
    drawn = sorted(tmp_path.glob("payments-report-*/*.html"))
    assert [file.name.partition("-")[2] for file in drawn] == ["test-of-the-shop-b.html", "test-setup.html"]
    assert [file for file in drawn if str(file) not in result.outlines] == []
    page = drawn[0].read_text("utf-8")
    assert listed(page) == [("test_shop.py::test_of_the_shop[&lt;b&gt;]: failed", True)]
    assert "Awa · 5,000" in page.replace("\u00a0", " ")
    assert not re.search(r">sub_\w{24}<", page)
