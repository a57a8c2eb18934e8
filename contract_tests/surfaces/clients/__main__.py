"""``python -m contract_tests.surfaces.clients``: clients of four generators, workflows and a proxy, against a running server.

Needs Node 20 and, for the samples that verify signatures, Go and PHP (``.ci/run`` names the packages), and the
network for what it installs into a temporary folder, or into ``--folder``, where the next run finds it. ``--only NAME``
(repeatable) takes some steps.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from contract_tests.support.sandbox import RunningServer
from contract_tests.surfaces.clients.breakages import BREAKAGES, notice
from contract_tests.surfaces.clients.generators import GENERATORS, Step
from contract_tests.surfaces.clients.prism import prism
from contract_tests.surfaces.clients.signatures import signatures
from contract_tests.surfaces.clients.workflows import respect
from contract_tests.surfaces.clients.workshop import Tools, Workshop, served
from emulator.document.tree import Document

SIDE_BY_SIDE = 3
"""Steps at a time: one more than CI has cores, since each waits now and then for an answer or a file."""


def steps(tools: Tools, url: str, url_of_twin: str) -> dict[str, Callable[[], None]]:
    """Return every step of the gate by its name, those that take longest first.

    Each generator reads both documents. Its stories use the same keys, so the clients of the 3.1 document speak to a
    server of their own.
    """
    documents, twin = served(url), served(url_of_twin, "-3.1")

    def workflows() -> None:
        respect(Workshop(tools, "workflows", documents.service), url, documents)
        respect(Workshop(tools, "workflows-3.1", twin.service), url_of_twin, twin)

    def take(step: Step, name: str, document: Document, server: str) -> None:
        step(Workshop(tools, name, document), server)

    every: dict[str, Callable[[], None]] = {}
    for each in (prism, *GENERATORS, signatures):
        every[each.__name__] = partial(take, each, each.__name__, documents.service, url)
        if each in GENERATORS:
            name = f"{each.__name__}-3.1"
            every[name] = partial(take, each, name, twin.service, url_of_twin)
    every["workflows"] = workflows
    every |= {f"broken-{each.put_back.__name__}": partial(notice, tools, each, url) for each in BREAKAGES}
    return every


def timed(name: str, step: Callable[[], None]) -> None:
    """Take a step, and print how long it took."""
    begun = time.monotonic()
    step()
    print(f"{name}: fine, {time.monotonic() - begun:.0f} s", flush=True)


def main() -> None:
    """Take the steps, some at a time; the first one that fails ends the program with its message."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", metavar="NAME")
    parser.add_argument("--folder", type=Path, metavar="FOLDER")
    options = parser.parse_args()
    server, of_twin = RunningServer(), RunningServer()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        tools = Tools(options.folder or Path(folder))
        timed("install", tools.install)
        every = steps(tools, server.url, of_twin.url)
        chosen = {name: step for name, step in every.items() if name in (options.only or every)}
        running = [pool.submit(timed, name, step) for name, step in chosen.items()]
        try:
            for each in running:
                each.result()
        finally:
            pool.shutdown(cancel_futures=True)
    for each_server in (server, of_twin):
        each_server.stop()


if __name__ == "__main__":
    begun = time.monotonic()
    main()
    print(f"all: {time.monotonic() - begun:.0f} s")
