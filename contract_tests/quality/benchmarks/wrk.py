"""Load by wrk, a program in C whose load costs little: one in Python would take a core from what is measured.

It comes from Debian; where it is not installed, there is nothing to measure.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from contract_tests.quality.benchmarks import servers

Place = tuple[int, str]
"""A port of loopback, and the App whose world is asked there."""

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


def is_installed() -> bool:
    """Return whether there is a wrk."""
    return shutil.which("wrk") is not None


def rate(places: Sequence[Place], what: str, number: int, seconds: int, connections: int = 8) -> float:
    """Answers a second of all places together to a kind of request, over so many connections each.

    ``number`` differs between the calls for one server. Raises ``RuntimeError`` for an answer that is no success.
    """
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "create.lua"
        script.write_text(CREATE.format(round=f"round{number}"))
        load = [
            "-t",
            "1",
            "-c",
            str(connections),
            "-d",
            f"{seconds}s",
            *(["-s", str(script)] if what == "create" else []),
        ]
        loads = [
            subprocess.Popen(["wrk", *load, *_target(place, what)], stdout=subprocess.PIPE, text=True)
            for place in places
        ]
        said = [load.communicate()[0] for load in loads]
    if any("Non-2xx" in text for text in said):
        raise RuntimeError(said)
    return sum(float(match[1]) for text in said if (match := re.search(r"Requests/sec: +([\d.]+)", text)))


def _target(place: Place, what: str) -> list[str]:
    port, app = place
    path = "/v1/customers/"
    if what == "GET one":
        path += f"{ask(port, app, path)['data'][0]['id']}/"
    return [f"http://127.0.0.1:{port}{path}", "-H", f"Authorization: Bearer sk_test_{app}"]


def ask(port: int, app: str, path: str) -> Any:
    """What is answered in the world of an App, outside the measurements."""
    return servers.ask("loaded", port, ("GET", path, b"", {"Authorization": f"Bearer sk_test_{app}"}), 60)
