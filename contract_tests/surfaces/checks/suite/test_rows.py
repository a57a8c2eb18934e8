"""Each wrong service is noticed by a test of a thorough suite, which passes with the right one."""

from __future__ import annotations

import pytest

from contract_tests.surfaces.checks.suite.conftest import Play
from contract_tests.surfaces.checks.suite.stories import NOTICED_BY
from emulator.checks.suite.table import DOUBTS

STORIES = {story.__name__: story for story in NOTICED_BY.values()}


def test_every_wrong_service_has_its_test() -> None:
    assert set(NOTICED_BY) == set(DOUBTS)


@pytest.mark.parametrize("name", STORIES)
def test_with_the_right_service_a_story_passes_and_reaches_what_it_notices(name: str, play: Play) -> None:
    noticed = {row for row, story in NOTICED_BY.items() if story is STORIES[name]}
    assert noticed - play(STORIES[name], "") == set()


@pytest.mark.parametrize("row", DOUBTS)
def test_a_wrong_service_is_noticed(row: str, play: Play) -> None:
    with pytest.raises((AssertionError, KeyError)) as noticed:
        play(NOTICED_BY[row], row)
    assert "jobs of the emulator failed" not in str(noticed.value)
