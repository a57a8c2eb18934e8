"""Growth: the cost of each operation by the number of a world's customers, as plots and tables.

``python -m contract_tests.quality.benchmarks.curves`` fills one world in memory, and one that is
stored, up to each size, and measures there; also how long another world waits meanwhile. Exit
status 1 if a cost grows by more than the size.
"""

from __future__ import annotations

import math
import re
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from statistics import median
from typing import Any

import click

from contract_tests import ROOT
from contract_tests.quality.benchmarks import load
from contract_tests.quality.benchmarks.load import FROZEN, Server, creates, running, send
from contract_tests.quality.benchmarks.measures import PLAN, places, waits
from emulator.engine.storage import urls

PAGE = ROOT / "docs/contributing/benchmarks.md"
PLOT = PAGE.with_name("curves.svg")

SIZES = (1_000, 10_000, 30_000, 100_000, 300_000)

BATCH = 20_000
"""Customers that are created by one load, which has a limit of time."""

SUBSCRIPTIONS = 100
"""Customers who subscribe by the month, in a world of any size: an advance renews them."""

STEEPEST = 1.15
"""The exponent beyond which a cost outgrows the size; 0.15 are for the machine's other work."""

WAIT = "others wait, "
"""What the name of a figure begins with that is the longest wait of another world."""

Curves = dict[str, dict[int, float]]
"""Milliseconds by operation and size."""


@click.command()
@click.option(
    "--size", "sizes", multiple=True, type=click.IntRange(SUBSCRIPTIONS), help="May be repeated."
)
@click.option(
    "--rounds",
    default=15,
    show_default=True,
    help="Of each operation; the median counts. A fifth of starts.",
)
@click.option(
    "--write/--no-write", default=True, help="Whether the plot and the page of figures are written."
)
def main(sizes: tuple[int, ...], rounds: int, write: bool) -> None:
    """Measure operations' costs in worlds of these sizes (default: 1,000 to 300,000 customers)."""
    curves: Curves = {}
    for size, name, cost in measured(sorted(sizes) or SIZES, rounds):
        curves.setdefault(name, {})[size] = cost
        click.echo(f"{size:>9,}  {name:36} {cost:10.2f} ms")
    if write:
        PLOT.write_text(plot(curves), "utf-8")
        PAGE.write_text(with_section(PAGE.read_text("utf-8"), section(curves)), "utf-8")
    steep = [
        name
        for name, curve in curves.items()
        if not name.startswith(WAIT) and exponent(curve) > STEEPEST
    ]
    click.echo(f"grow by more than the size: {', '.join(steep) or 'nothing'}")
    sys.exit(bool(steep))


