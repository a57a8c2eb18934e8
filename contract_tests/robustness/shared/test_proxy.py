"""Two servers and a proxy over one PostgreSQL, with the configuration that docs/guide/state.md shows."""

from __future__ import annotations

import random
from pathlib import Path

from contract_tests.robustness.crashes.proxy import play


def test_the_death_of_either_loses_nothing(place: str, tmp_path: Path) -> None:
    """Under load, which goes on; ``python -m contract_tests.robustness.crashes proxy`` plays more rounds."""
    assert len(list(play(tmp_path, place, 2, random.Random(7)))) == 2
