"""``python -m contract_tests.recording [PYTEST ARGUMENTS]``: reproduces what is in the worlds of the test suite.

After each test, an object of each kind in each of its states is reproduced by ``payments-emulator reproduce``, which
compares it in a fresh world. The end names those that were not equal, and how many steps the others took.
"""

from __future__ import annotations

import statistics
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from contract_tests.cli.terminal import run
from contract_tests.recording.test_states import BECAME
from contract_tests.sandbox import Sandbox

OPTIONS = ("-q", "-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning")
"""The plugin of this package is imported before pytest can rewrite it."""

State = tuple[str, str]


class Collector:
    """Reproduces an object of each kind in each state from the worlds of every test."""

    def __init__(self) -> None:
        self.steps: list[int] = []
        self.states: Counter[State] = Counter()
        self.failures: list[str] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> None:
        """While the worlds of the test still are there."""
        for world in getattr(item, "funcargs", {}).values():
            if isinstance(world, Sandbox):
                for state, id in _states(world):
                    self._reproduce(item.nodeid, world, state, id)

    def _reproduce(self, test: str, world: Sandbox, state: State, id: str) -> None:
        ended = run("reproduce", id, "--as", "curl", "--url", world.url, "--key", world.key)
        became = BECAME.search(ended.errors)
        if ended.status == 0 and became:
            self.states[state] += 1
            self.steps.append(int(became[1]))
        else:
            self.failures.append(f"{test}: {' '.join(state)}: {ended.errors.strip()[:300]}")

    def report(self) -> Iterator[str]:
        """The failures, and the numbers."""
        yield from self.failures
        total = f"{len(self.steps)} objects in {len(self.states)} states reproduced, {len(self.failures)} not"
        yield f"{total}; steps: median {statistics.median(self.steps or [0]):g}, most {max(self.steps, default=0)}"


def _states(world: Sandbox) -> Iterator[tuple[State, str]]:
    """The newest object of each kind in each state."""
    headers = {"Authorization": f"Bearer {world.key}"}
    with httpx.Client(base_url=f"{world.url}/_emulator", headers=headers, timeout=60, trust_env=False) as client:
        counts = client.get("/counts")
        found: dict[State, str] = {}
        for kind in [kind for kind, number in counts.json().items() if number] if counts.is_success else ():
            listed: Any = client.get("/objects", params={"kind": kind, "page_size": 100}).json()
            for each in listed["data"]:
                found.setdefault((kind, each.get("status", "")), each["id"])
    yield from found.items()


if __name__ == "__main__":
    collector = Collector()
    pytest.main([*OPTIONS, *sys.argv[1:]], plugins=[collector])
    print("\n".join(collector.report()))
    sys.exit(bool(collector.failures))
