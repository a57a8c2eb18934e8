"""Worlds are thrown away wholly: a long run holds no thread, socket or world of the tests that are over.

``python -m contract_tests.quality.benchmarks --only worlds`` does the same with a thousand, and measures time and memory.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import threading
import time
from concurrent.futures import ProcessPoolExecutor

import pytest

from contract_tests.quality.benchmarks.measures import one
from emulator.engine.runtime import Runtime
from emulator.testing import Emulator, LocalServer
from emulator.testing.collector import WebhookCollector

A_CONNECTION = 2
"""As many worlds as a connection holds by its last requests."""

MANY = 20

Held = tuple[int, int, int, int]


def held() -> Held:
    """Threads, files, worlds and collectors of webhooks of this process."""
    gc.collect()
    kinds = [type(each) for each in gc.get_objects()]
    # Where there is no uvloop the loop has up to six threads that look up host names, as long as it lives.
    threads = [each for each in threading.enumerate() if not each.name.startswith("asyncio_")]
    return len(threads), len(os.listdir("/proc/self/fd")), kinds.count(Runtime), kinds.count(WebhookCollector)


def held_beyond(most: Held) -> list[int]:
    """What is held beyond this, once all has been given back, with all the time a busy machine may need for it."""
    deadline = time.monotonic() + 60
    while any(beyond := [max(0, now - then) for now, then in zip(held(), most, strict=True)]):
        if time.monotonic() > deadline:
            break
        time.sleep(0.01)
    return beyond


def left_behind() -> list[list[int]]:
    """What many worlds leave, those without and those with webhooks, and what their server leaves in the end."""
    with Emulator():  # the loop's signals have two pipes that later servers use as well
        pass
    left, at_first = [], held()
    server = LocalServer()
    for webhooks in (False, True):
        one(server, "first", webhooks)
        threads, files, _, collectors = held()
        for number in range(MANY):
            one(server, str(number), webhooks)
        left.append(held_beyond((threads, files, A_CONNECTION, collectors)))
    server.stop()
    return [*left, held_beyond(at_first)]


@pytest.mark.long
def test_nothing_stays_of_many_worlds() -> None:
    """In a process of its own: connections of the servers of other tests come and go."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        assert pool.submit(left_behind).result() == [[0, 0, 0, 0]] * 3
