"""Where it grows: the cost of each operation against the customers of a world, as a plot and a table on the page of figures.

``python -m contract_tests.quality.benchmarks.curves`` fills one world in memory, and one that is stored, up to each size, and
measures there. Exit status 1 if a cost grows by more than the size.
"""

from __future__ import annotations

import math
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import median
from typing import Any

import click

from contract_tests import ROOT
from contract_tests.quality.benchmarks import load
from contract_tests.quality.benchmarks.load import FROZEN, Server, creates, running, send
from contract_tests.quality.benchmarks.measures import PLAN, places
from emulator.engine.storage import maintenance

PAGE = ROOT / "docs/contributing/benchmarks.md"
PLOT = PAGE.with_name("curves.svg")
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
@click.option("--write/--no-write", default=True, help="Whether the plot and the page of figures are written.")
def main(sizes: tuple[int, ...], rounds: int, write: bool) -> None:
    """Measure the cost of each operation in worlds of these sizes, by default of 1,000 to 300,000 customers."""
    curves: Curves = {}
    for size, name, cost in measured(sorted(sizes) or SIZES, rounds):
        curves.setdefault(name, {})[size] = cost
        click.echo(f"{size:>9,}  {name:24} {cost:10.2f} ms")
    if write:
        PLOT.write_text(plot(curves), "utf-8")
        PAGE.write_text(with_section(PAGE.read_text("utf-8"), section(curves)), "utf-8")
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


HEAD = """## Where it grows

![The cost of each operation against the customers of a world](curves.svg)

`python -m contract_tests.quality.benchmarks.curves` draws it: milliseconds of a request of one client, by the customers
of a world. {subscriptions} of them subscribe by the month; an advance renews them. A start lasts until the first list. The last
column is the power of the size by which a cost grows over the last decade: 0 not at all, 1 in proportion.
"""


def section(curves: Curves) -> str:
    """Return the section of the page."""
    sizes = sorted({size for curve in curves.values() for size in curve})
    lines = [f"| | {' | '.join(f'{size:,}' for size in sizes)} | grows by |", "|---|" + "--:|" * (len(sizes) + 1)]
    for name, curve in curves.items():
        cells = [f"{curve[size]:,.1f}" if size in curve else "–" for size in sizes]
        lines.append(f"| {name} | {' | '.join(cells)} | {max(0.0, exponent(curve)):.1f} |")
    return HEAD.format(subscriptions=SUBSCRIPTIONS) + "\n" + "\n".join(lines) + "\n"


def with_section(page: str, text: str) -> str:
    """Return the page with the section at its end, in the place of an earlier one."""
    before = re.split(r"^## Where it grows\n", page, flags=re.M)[0]
    return f"{before.rstrip()}\n\n{text}"


COLORS = ("#0969da", "#1a7f37", "#9a6700", "#cf222e", "#8250df", "#bf3989", "#57606a", "#0a7f8c")
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 470, 380, 62, 140, 40, 44
STYLE = "text{font:12px system-ui,sans-serif;fill:#57606a}path{fill:none;stroke-width:2}.grid{stroke:#8c959f55;stroke-width:1}"


def plot(curves: Curves) -> str:
    """Return both plots, of requests and of starts, side by side on logarithmic axes."""
    starts = {name: curve for name, curve in curves.items() if name.startswith("start")}
    requests = {name: curve for name, curve in curves.items() if name not in starts}
    panels = [*_panel("Requests", requests, 0), *_panel("Start", starts, WIDTH)]
    size = f'width="{2 * WIDTH}" height="{HEIGHT}" viewBox="0 0 {2 * WIDTH} {HEIGHT}"'
    label = "The cost of each operation in milliseconds against the customers of a world, on logarithmic axes"
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{label}">'
    return "\n".join([head, f"<style>{STYLE}</style>", *panels, "</svg>\n"])


def _panel(title: str, curves: Curves, left: float) -> Iterator[str]:
    sizes = sorted({size for curve in curves.values() for size in curve})
    costs = [cost for curve in curves.values() for cost in curve.values()]
    low, high = math.floor(math.log10(min(costs))), math.ceil(math.log10(max(costs)))
    ends = left + WIDTH - RIGHT

    def x(size: float) -> float:
        share = math.log(size / sizes[0]) / math.log(sizes[-1] / sizes[0]) if len(sizes) > 1 else 0.0
        return left + LEFT + share * (WIDTH - LEFT - RIGHT)

    def y(cost: float) -> float:
        return TOP + (high - math.log10(cost)) / max(high - low, 1) * (HEIGHT - TOP - BOTTOM)

    def text(x: float, y: float, words: str, more: str = "") -> str:
        return f'<text x="{x:.1f}" y="{y:.1f}" {more}>{words}</text>'

    yield text(left + LEFT, 20, f"{title}: ms by customers", 'font-weight="600"')
    for cost in (10.0**power for power in range(low, high + 1)):
        yield f'<path class="grid" d="M{left + LEFT} {y(cost):.1f}H{ends}"/>'
        yield text(left + LEFT - 6, y(cost) + 4, f"{cost:,g}", 'text-anchor="end"')
    yield from (text(x(size), HEIGHT - 22, f"{size / 1000:g}k", 'text-anchor="middle"') for size in sizes)
    placed = -math.inf
    by_height = sorted(curves.items(), key=lambda item: y(item[1][max(item[1])]))
    for color, (name, curve) in zip(COLORS, by_height, strict=False):
        line = "L".join(f"{x(size):.1f} {y(cost):.1f}" for size, cost in sorted(curve.items()))
        placed = max(y(curve[max(curve)]) + 4, placed + 14)
        yield f'<path d="M{line}" stroke="{color}"/>'
        yield text(ends + 8, placed, name.removeprefix("start, "), f'style="fill:{color}"')


if __name__ == "__main__":
    main()
