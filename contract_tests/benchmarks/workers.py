"""Requests a second with one process, with ``--workers 2``, and with two servers on one PostgreSQL database.

Two worlds, each asked by a wrk of its own: its load costs little, while one in Python would take the second core from
the second process. Where Debian's wrk, or PostgreSQL, is not installed there is nothing to measure.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from contract_tests import postgres
from contract_tests.benchmarks.measures import Row, Size, beside
from contract_tests.benchmarks.servers import EMULATOR, Server, running
from emulator.engine.share import Share
from emulator.resources.app.keys import Key

KINDS = ("list", "create")

Place = tuple[Server, str]
"""A server, and the App whose world there is asked."""

SHARE = Share(0, 2)
APPS = [
    next(name for name in map("shop{}".format, range(40)) if SHARE.worker_of(Key(name, livemode=False)) == worker)
    for worker in (0, 1)
]
"""An App of each worker."""

CREATE = """
local number = 0
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
request = function()
  number = number + 1
  local email = "ada" .. number .. "{round}@example.com"
  local rest = '","name":"Ada Lovelace","phone":"+24106001234","metadata":{{"order_id":"6735","plan":"gold"}}}}'
  return wrk.format(nil, nil, nil, '{{"email":"' .. email .. rest)
end
"""


def rate(places: Sequence[Place], what: str, number: int, seconds: int) -> float:
    """Answers a second of all places together, over eight connections each."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "create.lua"
        script.write_text(CREATE.format(round=f"{what}{number}"))
        own = ["-s", str(script)] if what == "create" else []
        loads = [subprocess.Popen(_command(place, own, seconds), stdout=subprocess.PIPE, text=True) for place in places]
        said = [load.communicate()[0] for load in loads]
    if any("Non-2xx" in text for text in said):
        raise RuntimeError(said)
    return sum(float(match[1]) for text in said if (match := re.search(r"Requests/sec: +([\d.]+)", text)))


def _command(place: Place, own: Sequence[str], seconds: int) -> list[str]:
    server, app = place
    url = f"http://127.0.0.1:{server.port}/v1/customers/"
    key = f"Authorization: Bearer sk_test_{app}"
    return ["wrk", "-t", "1", "-c", "8", "-d", f"{seconds}s", *own, url, "-H", key]


def workers(size: Size, pool: ProcessPoolExecutor) -> Iterator[Row]:
    """Two workers beside one process, which stands in the place of the bare application."""
    if shutil.which("wrk") is None:
        return
    with running(EMULATOR, ("two workers", (*EMULATOR[1], "--workers", "2"))) as (one, two):
        sides = [[(server, app) for app in APPS] for server in (one, two)]
        yield from _compare("two workers beside one", sides, "≥ 1.7 ×", size)


def two_servers(size: Size, pool: ProcessPoolExecutor) -> Iterator[Row]:
    """Two servers on one PostgreSQL database beside one server, which makes sure of every commit."""
    if shutil.which("wrk") is None or postgres.programs() is None:
        return
    with postgres.running(sync=True) as url:
        kind = ("emulator", (*EMULATOR[1], "--state", url))
        with running(kind, kind, kind) as (one, left, right):
            sides = [[(one, "shop-a"), (one, "shop-b")], [(left, "shop-c"), (right, "shop-d")]]
            yield from _compare("PostgreSQL, two servers beside one", sides, "≥ 1.6 ×", size)


def _compare(name: str, sides: Sequence[Sequence[Place]], aim: str, size: Size) -> Iterator[Row]:
    for what in KINDS:
        pairs = [[rate(side, what, number, size.wrk_seconds) for side in sides] for number in range(size.peer_rounds)]
        yield beside(f"{name}: {what}", "/s", *zip(*pairs, strict=True), aim=aim)
