"""Rounds: load, a kill at a random moment, a new start, and a look at what is there."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx

from contract_tests.simulator.crashes.invariants import World, broken
from contract_tests.simulator.crashes.load import HEADERS, Load, ask_again, at_last
from contract_tests.simulator.crashes.servers import Emulator, started
from contract_tests.support.receiver import Receiver

LONGEST = 0.8
"""Seconds of load before the kill, at most."""

START = ("--clock", "frozen@2026-01-01T00:00:00Z")


AFRESH = 10
"""Rounds that a world goes through before it is wiped, so that looking at it does not take longer and longer."""


@contextmanager
def receiving() -> Iterator[Receiver]:
    """A receiver of webhooks."""
    receiver = Receiver()
    try:
        yield receiver
    finally:
        receiver.close()


def wipe(url: str, receiver: Receiver) -> None:
    """An empty world whose new customers are reported to the receiver."""
    ask(url, "/v1/reset")
    ask(url, "/v1/webhooks/", {"name": "Shop", "url": receiver.url, "events": ["customer.created"]})


def ask(url: str, path: str, body: Any = None) -> None:
    """A POST that must succeed, whichever server answers it."""
    post = partial(httpx.post, url + path, json=body or {}, headers=HEADERS, timeout=60, trust_env=False)
    at_last(post).raise_for_status()


def play(folder: Path, place: str, rounds: int, chance: random.Random) -> Iterator[str]:
    """Kill a server so many times; a line for each round. Raises ``AssertionError`` for what must not be."""
    emulator = Emulator(folder, place, *START)
    with started(emulator), receiving() as receiver:
        for number in range(rounds):
            if number % AFRESH == 0:
                wipe(emulator.url, receiver)
            load = Load(emulator.url)
            load.start()
            time.sleep(chance.uniform(0, LONGEST))
            emulator.kill()
            load.stop()
            emulator.start()
            world = look(emulator.url, load, receiver)
            yield f"round {number + 1}: {load}, {world.now}"


def look(url: str, load: Load, receiver: Receiver) -> World:
    """What must be true after a crash."""
    world = World(url)
    faults = broken(world)
    assert faults == [], "\n".join(faults[:5])
    assert world.now >= load.instant, "the clock went back"
    ask_again(url, load.writes)
    world = World(url)
    faults = broken(world)
    assert faults == [], "\n".join(faults[:5])
    received = {event["id"] for event in receiver.events}
    missing = [event["id"] for event in world.all("event", type="customer.created") if event["id"] not in received]
    assert missing == [], f"never delivered: {missing[:5]}"
    # The next round begins where no key of this one is remembered any more.
    ask(url, "/_emulator/clock/advance", {"by": "2d"})
    return world
