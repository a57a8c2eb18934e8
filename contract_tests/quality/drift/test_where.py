"""The way to an assumption's places: each line names a place that there is, and a mistake is
answered with the form.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from contract_tests import ROOT
from contract_tests.where import COLUMNS, cites, main, sections
from emulator.engine.reference_data import numbered_assumptions


def printed(number: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main([number]) == 0
    return capsys.readouterr().out


def test_a_number_leads_to_its_rule_its_places_in_the_document_its_tests_and_its_recipe(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = printed("B-48", capsys)
    for place in (
        r"^rule\n  fixtures/assumptions\.yaml:\d+  Reactivate$",
        r"^documents\n  openapi/resources/subscriptions\.yaml:\d+  subscription_reactivate post$",
        r"^  emulator/resources/billing/subscription_operations\.py:\d+  reactivate$",
        (
            r"^  contract_tests/contract/scenarios/test_renewal\.py:\d+ "
            r" test_the_grace_period_is_a_setting$"
        ),
        r"^guards\n  contract_tests/guards\.yaml:\d+  subscription_operations\.py: \S",
        r"^recipe\n  docs/contributing/recipes\.md:\d+  Change a default$",
    ):
        assert re.search(place, text, re.MULTILINE), place


@pytest.mark.parametrize("number", ["B-01", "B-21", "B-72"])
def test_every_line_is_a_place_of_at_most_100_columns(
    number: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = printed(number, capsys)
    assert max(map(len, text.splitlines())) <= COLUMNS
    places = re.findall(r"^  (\S+):(\d+)  \S", text, re.MULTILINE)
    assert places
    for file, line in places:
        assert 1 <= int(line) <= len(Path(ROOT, file).read_text("utf-8").splitlines())


def test_every_assumption_has_a_test() -> None:
    untested = {
        number for number in numbered_assumptions() if not any(dict(sections(number))["tests"])
    }
    assert untested == set()


@pytest.mark.parametrize(
    ("line", "is_cited"),
    [
        ("B-45.", True),
        ("B-43 to B-47", True),
        ("B-4", False),
        ("B-450", False),
        ("B-46 to B-48", False),
    ],
)
def test_a_run_of_numbers_cites_each_of_them(line: str, *, is_cited: bool) -> None:
    assert cites(line, "B-45") == is_cited


@pytest.mark.parametrize("arguments", [[], ["48"], ["B-"], ["B-48", "B-49"]])
def test_wrong_usage_says_the_form(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert capsys.readouterr().err == "usage: python -m contract_tests.where NUMBER, as in B-01\n"


def test_an_unknown_number_says_which_are_known(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["B-999"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("B-999 is unknown; known are B-01, B-02")
    assert "B-101" in error
