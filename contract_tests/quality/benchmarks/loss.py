"""What a crash costs worlds in a TinyDB file: how old the oldest change is that was answered and is lost."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from http.client import HTTPException

from contract_tests.quality.benchmarks import load
from contract_tests.quality.benchmarks.measures import Row, Size, creates
from contract_tests.quality.benchmarks.servers import EMULATOR, KEY, Server, running
from emulator.engine.storage import maintenance, serialization
from emulator.resources.app.clients import Key

SECONDS = 1.7
"""Seconds of creates before the server is killed: not a multiple of the time between two saves."""


def loss(size: Size, pool: ProcessPoolExecutor) -> Iterator[Row]:
    """The worst of some kills, with few customers in the file and with many."""
    for present in (size.few, size.customers):
        ages = [_age(present, pool) for _ in range(size.kills)]
        yield Row(
            f"TinyDB, {present:,} customers: a kill loses the last", "ms", None, max(ages) * 1000, None, "≤ 1000 ms"
        )


def _age(present: int, pool: ProcessPoolExecutor) -> float:
    """Seconds from the answer of the oldest lost create to the kill; 0 if none is lost."""
    with tempfile.TemporaryDirectory() as folder:
        state = f"tinydb:{folder}/worlds.json"
        with running((EMULATOR[0], (*EMULATOR[1], "--state", state))) as (server,):
            pool.submit(load.run, server.port, creates("present", present)).result()
            answered = _create(server)
            killed = time.perf_counter()
            server.kill()
        stored = maintenance.contents(state).worlds[Key(KEY.removeprefix("sk_test_"), livemode=False)]
        ids = {serialization.id_of(row) for _, row in stored.rows["customer"]}
        lost = [at for id, at in answered.items() if id not in ids]
        return killed - min(lost) if lost else 0.0


def _create(server: Server) -> dict[str, float]:
    """Customers created one after the other for a while: when each was answered, by id."""
    answered: dict[str, float] = {}
    end = time.perf_counter() + SECONDS
    try:
        while time.perf_counter() < end:
            body = {"email": f"lost{len(answered)}@example.com", "name": "Awa Diop"}
            id = server.call("POST", "/v1/customers/", body)["id"]
            answered[id] = time.perf_counter()
    except (OSError, HTTPException) as error:
        raise RuntimeError("the server ended before it was killed") from error
    return answered
