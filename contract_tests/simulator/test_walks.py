"""Some walks of a subscription beside its model, on each kind of state; the command makes 2,000."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from contract_tests.simulator.model import TRANSITIONS, Life
from contract_tests.simulator.walks import Transition, walk
from emulator.testing import LocalServer


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[LocalServer]]:
    """One for each kind of state."""
    folder: Path = tmp_path_factory.mktemp("walks")
    with ExitStack() as stack:
        places = ("memory", f"tinydb:{folder}/worlds.json", f"sqlite:{folder}/worlds.db")
        servers = [LocalServer(state=place) for place in places]
        for server in servers:
            stack.callback(server.stop)
        yield servers


def test_walks_and_the_model_do_not_differ(servers: list[LocalServer]) -> None:
    """A walk that never came to a transition would say nothing of it: all are reached."""
    reached: Counter[Transition] = Counter()
    assert [found for seed in range(20) for found in walk(servers[seed % 3], seed, 20, reached)] == []
    assert reached.keys() == TRANSITIONS


def test_a_model_that_is_wrong_is_noticed(servers: list[LocalServer], monkeypatch: pytest.MonkeyPatch) -> None:
    """One that never sends ``subscription.trial_will_end``."""
    monkeypatch.setattr(Life, "is_to_be_noticed", lambda life: False)
    assert any(list(walk(servers[0], seed, 20, Counter())) for seed in range(15))


def test_months_are_counted_from_the_anchor() -> None:
    """B-42: "31 January gives 28 February, then 31 March"."""
    life = Life(datetime(2026, 1, 31, tzinfo=UTC), 700, "month", 0, 0, None, "works")
    life.advance(life.now + timedelta(days=60))
    assert [bill.at.day for bill in life.bills] == [31, 28, 31]
