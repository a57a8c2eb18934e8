"""The servers that are compared, each a process: the emulator with these options, or the bare application beside it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection
from typing import Any

import msgspec

from contract_tests.support.servers import SERVE, ServerProcess

APP = "benchmark"
KEY = f"sk_test_{APP}"
HEADERS = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}

# -P: the installed package and not this folder, which would bring the bundles up to date first.
PROGRAMS = {"emulator": ("-P", *SERVE), "bare": ("-m", "contract_tests.quality.benchmarks.bare")}

BARE, EMULATOR = ("bare",), ("emulator", "--quiet")
FROZEN = (*EMULATOR, "--clock", "frozen@2026-01-01T00:00:00Z")

# An installed package has its bytecode, and here the first start leaves it for those that are measured.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


class Server(ServerProcess):
    """One of the programs. ``call`` is a request outside the measurements."""

    def __init__(self, name: str, *options: str, python: str = sys.executable) -> None:
        super().__init__(*options, program=PROGRAMS[name], python=python, environment=ENVIRONMENT)
        self.name = name

    def call(self, method: str, path: str, body: Any = None, key: str = KEY, timeout: float = 1800) -> Any:
        """Return the JSON of a request. Raises ``RuntimeError`` for an answer that is no success."""
        return call(self.port, method, path, body, key, timeout)

    def ids(self, path: str, count: int) -> list[str]:
        """Return the ids of so many objects of a list, the newest ones."""
        pages = range(1, -(-count // 100) + 1)
        data = [item for page in pages for item in self.call("GET", f"{path}?page_size=100&page={page}")["data"]]
        return [item["id"] for item in data[:count]]


def call(port: int, method: str, path: str, body: Any = None, key: str = KEY, timeout: float = 1800) -> Any:
    """Return the JSON of a request to whatever listens at a port."""
    connection = HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        content = None if body is None else msgspec.json.encode(body)
        connection.request(method, path, content, {**HEADERS, "Authorization": f"Bearer {key}"})
        answer = connection.getresponse()
        found = answer.read()
    finally:
        connection.close()
    if answer.status >= 300:
        raise RuntimeError(f"{method} {path} -> {answer.status} {found[:300]!r}")
    return msgspec.json.decode(found) if found else None


@contextmanager
def running(*kinds: tuple[str, ...], python: str = sys.executable) -> Iterator[list[Server]]:
    """Servers side by side, stopped at the end; ``python`` is the interpreter of the environment that they run in."""
    with ExitStack() as stack:
        yield [stack.enter_context(Server(*kind, python=python)) for kind in kinds]
