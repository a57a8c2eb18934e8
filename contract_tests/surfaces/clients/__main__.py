"""``python -m contract_tests.surfaces.clients``: clients of four generators, workflows and verifiers, against a server.

Needs Node 20 and, for the samples that verify signatures, Go and PHP (``.ci/run`` names the packages), and the
network for what it installs into a temporary folder, or into ``--folder``, where the next run finds it. ``--only NAME``
(repeatable) takes some steps.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from contract_tests.support.sandbox import RunningServer
from contract_tests.surfaces.clients.steps import OF_EACH_VERSION, Step, signatures
from contract_tests.surfaces.clients.workshop import Tools, Workshop

SIDE_BY_SIDE = 3
"""Steps at a time: one more than CI has cores, since each waits now and then for an answer or a file."""


def take(tools: Tools, step: Step, version: str, server: RunningServer) -> None:
    """Take a step, and print how long it took."""
    begun = time.monotonic()
    step(Workshop(tools, step.__name__, server.url, version))
    print(f"{step.__name__}{version}: fine, {time.monotonic() - begun:.0f} s", flush=True)


def main() -> None:
    """Take the steps, some at a time; the first one that fails ends the program with its message."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", metavar="NAME")
    parser.add_argument("--folder", type=Path, metavar="FOLDER")
    options = parser.parse_args()
    steps = [(step, version) for step in OF_EACH_VERSION for version in ("", "-3.1")] + [(signatures, "")]
    # The stories use the same keys, so the clients of the 3.1 document speak to a server of their own.
    servers = {"": RunningServer(), "-3.1": RunningServer()}
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        tools = Tools(options.folder or Path(folder))
        chosen = [(step, version) for step, version in steps if not options.only or step.__name__ in options.only]
        running = [pool.submit(take, tools, step, version, servers[version]) for step, version in chosen]
        try:
            for each in running:
                each.result()
        finally:
            pool.shutdown(cancel_futures=True)
    for server in servers.values():
        server.stop()


if __name__ == "__main__":
    begun = time.monotonic()
    main()
    print(f"all: {time.monotonic() - begun:.0f} s")
