"""Time is the same however it is walked: a world ends alike after long steps of its clock and after many short ones."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contract_tests.simulator.population import STARTS, Walker
from emulator.testing import Emulator, LocalServer

ACTS = 150
"""Of clients, buyers and testers, within two years."""


@pytest.fixture(scope="module")
def local_server() -> Iterator[LocalServer]:
    server = LocalServer()
    yield server
    server.stop()


def played(server: LocalServer, seed: int, pieces: random.Random | None) -> Any:
    """Return all that is in a world whose clock was moved to each act at once, or in pieces."""
    chance, now = random.Random(seed), datetime.fromisoformat(STARTS[seed % len(STARTS)])
    with Emulator(key="sk_test_steps", clock=now.isoformat(), seed=seed, server=server) as emulator:
        walker = Walker(emulator, seed)
        for _ in range(ACTS):
            span = timedelta(days=round(chance.expovariate(ACTS / 730), 4))
            parts = sorted(pieces.random() for _ in range(pieces.randrange(12))) if pieces else []
            for part in (*parts, 1):
                moved = emulator.api.post("/_emulator/clock/advance", {"to": (now + span * part).isoformat()})
                assert moved["failures"] == []
            now += span
            assert walker.act() is None
        emulator.api.post("/_emulator/snapshots", {"name": "end"})
        return emulator.api.get("/_emulator/snapshots/end")


@pytest.mark.long
@settings(max_examples=4, deadline=None)
@given(seed=st.integers(0, 10**6), other=st.integers(0, 10**6))
def test_random_steps_end_as_one_step_does(local_server: LocalServer, seed: int, other: int) -> None:
    """B-91: jobs run at their own time, so it does not matter where an advance stops."""
    assert played(local_server, seed, random.Random(other)) == played(local_server, seed, None)
