"""What a release wrote into PostgreSQL opens today."""

from __future__ import annotations

import pytest

from contract_tests import postgres
from contract_tests.contract import Contract
from contract_tests.state import golden
from contract_tests.state.test_golden import open_twice


@pytest.mark.parametrize("release", golden.RELEASES)
def test_a_database_of_a_release_opens(release: str, place: str, contracts: tuple[Contract, Contract]) -> None:
    postgres.load(place, golden.FOLDER / release / "worlds.sql")
    open_twice(place, release, contracts)
