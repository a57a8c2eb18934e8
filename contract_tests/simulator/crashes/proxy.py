"""Two servers and a standby over one PostgreSQL behind nginx, under load, as docs/guide/state.md configures them."""

from __future__ import annotations

import random
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from contract_tests import ROOT
from contract_tests.simulator.crashes.crash_rounds import LONGEST, START, look, receiving, wipe
from contract_tests.simulator.crashes.load import Load, at_last
from contract_tests.simulator.crashes.servers import Emulator, free_port, started
from contract_tests.support import postgres
from contract_tests.support.postgres import NGINX

DOCUMENTED = ROOT / "docs" / "guide" / "state.md"


def configuration(folder: Path, listen: int, *servers: int) -> str:
    """Return the documented configuration, at other ports, its passing files in a folder of ours."""
    found = re.search(r"```nginx\n(.*?)```", DOCUMENTED.read_text("utf-8"), re.DOTALL)
    assert found is not None
    text = found[1]
    for documented, port in zip((8080, 4747, 4748, 4749), (listen, *servers), strict=True):
        assert f":{documented}" in text
        text = text.replace(f":{documented}", f":{port}")
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    own = "".join(f"    {kind}_temp_path {folder}/{kind};\n" for kind in kinds)
    return text.replace("http {\n", f"http {{\n    access_log off;\n{own}", 1)


@contextmanager
def nginx(folder: Path, *ports: int) -> Iterator[str]:
    """nginx before the servers; its URL."""
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
    """Disturb one of the three or their database each time; the load goes on. A line for each round."""
    schemas = ("worlds_1", "worlds_2", "worlds_1")
    servers = [Emulator(folder, f"{place}?schema={schema}", *START) for schema in schemas]
    with started(*servers), nginx(folder, *(server.port for server in servers)) as url, receiving() as receiver:
        for number in range(rounds):
            wipe(url, receiver)
            pages = [page(url, app) for app in APPS]
            load = Load(url, retries=True)
            load.start()
            time.sleep(chance.uniform(0, LONGEST))
            for disturbance in (killed, frozen, restarted):
                disturbance(servers[(number + DISTURBED[disturbance]) % 3], place)
                for path in pages:
                    assert at_last(partial(httpx.get, url + path, trust_env=False, timeout=60)).is_success
            load.stop()
            world = look(url, load, receiver)
            yield f"round {number + 1}: {load}, {world.now}"


APPS = ("shop", "store", "crash", "other")
"""Apps of both schemas, as nginx divides them."""


def page(url: str, app: str) -> str:
    """Return the path of a buyer's page of an App."""
    body = {"payment_link_type": "custom", "amount": 500, "currency": "XAF"}
    headers = {"Authorization": f"Bearer sk_test_{app}"}
    ask = partial(httpx.post, f"{url}/v1/payment-links/", json=body, headers=headers, trust_env=False, timeout=60)
    made = at_last(ask)
    assert made.is_success, made.text
    address = urlsplit(made.json()["url"])
    return f"{address.path}?{address.query}"


def killed(server: Emulator, place: str) -> None:
    """It ends at once, and starts again: as the second one, if another one has taken its place."""
    server.kill()
    server.start()


def frozen(server: Emulator, place: str) -> None:
    """It stands still for longer than the database keeps its lock."""
    with server.frozen():
        time.sleep(7)


def restarted(server: Emulator, place: str) -> None:
    """Their database ends, and starts again."""
    postgres.restart(place)


DISTURBED = {killed: 0, frozen: 1, restarted: 0}
