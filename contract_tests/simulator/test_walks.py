"""Some walks of a subscription beside its model, in memory and on SQLite; the command makes 2,000."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from contract_tests.simulator.model import TRANSITIONS, Life
from contract_tests.simulator.walks import Transition, walk
from emulator.testing import LocalServer


@pytest.fixture(scope="module", params=["memory", "sqlite"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalServer]:
    folder: Path = tmp_path_factory.mktemp("lives")
    local = LocalServer(state="memory" if request.param == "memory" else f"sqlite:{folder / 'worlds.db'}")
    yield local
    local.stop()


def test_walks_and_the_model_do_not_differ(server: LocalServer) -> None:
    """A walk that never came to a transition would say nothing of it: all are reached."""
    reached: Counter[Transition] = Counter()
    differences = [difference for seed in range(15) for difference in walk(server, seed, 20, reached)]
    assert differences == []
    assert reached.keys() == TRANSITIONS


def test_a_model_that_is_wrong_is_noticed(server: LocalServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that never sends ``subscription.trial_will_end``."""
    monkeypatch.setattr(Life, "is_to_be_noticed", lambda life: False)
    assert any(list(walk(server, seed, 20, Counter())) for seed in range(15))


def test_months_are_counted_from_the_anchor() -> None:
    """B-42: "31 January gives 28 February, then 31 March"."""
    life = Life(datetime(2026, 1, 31, tzinfo=UTC), 700, "month", 0, 0, None, "works")
    life.advance(life.now + timedelta(days=60))
    assert [bill.at.day for bill in life.bills] == [31, 28, 31]