def measured(sizes: Sequence[int], rounds: int) -> Iterator[tuple[int, str, float]]:
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
            for name, act in operations(world).items():
                with ThreadPoolExecutor(1) as thread:
                    yield (
                        size,
                        WAIT + name,
                        max(waits(world, thread.submit(act), pause=0.002)) * 1000,
                    )
            yield from (
                (size, f"start, {name}", cost)
                for name, cost in _starts(stores, max(1, rounds // 5), size)
            )
            for place in written:
                yield from ((size, f"{WAIT}{name}", cost) for name, cost in _stored_waits(place))


def operations(server: Server) -> Mapping[str, Callable[[], Any]]:
    """Return what is done in the world, each from one request to its answer."""
    customers, numbers = "/v1/customers/", iter(range(sys.maxsize))
    last = server.call("GET", f"{customers}?page_size=20")["pagination"]["total_pages"]

    def create() -> None:
        email = f"{time.time_ns()}@example.com"
        server.call("POST", customers, {"email": email, "name": "Awa Diop"})

    def snapshot() -> None:
        server.call("POST", "/_emulator/snapshots", {"name": f"s{next(numbers) % 2}"})

    def export() -> None:
        # In pieces that are dropped: a large answer as a whole would hold up whatever else this
        # process measures.
        deque(load.pieces(server.port, "GET", "/_emulator/snapshots/s0"), maxlen=0)

    return {
        "create": create,
        "list, last page": lambda: server.call("GET", f"{customers}?page_size=20&page={last}"),
        "filter": lambda: server.call("GET", f"{customers}?status=active&page_size=20"),
        "search": lambda: server.call("GET", f"{customers}?search=nobody"),
        "order": lambda: server.call("GET", f"{customers}?ordering=email&page_size=20"),
        "advance by a month": lambda: server.call(
            "POST", "/_emulator/clock/advance", {"by": "31d"}
        ),
        "snapshot": snapshot,
        "restore": lambda: server.call("POST", "/_emulator/snapshots/s0/restore"),
        "export": export,
        "explain": lambda: server.call("GET", f"/_emulator/explain/{server.ids(customers, 1)[0]}"),
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
        contact = {
            "email": f"subscriber{number}@example.com",
            "name": "Awa",
            "phone": "+24177000000",
        }
        customer = server.call("POST", "/v1/customers/", contact)["id"]
        server.call("POST", "/v1/subscriptions/", {"customer": customer, "plan": plan})


def _starts(stores: Mapping[str, str], rounds: int, size: int) -> Iterator[tuple[str, float]]:
    """Yield a server's time from its command to the stored world's first list, by kind of store."""
    # A TinyDB file is written whole, again and again, while it is filled.
    tinydb = stores["tinydb"].replace("worlds", f"worlds{size}")
    urls.convert(stores["sqlite"], tinydb)
    for name, place in {**stores, "tinydb": tinydb}.items():
        taken = []
        for _ in range(rounds):
            began = time.perf_counter()
            with running((*FROZEN, "--state", place)) as (server,):
                server.call("GET", "/v1/customers/")
                taken.append((time.perf_counter() - began) * 1000)
                assert server.stop() == 0
        yield name, median(taken)


def _stored_waits(place: str) -> Iterator[tuple[str, float]]:
    """Yield another world's wait for a stored one's opening, save, restore, snapshot's deletion."""
    with running((*FROZEN, "--state", place, "--max-worlds", "2")) as (server,):

        def opened() -> None:
            server.call(
                "GET", "/v1/customers/", key="sk_test_third"
            )  # of three, the longest unused is put away
            time.sleep(1)
            server.call("GET", "/v1/customers/")

        acts: dict[str, Callable[[], Any]] = {
            "open": opened,
            "snapshot": lambda: server.call("POST", "/_emulator/snapshots", {"name": "s0"}),
            "restore": lambda: server.call("POST", "/_emulator/snapshots/s0/restore"),
            "delete": lambda: server.call("DELETE", "/_emulator/snapshots/s0"),
        }
        for name, act in acts.items():
            with ThreadPoolExecutor(1) as thread:
                longest = max(waits(server, thread.submit(act), pause=0.002))
            yield f"{place.partition(':')[0]}: {name}", longest * 1000
        assert server.stop() == 0


def exponent(curve: Mapping[int, float]) -> float:
    """Return the power of the size by which a cost grows over the last decade: 0 none, 1 linear."""
    last = max(curve)
    first = min(size for size in curve if size >= last / 10)
    return math.log(curve[last] / curve[first]) / math.log(last / first) if last > first else 0.0


HEAD = """## Where it grows

![The cost of each operation against the customers of a world](curves.svg)

The plot, drawn by `python -m contract_tests.quality.benchmarks.curves`, shows the milliseconds of
one client's request against the customers of a world. {subscriptions} of them subscribe by the
month; an advance renews them. A start lasts until the first list. The last column is the power of
the size by which a cost grows over the last decade: 0 means not at all, 1 in proportion. *Others
wait* is the longest response time of another world meanwhile; the plot also shows it for a stored
world.
"""


def section(curves: Curves) -> str:
    sizes = sorted({size for curve in curves.values() for size in curve})
    lines = [
        f"| | {' | '.join(f'{size:,}' for size in sizes)} | grows by |",
        "|---|" + "--:|" * (len(sizes) + 1),
    ]
    for name, curve in ((name, curve) for name, curve in curves.items() if ":" not in name):
        cells = [f"{curve[size]:,.1f}" if size in curve else "–" for size in sizes]
        power = "" if name.startswith(WAIT) else f"{max(0.0, exponent(curve)):.1f}"
        lines.append(f"| {name} | {' | '.join(cells)} | {power} |")
    return HEAD.format(subscriptions=SUBSCRIPTIONS) + "\n" + "\n".join(lines) + "\n"


def with_section(page: str, text: str) -> str:
    before = re.split(r"^## Where it grows\n", page, flags=re.M)[0]
    return f"{before.rstrip()}\n\n{text}"


COLORS = (
    *("#0969da", "#1a7f37", "#9a6700", "#cf222e", "#8250df", "#bf3989"),
    *("#57606a", "#0a7f8c", "#8a4600", "#4d7c0f", "#b91c5c"),
)
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 470, 380, 62, 140, 40, 44


def plot(curves: Curves) -> str:
    """Return the plots of requests, starts and others' waits, side by side on logarithmic axes."""
    starts = {name: curve for name, curve in curves.items() if name.startswith("start")}
    others = {name: curve for name, curve in curves.items() if name.startswith(WAIT)}
    stored = {name: curve for name, curve in others.items() if ":" in name}
    panels = {
        "Requests": {
            name: curve for name, curve in curves.items() if name not in {*starts, *others}
        },
        "Start": starts,
        "Others wait": {name: curve for name, curve in others.items() if name not in stored},
        "Others wait, stored": stored,
    }
    drawn = "".join(
        _panel(title, curves, number * WIDTH)
        for number, (title, curves) in enumerate(panels.items())
    )
    style = "text{font:12px system-ui,sans-serif;fill:#57606a}path{fill:none;stroke-width:2}"
    style += ".grid{stroke:#8c959f55;stroke-width:1}"
    size = f'width="{4 * WIDTH}" height="{HEIGHT}" viewBox="0 0 {4 * WIDTH} {HEIGHT}"'
    label = (
        "The cost of each operation in milliseconds against the customers of a world, on"
        " logarithmic axes"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{label}">\n'
        f"<style>{style}</style>\n{drawn}</svg>\n"
    )


def _panel(title: str, curves: Curves, left: float) -> str:
    sizes = sorted({size for curve in curves.values() for size in curve})
    costs = [cost for curve in curves.values() for cost in curve.values()]
    low, high = math.floor(math.log10(min(costs))), math.ceil(math.log10(max(costs)))
    first, last = math.log10(sizes[0]), max(math.log10(sizes[-1]), math.log10(sizes[0]) + 0.01)

    def x(size: float) -> float:
        return left + LEFT + (math.log10(size) - first) / (last - first) * (WIDTH - LEFT - RIGHT)

    def y(cost: float) -> float:
        return TOP + (high - math.log10(cost)) / max(high - low, 1) * (HEIGHT - TOP - BOTTOM)

    ends = left + WIDTH - RIGHT
    parts = [f'<text x="{left + LEFT}" y="20" font-weight="600">{title}: ms by customers</text>']
    for cost in (10.0**power for power in range(low, high + 1)):
        parts.append(f'<path class="grid" d="M{left + LEFT} {y(cost):.1f}H{ends}"/>')
        parts.append(
            f'<text x="{left + LEFT - 6}" y="{y(cost) + 4:.1f}" text-anchor="end">{cost:,g}</text>'
        )
    below = HEIGHT - 22
    parts += [
        f'<text x="{x(size):.1f}" y="{below}" text-anchor="middle">{size // 1000}k</text>'
        for size in sizes
    ]
    placed = -math.inf
    by_height = sorted(curves.items(), key=lambda item: y(item[1][max(item[1])]))
    for color, (name, curve) in zip(COLORS, by_height, strict=False):
        line = "L".join(f"{x(size):.1f} {y(cost):.1f}" for size, cost in sorted(curve.items()))
        placed = max(y(curve[max(curve)]) + 4, placed + 14)
        parts.append(f'<path d="M{line}" stroke="{color}"/>')
        text = name.removeprefix("start, ").removeprefix(WAIT)
        parts.append(f'<text x="{ends + 8}" y="{placed:.1f}" style="fill:{color}">{text}</text>')
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    main()
