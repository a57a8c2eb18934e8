"""Requests a second (real): two and three servers behind nginx beside one, all on the same cores.

Where wrk, nginx or PostgreSQL is not installed there is nothing to measure.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from pathlib import Path

from contract_tests.quality.benchmarks.load import EMULATOR, running
from contract_tests.quality.benchmarks.measures import Row, Size, beside
from contract_tests.simulator.crashes.rounds import documented, nginx
from contract_tests.support import postgres
from contract_tests.support.servers import free_port

APPS = 6
"""Worlds that are loaded at once; one, two and three servers have as many each."""

CREATE = """
local number = 0
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
request = function()
  number = number + 1
  local email = "ada" .. number .. "NAME@example.com"
  local fields = '","name":"Ada Lovelace","phone":"+24106001234"}'
  return wrk.format(nil, nil, nil, '{"email":"' .. email .. fields)
end
"""


def several_servers(size: Size, pool: ProcessPoolExecutor) -> Iterator[Row]:
    """Yield the rates of two and of three servers beside those of one, every commit on the disk."""
    if shutil.which("wrk") is None or postgres.programs() is None or postgres.NGINX is None:
        return
    for what in ("list", "create"):
        rates = {count: _rates(count, what, size) for count in (1, 2, 3)}
        for count in (2, 3):
            yield beside(f"{count} servers beside one: {what}", "/s", rates[1], rates[count])


def _rates(count: int, what: str, size: Size) -> list[float]:
    """Return the rate of each round, of so many servers with a schema each."""
    with postgres.running(sync=True) as url, ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        kinds = [(*EMULATOR, "--state", f"{url}?schema=worlds_{number}") for number in range(count)]
        ports = [server.port for server in stack.enter_context(running(*kinds))]
        listen = free_port()
        stack.enter_context(nginx(folder, listen, _divided(listen, ports)))
        apps = [f"shop{number}_{number % count}" for number in range(APPS)]
        return [
            _rate(listen, apps, f"{what}{number}", what, folder)
            for number in range(min(3, size.rounds))
        ]


def _divided(listen: int, ports: Sequence[int]) -> str:
    """Return the guide's configuration with these servers; the end of an App's name selects one."""
    before, _, after = documented(listen, 0, 0, 0).partition("    split_clients")
    names = "".join(f'        "~_{number}$" worlds_{number};\n' for number in range(len(ports)))
    upstreams = "".join(
        f"    upstream worlds_{number} {{ server 127.0.0.1:{port} max_fails=0; keepalive 64; }}\n"
        for number, port in enumerate(ports)
    )
    others = f"        default worlds_0;\n{names}    }}\n{upstreams}    server {{\n        listen"
    return f"{before}    map $app $worlds {{\n{others}{after.partition('listen')[2]}"


def _rate(port: int, apps: Sequence[str], name: str, what: str, folder: Path) -> float:
    """Return all Apps' responses a second. Raises ``RuntimeError`` for an unsuccessful one."""
    script = folder / "create.lua"
    script.write_text(CREATE.replace("NAME", name))
    load = [
        "wrk",
        "-t",
        "1",
        "-c",
        "4",
        "-d",
        "4s",
        *(["-s", str(script)] if what == "create" else []),
    ]
    target = [f"http://127.0.0.1:{port}/v1/customers/", "-H"]
    keys = (f"Authorization: Bearer sk_test_{app}" for app in apps)
    loads = [
        subprocess.Popen([*load, *target, key], stdout=subprocess.PIPE, text=True) for key in keys
    ]
    outputs = [load.communicate()[0] for load in loads]
    if any("Non-2xx" in text for text in outputs):
        raise RuntimeError(outputs)
    return sum(
        float(rate) for text in outputs for rate in re.findall(r"Requests/sec: +([\d.]+)", text)
    )
