"""The long version: crowds of ten thousand against a server of its own, and what they cost it in memory.

    python -m contract_tests.hostile [CONNECTIONS]

Each line tells a crowd, the memory the server had at most, and what it had once they were gone. Exit status 1 if the
server kept others waiting, took more than ALLOWED for each connection, kept connections open, or ended. A hundredth of
those who send without end come, one after the other.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

from contract_tests.hostile.crowd import BEGINNINGS, BODY, HEAD, allow_open_files, connect, crowd, hang_up, heard, pour

ALLOWED = 64
"""KiB for each connection, what the server needs anyway aside."""

PATIENT = 5.0
"""Seconds that anybody else waits at most while a crowd is there."""

MIB = 1024 * 1024


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
        """Seconds until somebody else is answered."""
        started = time.perf_counter()
        with urlopen(f"{self.url}/_emulator/health", timeout=60) as answer:
            assert answer.status == 200
        return time.perf_counter() - started


@contextmanager
def running() -> Iterator[Server]:
    """A server for the time being."""
    with tempfile.TemporaryDirectory() as folder:
        server = Server(Path(folder))
        try:
            yield server
        finally:
            server.process.terminate()
            server.process.wait(30)


def silent(beginning: bytes) -> Callable[[Server, int], tuple[int, float]]:
    """A crowd that begins, goes silent, hangs up half-way and waits for the server to end it."""

    def come(server: Server, count: int) -> tuple[int, float]:
        with crowd(server.url, count, beginning) as lines:
            wait, memory = server.wait(), server.memory()
            hang_up(lines)
            for line in lines:
                heard(line)
        return memory, wait

    return come


def endless(start: bytes, part: bytes) -> Callable[[Server, int], tuple[int, float]]:
    """A hundredth of a crowd, one after the other, each with what has no end."""

    def come(server: Server, count: int) -> tuple[int, float]:
        memory = []
        for _ in range(count // 100):
            with connect(server.url) as line:
                pour(line, start, part, 100 * MIB)
            memory.append(server.memory())
        return max(memory), server.wait()

    return come


CROWDS = {
    **{f"closed half-way after {name}": silent(beginning) for name, beginning in BEGINNINGS.items()},
    "headers without end": endless(HEAD, b"X-Flood: 1\r\n" * 1000),
    "a body without end": endless(BODY.replace(b"1000", b"99999999999999"), b" " * 65536),
}


def main(count: int) -> bool:
    """Whether the server stood it."""
    allow_open_files(count + 1000)
    fine = True
    with running() as server:
        server.wait()
        before, files = server.memory(), server.open_files()
        print(f"{count} connections\n{'at rest':45} {before / 1024:7.1f} MiB, {files} open files")
        for name, come in CROWDS.items():
            memory, wait = come(server, count)
            after, left = server.memory(), server.open_files()
            print(f"{name:45} {memory / 1024:7.1f} MiB, then {after / 1024:.1f}, {left} open files,", end=" ")
            print(f"others waited {wait:.3f} s", flush=True)
            fine &= memory - before < count * ALLOWED and left <= files + 5 and wait < PATIENT
    return fine


if __name__ == "__main__":
    sys.exit(not main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000))
