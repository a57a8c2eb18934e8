"""The benchmark of states runs, in its smallest size; no time is judged."""

from __future__ import annotations

import pytest

from contract_tests.quality.benchmarks.states import measure

pytestmark = pytest.mark.long


def test_every_state_gives_its_figures() -> None:
    figures = measure(20, 40, 1, 20)
    assert {state for state, _, _ in figures} >= {"memory", "tinydb", "sqlite"}
    assert {(objects, name) for _, objects, name in figures} == {
        (objects, name) for objects in (20, 40) for name in ("GET one", "create")
    }
    assert all(result.rate > 0 for result in figures.values())
