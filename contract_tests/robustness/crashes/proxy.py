"""Two servers over one PostgreSQL behind nginx, under load, while one of them is killed, and then the other."""

from __future__ import annotations

import random
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from contract_tests import ROOT
from contract_tests.robustness.crashes.crash_rounds import LONGEST, START, look, receiving, wipe
from contract_tests.robustness.crashes.load import Load
from contract_tests.robustness.crashes.servers import Emulator, free_port, started
from contract_tests.support.postgres import NGINX

DOCUMENTED = ROOT / "docs" / "guide" / "state.md"


def configuration(folder: Path, listen: int, first: int, second: int) -> str:
    """Return the documented configuration, at other ports, its passing files in a folder of ours."""
    found = re.search(r"```nginx\n(.*?)```", DOCUMENTED.read_text("utf-8"), re.DOTALL)
    assert found is not None
    text = found[1]
    for documented, port in ((8080, listen), (4747, first), (4748, second)):
        assert f":{documented}" in text
        text = text.replace(f":{documented}", f":{port}")
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    own = "".join(f"    {kind}_temp_path {folder}/{kind};\n" for kind in kinds)
    return text.replace("http {\n", f"http {{\n    access_log off;\n{own}", 1)


@contextmanager
def nginx(folder: Path, *ports: int) -> Iterator[str]:
    """nginx before two servers; its URL."""
    assert NGINX is not None, "there is no nginx: apt-get install nginx"
    listen = free_port()
    file = folder / "nginx.conf"
    file.write_text(configuration(folder, listen, *ports))
    outside = f"daemon off; pid {folder}/nginx.pid; error_log {folder}/nginx.log;"
    process = subprocess.Popen([NGINX, "-p", str(folder), "-e", f"{folder}/nginx.log", "-c", str(file), "-g", outside])
    url = f"http://127.0.0.1:{listen}"
    try:
        until = time.monotonic() + 60
        while not _answers(url):
            assert process.poll() is None, (folder / "nginx.log").read_text()
            assert time.monotonic() < until
        yield url
    finally:
        process.terminate()
        process.wait(30)


def _answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/_emulator/health", trust_env=False, timeout=30).is_success
    except httpx.HTTPError:
        return False


def play(folder: Path, place: str, rounds: int, chance: random.Random) -> Iterator[str]:
    """Kill one of the two each time, and start it again; the load goes on. A line for each round."""
    servers = [Emulator(folder, place, *START) for _ in range(2)]
    with started(*servers), nginx(folder, *(server.port for server in servers)) as url, receiving() as receiver:
        for number in range(rounds):
            wipe(url, receiver)
            load = Load(url, retries=True)
            load.start()
            time.sleep(chance.uniform(0, LONGEST))
            victim = servers[number % 2]
            victim.kill()
            time.sleep(chance.uniform(0, LONGEST))
            victim.start()
            load.stop()
            world = look(url, load, receiver)
            yield f"round {number + 1}: {load}, {world.now}"
