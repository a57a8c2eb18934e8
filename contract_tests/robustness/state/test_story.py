"""The same scenario with another server for every step ends in the same bytes as played through."""

from __future__ import annotations

from pathlib import Path

import pytest

from contract_tests.robustness.state.story import played_through, with_restarts


@pytest.mark.parametrize("place", ["tinydb:{}/worlds.json", "sqlite:///{}/worlds.db"])
def test_restarts_change_nothing(place: str, tmp_path: Path) -> None:
    """Ids, numbers, times, remembered answers, snapshots and the clock go on (B-93)."""
    through, end = played_through("memory")
    output, finally_reported = with_restarts(place.format(tmp_path))
    assert output == through
    assert finally_reported == end
