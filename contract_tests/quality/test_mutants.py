"""The report of a run of mutants."""

from __future__ import annotations

import pytest

from contract_tests.quality.mutants import Tried, report


def test_each_survivor_is_shown_and_fails_the_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert report([Tried("-a\n+b", is_killed=False), Tried("-c\n+d", is_killed=True)]) == 1
    assert capsys.readouterr().out == "-a\n+b\n1 of 2 mutants survived\n"


def test_tests_that_notice_every_mutant_pass(capsys: pytest.CaptureFixture[str]) -> None:
    assert report([Tried("-a\n+b", is_killed=True)]) == 0
    assert capsys.readouterr().out == "0 of 1 mutants survived\n"


def test_a_session_without_mutants_is_no_all_clear(capsys: pytest.CaptureFixture[str]) -> None:
    assert report([]) == 1
    assert "Nothing was tried" in capsys.readouterr().out
