"""A few rounds of each kind; ``python -m contract_tests.simulator crashes`` plays any number.

A run of each change kills a server and looks for what it responded in
``simulator/durability/test_durability.py``.
"""

from __future__ import annotations

import random
from contextlib import ExitStack
from itertools import islice
from pathlib import Path

import pytest

from contract_tests.simulator.crashes import rounds
from contract_tests.support import postgres

IN_POSTGRES = (pytest.mark.long, pytest.mark.needs("postgresql", "nginx"))


@pytest.mark.parametrize(
    ("kind", "store", "most"),
    [
        pytest.param("kills", "sqlite", 1, marks=pytest.mark.long),
        pytest.param("chaos", "sqlite", 1, marks=pytest.mark.long),
        pytest.param("kills", "postgres", 2, marks=IN_POSTGRES),
        pytest.param("chaos", "postgres", 2, marks=IN_POSTGRES),
        pytest.param("proxy", "postgres", 2, marks=IN_POSTGRES),
    ],
)
def test_nothing_is_lost(kind: str, store: str, most: int, tmp_path: Path) -> None:
    with ExitStack() as stack:
        in_file = f"sqlite:{tmp_path}/worlds.db"
        place = in_file if store == "sqlite" else stack.enter_context(postgres.running())
        assert len([*islice(rounds.play(tmp_path, place, random.Random(7), kind), most)]) == most
