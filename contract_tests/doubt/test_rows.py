"""Each wrong service is noticed by a test of a thorough suite, which passes with the right one."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from contract_tests.doubt.stories import NOTICED_BY, Story
from emulator.doubt.table import DOUBTS
from emulator.doubt.wrong_service import WrongService
from emulator.testing import Emulator, LocalServer

Play = Callable[[Story, str], set[str]]

STORIES = {story.__name__: story for story in NOTICED_BY.values()}


@pytest.fixture(scope="module")
def service() -> WrongService:
    return WrongService(DOUBTS.values())


@pytest.fixture(scope="module")
def server(service: WrongService) -> Iterator[LocalServer]:
    """One for all rows: only one of them is active at a time."""
    server = LocalServer(7, parts=service.parts())
    yield server
    server.stop()


@pytest.fixture
def play(service: WrongService, server: LocalServer, request: pytest.FixtureRequest) -> Iterator[Play]:
    """Plays a test, in a world of this name, with a service that is wrong in one way or, with "", in none."""

    def run(story: Story, row: str) -> set[str]:
        service.active, service.reached = DOUBTS.get(row), set()
        with Emulator(key=f"sk_test_{row or story.__name__}", clock="2026-01-01T00:00:00Z", server=server) as payments:
            story(payments)
        return service.reached

    yield run
    service.active = None


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
