"""The sizes of the house: each room has a budget, a size over it fails, and a request is counted the same each time."""

from __future__ import annotations

import pytest

from contract_tests.quality import sizes
from contract_tests.quality.sizes import HOUSE, ROOMS, TESTS, TREE, Size, report


def test_every_room_has_a_budget() -> None:
    assert {path.parent.name for path in HOUSE.glob("*/__init__.py")} == ROOMS.keys()
    assert {path.parent.name for path in TREE.glob("*/__init__.py")} == TESTS.keys()


def test_a_size_over_its_budget_fails(capsys: pytest.CaptureFixture[str]) -> None:
    assert report([Size("lines of core/", 10, 10, 8)]) == 0
    assert report([Size("lines of core/", 10, 10, 8), Size("lines of web/", 11, 10, 8)]) == 1
    assert [line.endswith("over") for line in capsys.readouterr().out.splitlines()] == [False, False, True]


@pytest.mark.long
def test_a_request_is_counted_the_same_each_time() -> None:
    """What the server does beside it, and how often its coroutines pause, does not count."""
    assert sizes.of_requests() == sizes.of_requests()
