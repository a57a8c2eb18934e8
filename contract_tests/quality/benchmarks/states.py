"""A create with each kind of state, side by side in one run. PostgreSQL makes sure of every commit, as it does in earnest."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

from contract_tests.quality.benchmarks.measures import Row, Size, beside, creates, send
from contract_tests.quality.benchmarks.servers import EMULATOR, running
from contract_tests.support import postgres


@contextmanager
def places() -> Iterator[dict[str, str]]:
    """A new place of each kind, empty; of PostgreSQL where Debian's is installed."""
    with ExitStack() as cleanup:
        folder = Path(cleanup.enter_context(tempfile.TemporaryDirectory()))
        found = {"tinydb": f"tinydb:{folder}/worlds.json", "sqlite": f"sqlite:{folder}/worlds.db"}
        if postgres.programs() is not None:
            found["postgresql"] = cleanup.enter_context(postgres.running(sync=True))
        yield found


def stored(size: Size, pool: ProcessPoolExecutor) -> Iterator[Row]:
    """Yield a create with each kind of state beside one in memory, which stands in the place of the bare application."""
    with (
        places() as stores,
        running(EMULATOR, *((*EMULATOR, "--state", place) for place in stores.values())) as servers,
    ):
        each: dict[str, list[float]] = defaultdict(list)
        for number in range(-1, size.rounds):
            for name, server in zip(("memory", *stores), servers, strict=True):
                result = send(pool, server, creates("round", size.requests if number >= 0 else size.few))
                if number >= 0:
                    each[name].append(1e6 / result.rate)
        for name in stores:
            aim = "≤ 2.5 ×" if name == "postgresql" else ""
            yield beside(f"create, {name} beside memory", "µs", each["memory"], each[name], aim)
