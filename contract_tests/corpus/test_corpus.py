"""The corpus is whole; of its rows long tests examine one for each language.

What an examination says of a wrong application, a run of each change tries in
``surfaces/checks/app``.
"""

from __future__ import annotations

import re

import pytest

from contract_tests.corpus import examine
from contract_tests.corpus.examine import Ended, judged
from contract_tests.corpus.rows import NOT_FOUND, Result, Row, corpus
from contract_tests.corpus.table import page, summary

CLOCK, ROWS = corpus()
BUSINESSES = {row.business.name: row.business for row in ROWS}

SWITCH = re.compile(
    r"""(?:bug[?]?|BUGS\.has)\(["'](\w+)["']\)|["'](\w+)["'] (?:not )?in BUGS|(\{["'].*\}) & BUGS"""
)

EXAMINED = (
    "ferry:no_dedupe",
    "bakery:parsed_body",
    "parking:missing_header_ok",
    "school:missing_header_ok",
    "newspaper:missing_header_ok",
)
"""A row for each language: the quickest, and one in which a whole story is played."""


def switches(business: str) -> set[str]:
    """Return the names of the bugs that the code of a business asks for."""
    names: set[str] = set()
    for file in BUSINESSES[business].folder.iterdir():
        if file.is_file():
            for match in SWITCH.finditer(file.read_text("utf-8")):
                names |= {*re.findall(r"\w+", match[1] or match[2] or match[3])}
    return names


@pytest.mark.parametrize("business", BUSINESSES)
def test_every_bug_that_a_business_can_have_is_a_row(business: str) -> None:
    rows = {name for row in ROWS if row.business.name == business for name in row.bug.split(",")}
    assert switches(business) == rows


def test_there_are_fifty_bugs_in_five_languages() -> None:
    assert len({row.name for row in ROWS}) == len(ROWS) >= 50
    assert len({row.business.language for row in ROWS}) == 5


def test_a_bug_that_is_not_found_has_a_reason() -> None:
    assert [row.name for row in ROWS if bool(row.known) != bool(row.reason)] == []


def test_a_bug_that_is_found_has_words() -> None:
    assert [row.name for row in ROWS if not row.words and row.known != NOT_FOUND] == []


@pytest.mark.long
@pytest.mark.parametrize(
    "row",
    [
        pytest.param(row, id=row.name, marks=pytest.mark.needs(row.business.needs))
        for row in ROWS
        if row.name in EXAMINED
    ],
)
def test_the_examination_finds_the_bug(row: Row) -> None:
    result = judged(row, CLOCK)
    assert result.is_found, result
    assert not result.is_regression, result


def test_an_examination_that_breaks_off_has_found_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = Ended(1, "", "Traceback (most recent call last)", 1.0)
    monkeypatch.setattr(examine, "examined", lambda *_: broken)
    assert judged(ROWS[0], CLOCK).failure


MISSED = next(row for row in ROWS if row.known == NOT_FOUND)
"""A bug of which the corpus says that it is not found."""


def test_less_than_the_corpus_says_is_a_regression() -> None:
    assert Result(ROWS[0], True, False, 1.0).is_regression
    assert Result(ROWS[0], False, False, 1.0, failure="it ended").is_regression
    assert not Result(MISSED, False, False, 1.0).is_regression


def test_more_than_the_corpus_says_is_news() -> None:
    assert Result(MISSED, True, False, 1.0).is_news


RESULTS = [Result(ROWS[0], True, True, 12.4), Result(MISSED, False, False, 7.0)]


def test_the_summary_counts_what_was_found() -> None:
    assert summary(RESULTS, []).startswith("Found 1 of 2 bugs, named 1 of these")


def test_the_table_has_a_line_for_each_bug() -> None:
    text = "\n".join(page(RESULTS, []))
    assert "| ferry | Python | no_dedupe | test app 2:twice | yes | yes | 12 |" in text


def test_the_page_says_why_a_bug_is_not_found() -> None:
    assert f"- {MISSED.reason} ({MISSED.name})" in "\n".join(page(RESULTS, []))
