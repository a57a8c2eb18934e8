"""How many deliveries a second the emulator makes: many endpoints, some slow, failing, closing or hanging.

Run it with ``python -m contract_tests.quality.benchmarks.deliveries [ENDPOINTS EVENTS]``; 20 and 5000 by default. It also
checks what it measures: every event delivered or failed with its attempts on record, in order per endpoint.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from typing import Any

import httpx

KINDS = ("good", "good", "good", "slow", "good", "failing", "good", "closing", "rejecting", "hanging")
"""What endpoints are like: slow ones take 3 ms, failing and closing ones fail every tenth event at first,
rejecting ones answer 404 to every tenth, hanging ones never answer their third."""

HEADERS = {"Authorization": "Bearer sk_test_benchmark"}


# -- the receiver, a process of its own


async def receive(port_file: Path) -> None:
    """Answer by the kind that the path begins with; a GET shows what came, in order of arrival."""
    seen: dict[str, list[tuple[str, str]]] = {}

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        method, path, _ = head.split(" ", 2)
        lines = (line.split(": ", 1) for line in head.split("\r\n")[1:] if line)
        fields = {name.lower(): value for name, value in lines}
        await reader.readexactly(int(fields.get("content-length", 0)))
        if method == "GET":
            answer(writer, 200, json.dumps(seen.get(path, [])).encode())
        else:
            await take(writer, path, fields)
        writer.close()

    async def take(writer: asyncio.StreamWriter, path: str, fields: dict[str, str]) -> None:
        kind, attempt = path.split("/")[1], fields.get("emulator-attempt")
        number = 0
        if attempt is not None:
            record = seen.setdefault(path, [])
            record.append((fields["emulator-delivery"], attempt))
            number = len(record)
        odd = number % 10 == 1 and attempt == "1"
        if kind == "slow":
            await asyncio.sleep(0.003)
        elif kind == "hanging" and number == 3:
            await asyncio.sleep(30)
        if kind == "closing" and odd:
            return
        answer(writer, 500 if kind == "failing" and odd else 404 if kind == "rejecting" and odd else 200, b"ok")

    def answer(writer: asyncio.StreamWriter, status: int, body: bytes) -> None:
        writer.write(b"HTTP/1.1 %d X\r\ncontent-length: %d\r\nconnection: close\r\n\r\n%b" % (status, len(body), body))

    server = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=1000)
    port_file.write_text(str(server.sockets[0].getsockname()[1]))
    await server.serve_forever()


# -- the run


@contextmanager
def running(*arguments: str, port_file: Path) -> Iterator[tuple[str, int]]:
    """A process that writes its port to a file: its URL and its id."""
    process = subprocess.Popen([sys.executable, "-m", *arguments], stdout=subprocess.DEVNULL)
    try:
        while not (port_file.exists() and port_file.read_text().strip()):
            if process.poll() is not None:
                sys.exit(f"{arguments[0]} did not start")
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port_file.read_text().strip()}", process.pid
    finally:
        process.terminate()
        process.wait()


def memory(pid: int) -> int:
    """MiB that a process has in memory (Linux)."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS:")).split()[1]) // 1024


def processor_time(pid: int) -> float:
    """Seconds of processor time that a process has used (Linux): unlike a rate, it does not depend on other load."""
    user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def run(api: httpx.Client, receiver: str, pid: int, endpoints: int, events: int) -> None:
    """Register, make the events happen, let everything settle, and hold the result against the rules."""
    kinds = cycle(KINDS)
    hooks = []
    for number in range(endpoints):
        url = f"{receiver}/{next(kinds)}/{number}"
        hooks.append(
            api.post("/v1/webhooks/", json={"name": url, "url": url, "events": ["*"]}).raise_for_status().json()
        )
    before, started, used = memory(pid), time.perf_counter(), processor_time(pid)
    for number in range(events):
        api.post("/v1/customers/", json={"email": f"{number}@example.com", "name": "A B"}).raise_for_status()
    made, peak = time.perf_counter() - started, memory(pid)
    result = api.post("/_emulator/clock/advance", json={"by": "1d"}).raise_for_status().json()
    took, used = time.perf_counter() - started, processor_time(pid) - used
    totals: Counter[str] = Counter()
    for hook in hooks:
        totals += checked(api, receiver, hook, events)
    attempts = totals.pop("attempts")
    print(
        f"{endpoints} endpoints x {events} events: {attempts} attempts in {took:.1f} s, {attempts / took:.0f} a second"
    )
    print(f"events made in {made:.1f} s; outcomes {dict(totals)}; in the advance {result['deliveries']}")
    print(f"processor time {used:.1f} s, {used / attempts * 1000:.2f} ms an attempt, events included")
    print(f"memory {before} MiB at first, {peak} with the queues full, {memory(pid)} with all history")


def checked(api: httpx.Client, receiver: str, hook: Any, events: int) -> Counter[str]:
    """The outcomes at one endpoint; exits where one is missing or out of order."""
    history = list(pages(api, f"/v1/webhooks/{hook['id']}/deliveries/?ordering=created_at&page_size=100"))
    arrived = httpx.get(receiver + hook["url"].removeprefix(receiver), trust_env=False).json()
    first = [delivery for delivery, attempt in arrived if attempt == "1"]
    statuses = Counter(str(each["status"]) for each in history)
    if len(history) != events or statuses["pending"] or first != [each["id"] for each in history]:
        sys.exit(f"{hook['url']}: {len(history)} deliveries {dict(statuses)}, {len(first)} arrived")
    attempts = sum(each["attempt_count"] for each in history)
    if attempts != len(arrived) or any(len(each["attempts"]) != each["attempt_count"] for each in history):
        sys.exit(f"{hook['url']}: {attempts} attempts on record, {len(arrived)} arrived")
    return statuses + Counter(attempts=attempts)


def pages(api: httpx.Client, url: str | None) -> Iterator[Any]:
    """Every object of a list."""
    while url:
        page = api.get(url).raise_for_status().json()
        yield from page["data"]
        url = page["pagination"]["next"]


def main(endpoints: int = 20, events: int = 5000) -> None:
    """One run."""
    with tempfile.TemporaryDirectory() as folder:
        ports = Path(folder, "receiver"), Path(folder, "emulator")
        serve = ("emulator.cli.main", "serve", "--port", "0", "--clock", "frozen", "--port-file", str(ports[1]))
        with (
            running("contract_tests.quality.benchmarks.deliveries", "--receive", str(ports[0]), port_file=ports[0]) as (
                hook,
                _,
            ),
            running(*serve, port_file=ports[1]) as (url, pid),
            httpx.Client(base_url=url, headers=HEADERS, timeout=None, trust_env=False) as api,
        ):
            run(api, hook, pid, endpoints, events)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--receive"]:
        asyncio.run(receive(Path(sys.argv[2])))
    else:
        main(*map(int, sys.argv[1:]))
