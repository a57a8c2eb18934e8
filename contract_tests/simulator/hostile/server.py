"""A server in a process of its own, and what it costs: memory, open files, and how long others wait."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen


class Server:
    """A server in a process of its own."""

    def __init__(self, folder: Path) -> None:
        port_file = folder / "port"
        command = [sys.executable, "-m", "emulator.cli.main", "serve", "--port", "0", "--port-file", str(port_file)]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        for _ in range(200):
            if port_file.is_file():
                break
            time.sleep(0.1)
        self.url = f"http://127.0.0.1:{port_file.read_text().strip()}"

    def memory(self) -> int:
        """Resident memory in KiB."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))

    def open_files(self) -> int:
        """Open files, connections among them."""
        return len(list(Path(f"/proc/{self.process.pid}/fd").iterdir()))

    def wait(self) -> float:
        """Seconds until another client is answered."""
        started = time.perf_counter()
        with urlopen(f"{self.url}/_emulator/health", timeout=60) as answer:
            assert answer.status == 200
        return time.perf_counter() - started

    @contextmanager
    def highest_memory(self) -> Iterator[list[int]]:
        """A list that holds, once the context is left, the most memory the server had in it, in KiB."""
        highest, ended = [self.memory()], threading.Event()

        def watch() -> None:
            while not ended.wait(0.01):
                highest[0] = max(highest[0], self.memory())

        watcher = threading.Thread(target=watch)
        watcher.start()
        try:
            yield highest
        finally:
            ended.set()
            watcher.join()


@contextmanager
def running() -> Iterator[Server]:
    """A server while the context lasts."""
    with tempfile.TemporaryDirectory() as folder:
        server = Server(Path(folder))
        try:
            yield server
        finally:
            server.process.terminate()
            server.process.wait(30)
