"""Where it grows: the cost of each operation against the customers of a world, as the table of the page of figures.

``python -m contract_tests.quality.benchmarks.curves`` fills one world in memory, and one that is stored, up to each size, and
measures there. Exit status 1 if a cost grows by more than the size.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import median
from typing import Any

import click

from contract_tests.quality.benchmarks import load
from contract_tests.quality.benchmarks.load import FROZEN, Server, creates, running, send
from contract_tests.quality.benchmarks.measures import PLAN, places
from emulator.engine.storage import maintenance

SIZES = (1_000, 10_000, 30_000, 100_000, 300_000)

BATCH = 20_000
"""Customers that are created by one load, which has a limit of time."""

SUBSCRIPTIONS = 100
"""Customers who subscribe by the month, in a world of any size: an advance renews them."""

STEEPEST = 1.15
"""The exponent beyond which a cost grows by more than the size; 0.15 are for what else the machine does."""

Curves = dict[str, dict[int, float]]
"""Milliseconds by operation and size."""


@click.command()
@click.option("--size", "sizes", multiple=True, type=click.IntRange(SUBSCRIPTIONS), help="May be repeated.")
@click.option(
    "--rounds", default=15, show_default=True, help="Of each operation; the median counts. A fifth of starts."
)
def main(sizes: tuple[int, ...], rounds: int) -> None:
    """Measure the cost of each operation in worlds of these sizes, by default of 1,000 to 300,000 customers."""
    curves: Curves = {}
    for size, name, cost in measured(sorted(sizes) or SIZES, rounds):
        curves.setdefault(name, {})[size] = cost
        click.echo(f"{size:>9,}  {name:24} {cost:10.2f} ms")
    click.echo(table(curves))
    steep = [name for name, curve in curves.items() if exponent(curve) > STEEPEST]
    click.echo(f"grow by more than the size: {', '.join(steep) or 'nothing'}")
    sys.exit(bool(steep))


def measured(sizes: Sequence[int], rounds: int) -> Iterator[tuple[int, str, float]]:
    """Yield the size, the operation and the milliseconds of each figure."""
    with load.generator() as pool, places() as stores, running(FROZEN) as (world,):
        _subscribe(world)
        present = SUBSCRIPTIONS
        for size in sizes:
            written = [place for name, place in stores.items() if name != "tinydb"]
            with running(*((*FROZEN, "--state", place) for place in written)) as others:
                for server in (world, *others):
                    for start in range(present, size, BATCH):
                        send(pool, server.port, creates(min(BATCH, size - start), phone=None))
                assert [server.stop() for server in others] == [0] * len(others)
            present = size
            for name, act in operations(world).items():
                yield size, name, _milliseconds(act, rounds)
            yield from ((size, f"start, {name}", cost) for name, cost in _starts(stores, max(1, rounds // 5), size))


def operations(server: Server) -> Mapping[str, Callable[[], Any]]:
    """Return what is done in the world, each from one request to its answer."""
    customers, numbers = "/v1/customers/", iter(range(sys.maxsize))
    last = server.call("GET", f"{customers}?page_size=20")["pagination"]["total_pages"]

    def create() -> None:
        email = f"{time.time_ns()}@example.com"
        server.call("POST", customers, {"email": email, "name": "Awa Diop"})

    def snapshot() -> None:
        server.call("POST", "/_emulator/snapshots", {"name": f"s{next(numbers) % 2}"})

    return {
        "create": create,
        "list, last page": lambda: server.call("GET", f"{customers}?page_size=20&page={last}"),
        "filter": lambda: server.call("GET", f"{customers}?status=active&page_size=20"),
        "search": lambda: server.call("GET", f"{customers}?search=nobody"),
        "order": lambda: server.call("GET", f"{customers}?ordering=email&page_size=20"),
        "advance by a month": lambda: server.call("POST", "/_emulator/clock/advance", {"by": "31d"}),
        "snapshot": snapshot,
    }


def _milliseconds(act: Callable[[], Any], rounds: int) -> float:
    act()  # what the first one prepares is not the size's doing
    taken = []
    for _ in range(rounds):
        began = time.perf_counter()
        act()
        taken.append((time.perf_counter() - began) * 1000)
    return median(taken)


def _subscribe(server: Server) -> None:
    plan = server.call("POST", "/v1/subscription-plans/", PLAN)["id"]
    for number in range(SUBSCRIPTIONS):
        contact = {"email": f"subscriber{number}@example.com", "name": "Awa", "phone": "+24177000000"}
        customer = server.call("POST", "/v1/customers/", contact)["id"]
        server.call("POST", "/v1/subscriptions/", {"customer": customer, "plan": plan})


def _starts(stores: Mapping[str, str], rounds: int, size: int) -> Iterator[tuple[str, float]]:
    """Yield how long a server takes from its command to the first list of the stored world, for each kind of store."""
    # A TinyDB file is written whole, again and again, while it is filled.
    tinydb = stores["tinydb"].replace("worlds", f"worlds{size}")
    maintenance.convert(stores["sqlite"], tinydb)
    for name, place in {**stores, "tinydb": tinydb}.items():
        taken = []
        for _ in range(rounds):
            began = time.perf_counter()
            with running((*FROZEN, "--state", place)) as (server,):
                server.call("GET", "/v1/customers/")
                taken.append((time.perf_counter() - began) * 1000)
                assert server.stop() == 0
        yield name, median(taken)


# -- the page


def exponent(curve: Mapping[int, float]) -> float:
    """Return by which power of the size a cost grows over the last decade: 0 not at all, 1 as the size does."""
    last = max(curve)
    first = min(size for size in curve if size >= last / 10)
    return math.log(curve[last] / curve[first]) / math.log(last / first) if last > first else 0.0


def table(curves: Curves) -> str:
    """Return the rows of the section on the page."""
    sizes = sorted({size for curve in curves.values() for size in curve})
    lines = [f"| | {' | '.join(f'{size:,}' for size in sizes)} | grows by |", "|---|" + "--:|" * (len(sizes) + 1)]
    for name, curve in curves.items():
        cells = [f"{curve[size]:,.1f}" if size in curve else "–" for size in sizes]
        lines.append(f"| {name} | {' | '.join(cells)} | {max(0.0, exponent(curve)):.1f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
