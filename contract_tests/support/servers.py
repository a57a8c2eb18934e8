"""The way to start a server process: to be killed, frozen and started again, and measured."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import httpx

from contract_tests import ROOT

SERVE = ("-m", "emulator.cli.main", "serve")

CLIENT = httpx.Client(trust_env=False, timeout=60, limits=httpx.Limits(max_keepalive_connections=0))
"""For repeated requests: a new client takes as long as a server's start has to spare."""


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


class ServerProcess:
    """``serve`` with these options, on a constant port; its output goes to a file or nowhere."""

    def __init__(
        self,
        *options: str,
        log: Path | None = None,
        program: tuple[str, ...] = SERVE,
        python: str = sys.executable,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = log
        self._command = [python, *program, "--port", str(self.port), *options]
        self._environment = environment
        self._process: subprocess.Popen[bytes] | None = None
        self.start_ms = 0.0

    def start(self) -> Self:
        began = time.perf_counter()
        with (self.log or Path("/dev/null")).open("ab") as log:
            self._process = subprocess.Popen(
                self._command, cwd=ROOT, env=self._environment, stdout=log, stderr=log
            )
        while not self._responses():
            assert self.process.poll() is None, (
                self.log.read_text()[-2000:] if self.log else "the server has ended"
            )
            assert time.perf_counter() - began < 60, "the server did not start"
            time.sleep(0.005)
        self.start_ms = (time.perf_counter() - began) * 1000
        return self

    def _responses(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), 60).close()
            return CLIENT.get(f"{self.url}/_emulator/health").status_code < 500
        except (OSError, httpx.HTTPError):
            return False

    @property
    def process(self) -> subprocess.Popen[bytes]:
        assert self._process is not None, "the server was not started"
        return self._process

    @property
    def id(self) -> int:
        return self.process.pid

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *failure: object) -> None:
        if self._process is not None and self._process.poll() is None:
            self.kill()

    # -- its end

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(60)

    def stop(self) -> int:
        """Return the exit status of an end with a warning: SIGTERM."""
        self.process.terminate()
        return self.process.wait(60)

    @contextmanager
    def frozen(self) -> Iterator[None]:
        self.process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)

    # -- what it costs (Linux)

    def memory(self, field: str = "VmRSS") -> int:
        """Return its resident bytes; ``VmHWM``: the most since they were last forgotten."""
        match = re.search(rf"{field}:\s+(\d+) kB", Path(f"/proc/{self.id}/status").read_text())
        assert match
        return int(match[1]) * 1024

    def forget_memory(self) -> None:
        Path(f"/proc/{self.id}/clear_refs").write_text("5")

    def open_files(self) -> int:
        return len(list(Path(f"/proc/{self.id}/fd").iterdir()))

    def processor_seconds(self) -> float:
        """Return its threads' seconds of a core, in user mode and in the kernel."""
        return sum(times[0] for times in self._times())

    def starved(self) -> float:
        """Return the main thread's seconds with work but no processor; 0 if unknown."""
        return next((times[1] for times in self._times()), 0.0)

    def _times(self) -> Iterator[tuple[float, float]]:
        for task in sorted(Path(f"/proc/{self.id}/task").glob("*/schedstat")):
            used, waited, _ = task.read_text().split()
            yield int(used) / 1e9, int(waited) / 1e9

    def wait(self) -> float:
        began = time.perf_counter()
        CLIENT.get(f"{self.url}/_emulator/health").raise_for_status()
        return time.perf_counter() - began
