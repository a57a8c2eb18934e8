"""The servers that are compared: how each is started, when it first answers and how much memory it holds."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import msgspec

from contract_tests import ROOT

APP = "benchmark"
KEY = f"sk_test_{APP}"
HEADERS = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}

BARE = ("bare", ("-m", "contract_tests.quality.benchmarks.bare"))
BUSY = ("bare", (*BARE[1], "--busy"))
# -P: the installed package and not this folder, which would bring the bundles up to date first.
EMULATOR = ("emulator", ("-P", "-m", "emulator.cli.main", "serve", "--port", "0", "--quiet"))
FROZEN = ("emulator", (*EMULATOR[1], "--clock", "frozen@2026-01-01T00:00:00Z"))

# An installed package has its bytecode, and here the first start leaves it for those that are measured.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

Kind = tuple[str, tuple[str, ...]]
"""A server's name in the table and what Python is started with; it says its address and at last ``Ready.``."""

Ask = tuple[str, str, bytes, Mapping[str, str]]
"""Method, path, body and headers of one request."""


def ask(name: str, port: int, wanted: Ask, timeout: float) -> Any:
    """Return the JSON of one request outside the measurements, asked of the server of this name on this port.

    Raises ``RuntimeError`` for an answer that is no success.
    """
    method, path, body, headers = wanted
    connection = HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        connection.request(method, path, body or None, dict(headers))
        answer = connection.getresponse()
        content = answer.read()
    finally:
        connection.close()
    if answer.status >= 300:
        raise RuntimeError(f"{name}: {method} {path} -> {answer.status} {content[:300]!r}")
    return msgspec.json.decode(content)


class Server:
    """One server process on a free port of the loopback interface; ``start_ms`` is the time to its first answer."""

    def __init__(self, kind: Kind, python: str) -> None:
        self.name, arguments = kind
        self._started = time.perf_counter()
        command = [python, *arguments]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=ENVIRONMENT)
        self.port = 0
        self.start_ms = 0.0

    def answered(self) -> None:
        """Wait for the first answer."""
        self.port = self._announced_port()
        self.call("GET", "/v1/customers/")
        self.start_ms = (time.perf_counter() - self._started) * 1000
        # A full pipe would stop the lines that are printed for requests.
        threading.Thread(target=self._read_on, daemon=True).start()

    def _read_on(self) -> None:
        while self._process.stdout and self._process.stdout.read(64 * 1024):
            pass

    def _announced_port(self) -> int:
        port = None
        for line in self._process.stdout or ():
            if found := re.search(r"http://127\.0\.0\.1:(\d+)", line):
                port = int(found[1])
            if port and line.startswith("Ready."):
                return port
        raise RuntimeError(f"{self.name} did not start")

    def call(self, method: str, path: str, body: Any = None, timeout: float = 1800, key: str = KEY) -> Any:
        """Return the JSON of one request outside the measurements."""
        headers = {**HEADERS, "Authorization": f"Bearer {key}"}
        content = b"" if body is None else msgspec.json.encode(body)
        return ask(self.name, self.port, (method, path, content, headers), timeout)

    def ids(self, path: str, count: int) -> list[str]:
        """Return the ids of so many objects of a list, the newest ones."""
        pages = range(1, -(-count // 100) + 1)
        data = [item for page in pages for item in self.call("GET", f"{path}?page_size=100&page={page}")["data"]]
        return [item["id"] for item in data[:count]]

    def memory(self, field: str = "VmRSS") -> int:
        """Resident bytes now; ``VmHWM`` is the most there ever were."""
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        return int(re.search(rf"{field}:\s+(\d+) kB", status)[1]) * 1024  # type: ignore[index]  # every process has it

    def processor_seconds(self) -> float:
        """Seconds of a core that its threads have used, in user mode and in the kernel."""
        tasks = Path(f"/proc/{self._process.pid}/task").glob("*/schedstat")
        return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9

    def stop(self) -> None:
        """End it, and wait until it has."""
        self._process.terminate()
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout:
            self._process.stdout.close()


@contextmanager
def running(*kinds: Kind, python: str = sys.executable) -> Iterator[list[Server]]:
    """Servers side by side, stopped at the end; ``python`` is the interpreter of the environment that they run in."""
    with ExitStack() as stack:
        servers = []
        for kind in kinds:
            server = Server(kind, python)
            stack.callback(server.stop)
            server.answered()
            servers.append(server)
        yield servers


# -- for the servers themselves


def bind() -> socket.socket:
    """Return a socket on a free port, its address printed on the standard output."""
    bound = socket.create_server(("127.0.0.1", 0), backlog=2048)
    print(f"http://127.0.0.1:{bound.getsockname()[1]}/v1/", flush=True)
    return bound


def say_ready() -> None:
    """Say that requests are answered from now on."""
    print("Ready.", flush=True)
