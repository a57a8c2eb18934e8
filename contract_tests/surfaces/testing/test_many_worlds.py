"""Worlds are thrown away wholly: a long run holds no thread, socket or world of the tests that are over.

``python -m contract_tests.quality.benchmarks --only worlds`` does the same with a thousand, and measures time and memory.
"""

from __future__ import annotations

import gc
import os
import threading
import time
from collections.abc import Callable

import pytest
from freezegun import freeze_time

from contract_tests.quality.benchmarks.worlds import one
from emulator.engine.runtime import Runtime
from emulator.testing import Emulator, LocalServer
from emulator.testing.collector import WebhookCollector

MANY = 40

A_FEW = 3
"""So many threads, worlds and files more say nothing: connections of other servers in this process come and go as well."""


def held() -> tuple[int, int, int]:
    """Threads, worlds of these tests and collectors of webhooks that are alive.

    Other servers of this process may open worlds as well.
    """
    gc.collect()
    alive = gc.get_objects()
    worlds = sum(type(each) is Runtime and each.world.name.startswith("world-") for each in alive)
    collectors = sum(type(each) is WebhookCollector for each in alive)
    # Where there is no uvloop the loop has up to six threads that look up host names, as long as it lives.
    threads = [each for each in threading.enumerate() if not each.name.startswith("asyncio_")]
    return len(threads), worlds, collectors


def comes_true(what: Callable[[], bool]) -> bool:
    """Whether it does, with all the time a busy machine may need."""
    deadline = time.monotonic() + 60
    while not what() and time.monotonic() < deadline:
        time.sleep(0.01)
    return what()


def no_more_than(before: tuple[int, int, int]) -> bool:
    """Whether no more is alive than before; what other tests left to end by itself may have done so by now."""
    return all(now <= then for now, then in zip(held(), before, strict=True))


@pytest.mark.parametrize("webhooks", [False, True])
def test_nothing_stays_of_many_worlds(webhooks: bool) -> None:
    before_all = held()
    server = LocalServer()
    one(server, "first", webhooks)
    threads, worlds, collectors = before_all
    # A connection that was closed, and the world it was about, live until the next one takes its place.
    at_work = threads + A_FEW, worlds + A_FEW, collectors
    assert comes_true(lambda: no_more_than(at_work)), (held(), at_work)
    files = len(os.listdir("/proc/self/fd"))
    for number in range(MANY):
        one(server, str(number), webhooks)
    assert comes_true(lambda: no_more_than(at_work)), (held(), at_work)
    assert comes_true(lambda: len(os.listdir("/proc/self/fd")) <= files + A_FEW)
    server.stop()
    assert comes_true(lambda: no_more_than(before_all)), (held(), before_all)


@freeze_time("2026-01-01")  # so that no connection is idle for too long on a busy machine
def test_worlds_share_a_connection() -> None:
    server = LocalServer()
    try:
        addresses = set()
        for number in range(3):
            with Emulator(key=f"sk_test_shared-{number}", server=server) as world:
                answer = world.client.get("/v1/customers/")
                addresses.add(answer.extensions["network_stream"].get_extra_info("client_addr"))
            with pytest.raises(RuntimeError, match="closed"):
                world.client.get("/v1/customers/")
        assert len(addresses) == 1
    finally:
        server.stop()
