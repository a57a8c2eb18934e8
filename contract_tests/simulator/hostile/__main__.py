"""Measures what hostile clients cost a server of its own: each row of the budget, and crowds of connections.

    python -m contract_tests.simulator.hostile budget [ROW…]  the budget, or rows of it; writes its table into the guide
    python -m contract_tests.simulator.hostile crowds [N]     crowds of N connections, by default as many as the limit

Each line about a crowd has the memory that the server had at most, and what it had once they were gone. Exit status 1
if others had to wait, a connection cost more than ALLOWED, connections stayed open, or the server ended. Of the clients
that send without end there are a hundredth, one after the other.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from contract_tests.simulator.hostile import table
from contract_tests.simulator.hostile.crowd import (
    BEGINNINGS,
    BODY,
    HEAD,
    LAST_CHUNK,
    allow_open_files,
    connect,
    crowd,
    hang_up,
    heard,
    pour,
)
from contract_tests.simulator.hostile.server import Server, running
from emulator.core.limits import CONNECTIONS

ALLOWED = 64
"""KiB for each connection, what the server needs anyway aside."""

PATIENT = 5.0
"""Seconds that anybody else waits at most while a crowd is there."""

MIB = 1024 * 1024


def silent(beginning: bytes) -> Callable[[Server, int], tuple[int, float]]:
    """Return a crowd that begins, goes silent, hangs up half-way and waits for the server to end it."""

    def come(server: Server, count: int) -> tuple[int, float]:
        with crowd(server.url, count, beginning) as lines:
            wait, memory = server.wait(), server.memory()
            hang_up(lines)
            for line in lines:
                heard(line)
        return memory, wait

    return come


def endless(start: bytes, part: bytes) -> Callable[[Server, int], tuple[int, float]]:
    """Return a hundredth of a crowd, one after the other, each with what has no end."""

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
    "trailers without end": endless(LAST_CHUNK, b"X: a\r\n" * 10_000),
    "a chunk extension without end": endless(LAST_CHUNK[:-2] + b";", b"a" * 65536),
    "a body without end": endless(BODY.replace(b"1000", b"99999999999999"), b" " * 65536),
}


def crowds(count: int) -> bool:
    """Return whether the server withstood the crowds."""
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


def main(what: str = "budget", *arguments: str) -> int:
    """Run one of the two; the exit status."""
    if what == "budget":
        allow_open_files(10_000)
        table.write(table.measured(arguments))
        return 0
    # One connection asks for the health of the server.
    return int(not crowds(int(arguments[0]) if arguments else CONNECTIONS.most - 1))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
