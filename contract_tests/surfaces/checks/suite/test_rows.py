"""Each mutant is caught by a test of a thorough suite, which passes with the right one."""

from __future__ import annotations

import pytest

from contract_tests.surfaces.checks.suite.conftest import Play
from contract_tests.surfaces.checks.suite.stories import CAUGHT_BY
from emulator.checks.suite.table import MUTANTS
from emulator.testing import Emulator

STORIES = {story.__name__: story for story in CAUGHT_BY.values()}


def test_every_mutant_has_its_test() -> None:
    assert set(CAUGHT_BY) == set(MUTANTS)


@pytest.mark.parametrize("name", STORIES)
def test_with_the_right_service_a_story_passes_and_reaches_what_it_catches(name: str, play: Play) -> None:
    caught = {row for row, story in CAUGHT_BY.items() if story is STORIES[name]}
    assert caught - play(STORIES[name], "") == set()


@pytest.mark.parametrize("row", MUTANTS)
def test_a_mutant_is_caught(row: str, play: Play) -> None:
    with pytest.raises((AssertionError, KeyError)) as caught:
        play(CAUGHT_BY[row], row)
    assert "jobs of the emulator failed" not in str(caught.value)


def test_a_snapshot_which_comes_in_parts_is_whole(play: Play) -> None:
    def story(payments: Emulator) -> None:
        payments.customer()
        name = payments.api.post("/_emulator/snapshots", {"name": "before"})["name"]
        exported = payments.api.get(f"/_emulator/snapshots/{name}")
        assert len(next(rows for kind, rows in exported.items() if kind.endswith("/customer"))) == 1

    play(story, "")
