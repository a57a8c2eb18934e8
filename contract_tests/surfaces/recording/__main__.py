"""``python -m contract_tests.surfaces.recording [--seconds N] [PYTEST ARGUMENTS]``: reproduces what is in the worlds of tests.

When a test's world closes, an object of each kind in each of its states is reproduced as ``payments-emulator
reproduce`` does it: the recording of its causes is played in a fresh world and the object there compared with it. At
the end some of them, of every state alike, are shrunk for ``--seconds`` in all (60), to count their steps. The report
names the objects that were not equal.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from itertools import chain, zip_longest
from typing import Any, NamedTuple

import httpx
import msgspec
import pytest

from contract_tests.support.sandbox import CLOSING, Sandbox
from emulator.control.recording.model import Recording
from emulator.control.recording.reproduction import Shrunk, reproduce
from emulator.testing.fresh_world import FreshWorld

OPTIONS = ("-q", "-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning")
"""This package is imported before pytest can rewrite it."""

MOST_SECONDS = 20.0
"""How long one object is shrunk at most."""

State = tuple[str, str]


class Reproduced(NamedTuple):
    """An object that a fresh world has as well, and the recording that leads to it."""

    shown: Any
    recording: Recording


class Collector:
    """Looks at the worlds of tests, and counts what was reproduced."""

    def __init__(self) -> None:
        self.reproduced: dict[State, list[Reproduced]] = defaultdict(list)
        self.failures: list[str] = []
        self._test = ""
        self._worlds: dict[str, FreshWorld] = {}

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        self._test = item.nodeid

    def look(self, world: Sandbox) -> None:
        """Reproduce the newest object of each kind in each state of a world."""
        headers = {"Authorization": f"Bearer {world.key}"}
        with httpx.Client(base_url=f"{world.url}/_emulator", headers=headers, timeout=60, trust_env=False) as client:
            for state, shown in newest(client):
                found = self._reproduce(client, shown)
                if isinstance(found, str):
                    self.failures.append(f"{self._test}: {' '.join(state)} {shown['id']}: {found}")
                else:
                    self.reproduced[state].append(found)

    def _reproduce(self, client: httpx.Client, shown: Any) -> Reproduced | str:
        problem = ""
        field = "status" if "status" in shown else "object"
        for about in (shown["id"], None):
            query = {"as": "steps", "expect": f"{shown['id']}.{field}={shown[field]}", "about": about}
            answer = client.get("/recording", params={name: value for name, value in query.items() if value})
            if not answer.is_success:
                return f"{answer.status_code} {answer.text[:200]}"
            recording = msgspec.convert(answer.json(), Recording)
            result = self._shrunk(Reproduced(shown, recording), 0)
            if isinstance(result, Shrunk):
                return Reproduced(shown, recording)
            problem = result + (f"; unknown: {', '.join(recording.unknown)}" if recording.unknown else "")
        return problem

    def _shrunk(self, found: Reproduced, seconds: float) -> Shrunk | str:
        url = found.recording.url
        if url not in self._worlds:
            self._worlds[url] = FreshWorld(found.recording.app, url)
        return reproduce(found.recording, found.shown, self._worlds[url], seconds)

    def steps(self, seconds: float) -> Iterator[int]:
        """Yield the numbers of steps of some stories, as many as there is time for; of every state alike."""
        deadline = time.monotonic() + seconds
        order = random.Random(7)
        queues = [order.sample(each, len(each)) for each in self.reproduced.values()]
        for found in chain.from_iterable(zip_longest(*queues)):
            if found is not None and time.monotonic() < deadline:
                result = self._shrunk(found, MOST_SECONDS)
                if isinstance(result, Shrunk) and result.finished:
                    yield len(result.recording.steps)

    def report(self, seconds: float) -> Iterator[str]:
        """Yield the failures, and the numbers."""
        yield from self.failures
        total = sum(map(len, self.reproduced.values()))
        yield f"{total} objects in {len(self.reproduced)} states reproduced, {len(self.failures)} not"
        steps = [*self.steps(seconds)]
        numbers = f"median {statistics.median(steps or [0]):g}, most {max(steps, default=0)}"
        yield f"steps of {len(steps)} of them, shrunk: {numbers}"


def newest(client: httpx.Client) -> Iterator[tuple[State, Any]]:
    """Yield the newest object of each kind in each state; nothing where the world cannot be read."""
    counts = client.get("/counts")
    found: dict[State, Any] = {}
    for kind in [kind for kind, number in counts.json().items() if number] if counts.is_success else ():
        listed: Any = client.get("/objects", params={"kind": kind, "page_size": 100}).json()
        for each in listed["data"]:
            found.setdefault((kind, each.get("status", "")), each)
    yield from found.items()


def main() -> int:
    """Run the tests and print the report. 1 if an object was not reproduced."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    options, arguments = parser.parse_known_args()
    collector = Collector()
    CLOSING.append(collector.look)
    pytest.main([*OPTIONS, *arguments], plugins=[collector])
    print("\n".join(collector.report(options.seconds)))
    return bool(collector.failures)


if __name__ == "__main__":
    sys.exit(main())
