"""Steps: ten years of a thousand subscriptions in one step and in steps of random size, which must end alike (B-91)."""

from __future__ import annotations

import hashlib
import random
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor

import msgspec

from contract_tests.quality.benchmarks.measures import Row, Size
from contract_tests.support.long_runs import Extent, at_once, play, randomly
from contract_tests.support.rules_harness import RulesHarness

SEED = 7


def steps(size: Size, pool: ProcessPoolExecutor) -> Iterator[Row]:
    """Renewals per second of each way. Raises ``RuntimeError`` where the two do not end with the same bytes."""
    extent = Extent(subscriptions=size.lives, days=365 * size.years, acts=size.lives)
    states = set()
    for way, walk in (("in one step", at_once), ("in random steps", randomly(random.Random(SEED)))):
        started = time.perf_counter()
        harness = play(SEED, walk, extent)
        seconds = time.perf_counter() - started
        states.add(state(harness))
        name = f"{extent.subscriptions:,} subscriptions, {size.years} years {way}"
        yield Row(f"{name}: invoices", "/s", None, len(harness.invoices()) / seconds, None)
        # Two such worlds need not be in memory at once.
        del harness
    if len(states) > 1:
        raise RuntimeError("random steps do not end as one step does")


def state(harness: RulesHarness) -> str:
    """A digest of all there is in a world; no job may have failed on the way."""
    if harness.failed_jobs():
        raise RuntimeError(f"failed: {harness.failed_jobs()[0]}")
    digest = hashlib.sha256(repr(sorted(harness.world.counters.items())).encode())
    for table in harness.world.tables():
        for record in table:
            digest.update(msgspec.json.encode(record))
    return digest.hexdigest()
