"""Servers that are meant to be killed, each a process of its own on a port that stays the same."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

KEY = "sk_test_crash"

CLIENT = httpx.Client(trust_env=False, timeout=30, limits=httpx.Limits(max_keepalive_connections=0))
"""For those who ask again and again: to make a client takes as much time as a start of the server has to spare."""


def free_port() -> int:
    """Return a free port of loopback."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


class Emulator:
    """``serve --state PLACE``, of this checkout or another one; what it logs goes to a file."""

    def __init__(
        self, folder: Path, place: str, *options: str, port: int | None = None, checkout: Path | None = None
    ) -> None:
        self._checkout = checkout
        self.port = port or free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = folder / f"{self.port}.log"
        self._place = place
        self._options = options
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start, and wait until requests are answered."""
        arguments = ["serve", "--port", str(self.port), "--state", self._place, *self._options]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "emulator.cli.main", *arguments], cwd=self._checkout, stdout=log, stderr=log
            )
        until = time.monotonic() + 60
        while not self._answers():
            assert self.process.poll() is None, self.log.read_text()[-2000:]
            assert time.monotonic() < until, "the server did not start"
            time.sleep(0.02)

    def _answers(self) -> bool:
        try:
            return CLIENT.get(f"{self.url}/_emulator/health").is_success
        except httpx.HTTPError:
            return False

    def starved(self) -> float:
        """Return the seconds for which the process has had work but no processor (Linux; 0 elsewhere)."""
        assert self.process is not None
        try:
            nanoseconds = Path(f"/proc/{self.process.pid}/schedstat").read_text().split()[1]
        except FileNotFoundError:
            return 0.0
        return int(nanoseconds) / 1e9

    def kill(self) -> None:
        """The end without a warning: SIGKILL."""
        assert self.process is not None
        self.process.kill()
        self.process.wait(60)

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """The process stands still while the context lasts."""
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)

    def stop(self) -> int:
        """Return the end with a warning: SIGTERM; the exit status."""
        assert self.process is not None
        self.process.terminate()
        return self.process.wait(60)


@contextmanager
def started(*emulators: Emulator) -> Iterator[None]:
    """These servers, started; whatever becomes of them, they are gone afterwards."""
    try:
        for emulator in emulators:
            emulator.start()
        yield
    finally:
        for emulator in emulators:
            if emulator.process is not None and emulator.process.poll() is None:
                emulator.kill()
