"""Requests a second under the load of wrk: beside a lean application, with ``--workers 2``, and with two servers.

Two processes get two worlds, each asked by a wrk of its own. Where wrk, or PostgreSQL, is not installed there is
nothing to measure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor

from contract_tests import postgres
from contract_tests.benchmarks import wrk
from contract_tests.benchmarks.load import CONNECTIONS
from contract_tests.benchmarks.measures import CUSTOMER, LEAST, Row, Size, beside
from contract_tests.benchmarks.servers import APP, EMULATOR, LEAN, LOUD, running
from emulator.engine.share import Share
from emulator.resources.app.keys import Key

KINDS = ("list", "create")

SHARE = Share(0, 2)
APPS = [
    next(name for name in map("shop{}".format, range(40)) if SHARE.worker_of(Key(name, livemode=False)) == worker)
    for worker in (0, 1)
]
"""An App of each worker."""

PRESENT = 50
"""Customers that are there before the load, enough for a page."""


def workers(size: Size, pool: ProcessPoolExecutor) -> Iterator[Row]:
    """Two workers beside one process, which stands in the place of the bare application."""
    if not wrk.is_installed():
        return
    with running(EMULATOR, ("two workers", (*EMULATOR[1], "--workers", "2"))) as (one, two):
        sides = [[(server, app) for app in APPS] for server in (one, two)]
        yield from _compare("two workers beside one", sides, "≥ 1.7 ×", size)


def two_servers(size: Size, pool: ProcessPoolExecutor) -> Iterator[Row]:
    """Two servers on one PostgreSQL database beside one server, which makes sure of every commit."""
    if not wrk.is_installed() or postgres.programs() is None:
        return
    with postgres.running(sync=True) as url:
        kind = ("emulator", (*EMULATOR[1], "--state", url))
        with running(kind, kind, kind) as (one, left, right):
            sides = [[(one, "shop-a"), (one, "shop-b")], [(left, "shop-c"), (right, "shop-d")]]
            yield from _compare("PostgreSQL, two servers beside one", sides, "≥ 1.6 ×", size)


def _compare(name: str, sides: Sequence[Sequence[wrk.Place]], aim: str, size: Size) -> Iterator[Row]:
    for what in KINDS:
        pairs = [
            [wrk.rate(side, what, number, size.wrk_seconds) for side in sides] for number in range(size.peer_rounds)
        ]
        yield beside(f"{name}: {what}", "/s", *zip(*pairs, strict=True), aim=aim)


def lean(size: Size, pool: ProcessPoolExecutor) -> Iterator[Row]:
    """The emulator as it is started, with a line for each request, beside an application that does less.

    It is what others measure from outside: answers a second of real time, to 16 connections.
    """
    if not wrk.is_installed():
        return
    with running(LEAN, LOUD) as servers:
        for server in servers:
            for number in range(PRESENT):
                server.call("POST", "/v1/customers/", {"email": f"few{number}@example.com", **CUSTOMER})
        for what, aim in LEAST.items():
            pairs = [
                [wrk.rate([(server, APP)], what, number, size.wrk_seconds, CONNECTIONS) for server in servers]
                for number in range(size.peer_rounds)
            ]
            yield beside(f"wrk, lean application: {what}", "/s", *zip(*pairs, strict=True), aim=aim)
