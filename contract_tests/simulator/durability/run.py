"""Runs: every operation of the model under every fault of a store, and a look at what is there."""

from __future__ import annotations

import random
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from contract_tests.simulator.durability import faults
from contract_tests.simulator.durability.client import (
    ANSWERED,
    DOUBLED,
    FAILED,
    LOST,
    TORN,
    VERDICTS,
    Client,
    Verdict,
)
from contract_tests.simulator.durability.operations import OPERATIONS, operation_id
from contract_tests.support.contract import contract

WRONG = (LOST, TORN, DOUBLED, FAILED)

SAFE_METHODS = {"GET", "HEAD", "OPTIONS"}

PREPARING = 6
"""Clients that are prepared, or look, at the same time."""


def changing() -> set[str]:
    """Return the operationIds of both documents that may change something."""
    return {
        operation.node["operationId"]
        for document in ("control", "service")
        for operation in contract(document).operations
        if operation.method not in SAFE_METHODS
    }


def without_model() -> set[str]:
    """Return the operationIds that the model does not know, and those that it alone knows."""
    return changing() ^ {operation_id(name) for name in OPERATIONS}


class Tally:
    """How often each operation had which outcome in which fault, and what was wrong."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str, str]] = Counter()
        self.wrong: list[str] = []

    def add(self, seed: int, fault: str, verdict: Verdict) -> None:
        self.counts[fault, operation_id(verdict.name), verdict.verdict] += 1
        if verdict.verdict in WRONG:
            where = f"seed {seed}, {fault}: {verdict.name}"
            self.wrong.append(f"{where} {verdict.verdict}: {verdict.why}")

    def total(self, verdict: str, *, fault: str = "", operation: str = "") -> int:
        return sum(
            number
            for (of_fault, of_operation, of_verdict), number in self.counts.items()
            if of_verdict == verdict and fault in ("", of_fault) and operation in ("", of_operation)
        )

    def unreached(self, played: Iterable[str], names: Iterable[str] = OPERATIONS) -> list[str]:
        """Return the operations that were never answered, or not sent in a fault played."""
        ids = sorted({operation_id(name) for name in names})
        sent = {(fault, operation) for fault, operation, _ in self.counts}
        never = [f"{id} was never answered" for id in ids if not self.total(ANSWERED, operation=id)]
        reached = [(fault, id) for fault in played for id in ids]
        return never + [f"{id} in {fault!r}" for fault, id in reached if (fault, id) not in sent]

    def tables(self, played: Iterable[str]) -> Iterator[str]:
        """Return the lines of two tables: by operation, and by fault."""
        head = " ".join(f"{verdict:>9}" for verdict in VERDICTS)
        yield f"{'operation':24} {head}"
        for id in sorted({operation for _, operation, _ in self.counts}):
            yield self._row(id, operation=id)
        yield f"{'fault':24} {head}"
        for fault in played:
            yield self._row(fault, fault=fault)
        yield self._row("all")

    def summary(self) -> str:
        wrong = ", ".join(f"{self.total(verdict)} {verdict}" for verdict in WRONG)
        return f"{self.total(ANSWERED)} answered, {wrong}"

    def _row(self, name: str, **where: str) -> str:
        return f"{name:24} " + " ".join(f"{self.total(v, **where):9}" for v in VERDICTS)


def play(
    store: str, seed: int, tally: Tally, names: Sequence[str] = (), only: Sequence[str] = ()
) -> None:
    """Play each fault of a store once, or those ``only``, in an order that the seed decides.

    Each operation, or each of ``names``, is sent in each of them.
    """
    chance = random.Random(seed)
    with (
        tempfile.TemporaryDirectory() as folder,
        faults.staged(store, Path(folder), chance) as scene,
    ):
        order = list(only or faults.FAULTS[store])
        chance.shuffle(order)
        for fault in order:
            for verdict in _in_fault(scene, store, fault, names or sorted(OPERATIONS)):
                tally.add(seed, fault, verdict)
        log = (scene.folder / "server.log").read_text()
        if "Traceback" in log:
            tally.wrong.append(f"seed {seed}: the log has {log[log.index('Traceback') :][:6000]}")


def _in_fault(
    scene: faults.Scene, store: str, fault: str, names: Sequence[str]
) -> Iterator[Verdict]:
    """Play one fault, with a client and a world of its own for each operation."""
    context, (least, most), kills, anew = faults.FAULTS[store][fault]
    tag = f"{scene.chance.getrandbits(32):08x}"
    clients = [
        Client(name, f"sk_test_{tag}{number}", random.Random(scene.chance.random()))
        for number, name in enumerate(names)
    ]
    url = scene.url
    _each(clients, lambda client: client.prepare(url, scene.receiver.url))
    over = threading.Event()
    with ThreadPoolExecutor(len(clients)) as pool:
        with context(scene):
            working = [pool.submit(client.work, over) for client in clients]
            until = time.monotonic() + scene.chance.uniform(least, most)
            for client in clients:
                client.begun.wait(max(0.0, until - time.monotonic()))
            time.sleep(max(0.0, until - time.monotonic()))
        over.set()
        for work in working:
            work.result()
    for client in clients:
        yield from (Verdict(done.name, done.verdict) for done in client.done)
    yield from _look(scene, clients, restarted=anew)
    if not kills:
        scene.restart()
        yield from _look(scene, clients, restarted=True)
    unanswered = [client for client in clients if client.unanswered]
    again = _each(unanswered, lambda client: [*client.again()])
    yield from (verdict for verdicts in again for verdict in verdicts)
    yield from _look(scene, unanswered, restarted=False)
    for client, wrong in zip(clients, _each(clients, Client.sums), strict=True):
        yield from (Verdict(client.name, TORN, why) for why in wrong)
        client.close()


def _look(scene: faults.Scene, clients: list[Client], *, restarted: bool) -> list[Verdict]:
    url = scene.url
    _each(clients, lambda client: client.await_world(url))
    looks = _each(clients, lambda client: [*client.look(url, restarted=restarted)])
    return [verdict for verdicts in looks for verdict in verdicts]


def _each(clients: list[Client], work: Callable[[Client], Any]) -> list[Any]:
    with ThreadPoolExecutor(PREPARING) as pool:
        return list(pool.map(work, clients))
