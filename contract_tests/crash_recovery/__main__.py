"""Long version: ``python -m contract_tests.crash_recovery sqlite|postgresql|proxy [ROUNDS] [SEED]``

ROUNDS is 200 unless given.

A line for each round; exit status 1 and a traceback if a world was not as it must be. ``proxy`` is two servers behind
nginx. PostgreSQL and nginx are Debian's, and are started for the occasion.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from contract_tests import postgres
from contract_tests.crash_recovery import crash_rounds as rounds_of
from contract_tests.crash_recovery import proxy


def main(kind: str, rounds: int, seed: int) -> None:
    """Play so many rounds."""
    with ExitStack() as cleanup:
        folder = Path(cleanup.enter_context(tempfile.TemporaryDirectory()))
        place = f"sqlite:///{folder / 'worlds.db'}" if kind == "sqlite" else cleanup.enter_context(postgres.running())
        began = time.monotonic()
        play = proxy.play if kind == "proxy" else rounds_of.play
        for line in play(folder, place, rounds, random.Random(seed)):
            print(f"{line}  [{time.monotonic() - began:.0f} s]", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int((sys.argv[2:] or ["200"])[0]), int((sys.argv[3:] or ["1"])[0]))
