"""Requests a second with one process, and with ``--workers 2``: two worlds, each asked by a wrk of its own.

Run it with ``python -m contract_tests.benchmarks.workers [ROUNDS SECONDS]``, by default 3 4. It needs Debian's wrk,
whose load costs little: one in Python would take the second core from the second worker.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from contract_tests.benchmarks.servers import EMULATOR, Server, running
from emulator.engine.share import Share
from emulator.resources.app.keys import Key

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


def rate(server: Server, what: str, number: int, seconds: int) -> float:
    """Answers a second of both worlds together, over eight connections each."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "create.lua"
        script.write_text(CREATE.format(round=f"{what}{number}"))
        own = ["-s", str(script)] if what == "create" else []
        url = f"http://127.0.0.1:{server.port}/v1/customers/"
        command = ["wrk", "-t", "1", "-c", "8", "-d", f"{seconds}s", *own, url, "-H"]
        keys = [f"Authorization: Bearer sk_test_{app}" for app in APPS]
        loads = [subprocess.Popen([*command, key], stdout=subprocess.PIPE, text=True) for key in keys]
        said = [load.communicate()[0] for load in loads]
    if any("Non-2xx" in text for text in said):
        raise RuntimeError(said)
    return sum(float(match[1]) for text in said if (match := re.search(r"Requests/sec: +([\d.]+)", text)))


def main(rounds: int = 3, seconds: int = 4) -> None:
    """Print the medians, and their ratio."""
    kinds = [EMULATOR, ("two workers", (*EMULATOR[1], "--workers", "2"))]
    with running(*kinds) as (one, two):
        for what in ("list", "create"):
            pairs = [(rate(one, what, number, seconds), rate(two, what, number, seconds)) for number in range(rounds)]
            single, double = (median(figures) for figures in zip(*pairs, strict=True))
            ratio = median(both / alone for alone, both in pairs)
            print(f"{what:8}{single:12,.0f}{double:12,.0f}{ratio:8.2f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
