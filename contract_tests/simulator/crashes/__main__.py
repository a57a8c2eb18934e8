"""Long versions: ``python -m contract_tests.simulator.crashes sqlite|postgresql|proxy [ROUNDS] [--seed 1]``

ROUNDS is 200 unless given: so many kills of a server, and a line for each. ``proxy`` is two servers behind nginx.

``python -m contract_tests.simulator.crashes --minutes 10 --store sqlite|postgres [--seed 1]``: chaos for so long.

Exit status 1 and a traceback if a world was not as it must be. PostgreSQL and nginx are Debian's, and are started for
the occasion.
"""

from __future__ import annotations

import argparse
import os
import random
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from contract_tests.simulator.crashes import chaos, crash_rounds, proxy
from contract_tests.support import postgres


def arguments() -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser("crash_recovery")
    parser.add_argument("kind", nargs="?", choices=["sqlite", "postgresql", "proxy"], default="sqlite")
    parser.add_argument("rounds", nargs="?", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--store", choices=["sqlite", "postgres"], default="sqlite")
    return parser.parse_args()


def chaotic(folder: Path, place: str, minutes: float, chance: random.Random) -> Iterator[str]:
    """Rounds for so long, and what happened in all of them."""
    until, rounds = time.monotonic() + minutes * 60, []
    for played in chaos.play(folder, place, chance):
        rounds.append(played)
        yield f"round {len(rounds)}: {played}"
        if time.monotonic() > until:
            break
    writes, worlds = (sum(each) for each in zip(*((len(it.load.writes), it.worlds) for it in rounds), strict=True))
    taken = sorted(each for played in rounds for each in played.taken)
    own = max(each.own for each in taken)
    yield (
        f"{len(rounds)} rounds, {len(taken)} disturbances, {writes} writes and {worlds} new worlds, of"
        f" which nothing was lost; every server served again after {taken[len(taken) // 2].seconds:.2f} s in the"
        f" median and {taken[-1].seconds:.2f} s at most, {own:.2f} s where it had a processor; load of the machine"
        f" {os.getloadavg()[1]:.1f}"
    )
    assert own < chaos.SERVES_WITHIN, f"served only {own:.1f} s after its database was there"


def main() -> None:
    """Play as long as asked for."""
    asked = arguments()
    kind = asked.kind if asked.minutes is None else asked.store
    with ExitStack() as cleanup:
        folder = Path(cleanup.enter_context(tempfile.TemporaryDirectory()))
        place = f"sqlite:{folder / 'worlds.db'}" if kind == "sqlite" else cleanup.enter_context(postgres.running())
        began, chance = time.monotonic(), random.Random(asked.seed)
        if asked.minutes is not None:
            lines = chaotic(folder, place, asked.minutes, chance)
        else:
            play = proxy.play if kind == "proxy" else crash_rounds.play
            lines = play(folder, place, asked.rounds, chance)
        for line in lines:
            print(f"{line}  [{time.monotonic() - began:.0f} s]", flush=True)


if __name__ == "__main__":
    main()
