"""Requests a second of real time: two and three servers behind nginx beside one, the database and wrk on the same cores.

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

from contract_tests.quality.benchmarks.load import EMULATOR, Server, call, running
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
  local rest = '","name":"Ada Lovelace","phone":"+24106001234","metadata":{"order_id":"6735","plan":"gold"}}'
  return wrk.format(nil, nil, nil, '{"email":"' .. email .. rest)
end
"""


def several_servers(size: Size, pool: ProcessPoolExecutor) -> Iterator[Row]:
    """Yield the rates of two and of three servers beside those of one, every commit on the disk."""
    if shutil.which("wrk") is None or postgres.programs() is None or postgres.NGINX is None:
        return
    for what in ("list", "create"):
        rates = {count: _rates(count, what, size) for count in (1, 2, 3)}
        for count in (2, 3):
            yield beside(f"PostgreSQL and nginx, {count} servers beside one: {what}", "/s", rates[1], rates[count])


def _rates(count: int, what: str, size: Size) -> list[float]:
    """Return the rate of each round, of so many servers with a schema each."""
    with postgres.running(sync=True) as url, ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        kinds = [(*EMULATOR, "--state", f"{url}?schema=worlds_{number}") for number in range(1, count + 1)]
        servers = stack.enter_context(running(*kinds))
        listen = free_port()
        text = divided(listen, *(server.port for server in servers))
        stack.enter_context(nginx(folder, listen, text))
        apps = _apps(listen, servers)
        return [_rate(listen, apps, f"{what}{number}", what, folder) for number in range(min(3, size.rounds))]


def divided(listen: int, *ports: int) -> str:
    """Return the configuration of the guide with so many servers, which have equal shares of the Apps."""
    text = documented(listen, *(*ports, 0, 0, 0)[:3])
    last = len(ports) - 1
    shares = "".join(
        f"        {'*' if number == last else f'{100 / len(ports):.2f}%'} worlds_{number};\n"
        for number in range(len(ports))
    )
    text = re.sub(r"(split_clients \S+ \S+ \{\n).*?( {4}\})", rf"\1{shares}\2", text, flags=re.DOTALL)
    each = "".join(
        f"    upstream worlds_{number} {{ server 127.0.0.1:{port} max_fails=0; keepalive 64; }}\n"
        for number, port in enumerate(ports)
    )
    return re.sub(r"( {4}upstream .*?\n {4}\}\n)+", each, text, count=1, flags=re.DOTALL)


def _apps(port: int, servers: Sequence[Server]) -> list[str]:
    """Return Apps of which nginx sends as many to each of the servers."""
    own: dict[int, list[str]] = {server.port: [] for server in servers}
    for name in (f"shop{number}" for number in range(100)):
        call(port, "GET", "/v1/customers/", key=f"sk_test_{name}")
        for server in servers:
            apps = server.call("GET", "/_emulator/apps?page_size=100")["data"]
            if name in {app["name"] for app in apps} and len(own[server.port]) < APPS // len(servers):
                own[server.port].append(name)
    return [name for found in own.values() for name in found]


def _rate(port: int, apps: Sequence[str], name: str, what: str, folder: Path) -> float:
    """Return the answers a second of all Apps together. Raises ``RuntimeError`` for an answer that is no success."""
    script = folder / "create.lua"
    script.write_text(CREATE.replace("NAME", name))
    load = ["-t", "1", "-c", "4", "-d", "4s", *(["-s", str(script)] if what == "create" else [])]
    loads = []
    for app in apps:
        target = [f"http://127.0.0.1:{port}/v1/customers/", "-H", f"Authorization: Bearer sk_test_{app}"]
        loads.append(subprocess.Popen(["wrk", *load, *target], stdout=subprocess.PIPE, text=True))
    said = [load.communicate()[0] for load in loads]
    if any("Non-2xx" in text for text in said):
        raise RuntimeError(said)
    return sum(float(each) for text in said for each in re.findall(r"Requests/sec: +([\d.]+)", text))
