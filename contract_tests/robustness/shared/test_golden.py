"""What a release wrote into PostgreSQL opens today."""

from __future__ import annotations

import pytest

from contract_tests.robustness.state import golden
from contract_tests.robustness.state.test_golden import open_history, open_twice
from contract_tests.support import postgres
from contract_tests.support.contract import Contract


@pytest.mark.parametrize("release", golden.RELEASES)
def test_a_database_of_a_release_opens(release: str, place: str, contracts: tuple[Contract, Contract]) -> None:
    postgres.load(place, golden.FOLDER / release / "worlds.sql")
    open_twice(place, release, contracts)


def test_a_database_of_a_limited_history_opens(place: str, contracts: tuple[Contract, Contract]) -> None:
    """PostgreSQL could not store a text with a NUL while the indexes were there."""
    postgres.load(place, golden.FOLDER / "history" / "postgresql.sql")
    open_history(place, contracts)
