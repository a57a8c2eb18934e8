"""A crowd of hostile clients keeps no other client from being served, and none of them gets a failure of ours.

``python -m contract_tests.simulator limits`` measures each limit itself, and memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from contract_tests.contract.http.line import Line
from contract_tests.simulator.hostile import table
from contract_tests.simulator.hostile.budget import ROWS, Row, Target
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
from contract_tests.support.sandbox import RunningServer, Sandbox
from contract_tests.support.servers import ServerProcess
from emulator.core import limits
from emulator.core.limits import KIB, MIB, Limit


@pytest.fixture(autouse=True)
def _still_served(sandbox: Sandbox) -> Iterator[None]:
    """Whatever a test does, others are served during and after it."""
    allow_open_files(8192)
    yield
    assert sandbox.api.get("/customers/")["object"] == "list"


@pytest.mark.parametrize("beginning", BEGINNINGS.values(), ids=BEGINNINGS)
def test_a_thousand_connections_closed_half_way(sandbox: Sandbox, beginning: bytes) -> None:
    """Each is ended by the server; a whole request is answered first, any other gets no answer or a 400."""
    with crowd(sandbox.url, 1000, beginning) as lines:
        assert sandbox.api.get("/customers/")["object"] == "list"
        hang_up(lines)
        answers = {heard(line)[:12] for line in lines}
    whole = beginning == BEGINNINGS["an answer untaken"]
    assert answers == {b"HTTP/1.1 200"} if whole else answers <= {b"", b"HTTP/1.1 400"}


@pytest.mark.long
@pytest.mark.parametrize("beginning", BEGINNINGS.values(), ids=BEGINNINGS)
def test_a_connection_takes_little_memory_and_is_gone_afterwards(beginning: bytes) -> None:
    with ServerProcess() as server:
        server.wait()
        files, before = server.open_files(), server.memory()
        with crowd(server.url, 1000, beginning) as lines:
            server.wait()
            assert server.memory() - before < 1000 * 64 * KIB
            hang_up(lines)
            for line in lines:
                heard(line)
        server.wait()
        assert server.open_files() <= files + 5


def test_a_thousand_connections_dropped_half_way(sandbox: Sandbox) -> None:
    with crowd(sandbox.url, 1000, BODY):
        assert sandbox.api.get("/customers/")["object"] == "list"


def test_a_slow_body_makes_no_other_request_wait(sandbox: Sandbox) -> None:
    body = b'{"email": "slow@example.com", "name": "Slow"}'
    head = HEAD + b"Content-Type: application/json\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body)
    with crowd(sandbox.url, 20, head) as lines:
        for byte in body[:-1]:
            for line in lines:
                line.sendall(bytes([byte]))
            assert sandbox.api.get("/customers/")["object"] == "list"
        for line in lines:
            line.sendall(body[-1:])
        answers = sorted(heard(line)[9:12] for line in lines)
    assert answers == [b"201"] + [b"409"] * 19


def test_what_waits_for_streams_that_pause_takes_little_memory() -> None:
    """Forty readers miss 6 MiB of events each, and then read on."""
    body = {"email": "awa@example.com", "name": "Awa", "metadata": {f"key {n}": "x" * 490 for n in range(50)}}
    with ServerProcess() as server, Target(server.url, "sk_test_streams") as target, ExitStack() as stack:
        lines = [stack.enter_context(Line(target.url, target.key, 60, buffer=4096)) for _ in range(40)]
        for line in lines:
            line.request(b"GET /_emulator/stream?types=event HTTP/1.1")
        for number in range(250):
            customer = target.post("/v1/customers/", {**body, "email": f"{number}@example.com"})
        before = server.memory()
        with ThreadPoolExecutor(len(lines)) as pool, server.highest_memory() as highest:
            last = customer["id"].encode()
            assert all(pool.map(lambda line: line.hears(last), lines))
    assert highest[0] - before < 20 * MIB


@pytest.mark.parametrize(
    ("start", "part", "status"),
    [
        (HEAD, b"X-Flood: 1\r\n" * 1000, b"400"),
        (HEAD + b"X-Flood: ", b"1" * 65536, b"400"),
        (b"GET /v1/customers/?", b"x=1&" * 10000, b"400"),
        (b"", b"X" * 65536, b"400"),
        (BODY.replace(b"1000", b"99999999999999"), b" " * 65536, b"400"),
        (
            HEAD + b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n",
            b"10000\r\n" + b" " * 65536 + b"\r\n",
            b"400",
        ),
        (LAST_CHUNK, b"X: a\r\n" * 10_000, b"400"),
        (LAST_CHUNK + b"X: ", b"a" * 65536, b"400"),
        (LAST_CHUNK[:-2] + b";", b"a" * 65536, b"400"),
    ],
    ids=["headers", "one header", "query", "no request", "body", "chunks", "trailers", "trailer", "chunk extension"],
)
def test_what_has_no_end_is_ended(sandbox: Sandbox, start: bytes, part: bytes, status: bytes) -> None:
    with connect(sandbox.url) as line:
        answer = pour(line, start, part, 200 * MIB)
    assert answer[9:12] in (status, b"")


def test_as_many_headers_as_fit_are_read(sandbox: Sandbox) -> None:
    """Nine hundred of them are odd, and no error."""
    start = b"GET /v1/customers/ HTTP/1.1\r\nHost: sandbox\r\nConnection: close\r\n"
    with connect(sandbox.url) as line:
        line.sendall(start + f"Authorization: Bearer {sandbox.key}\r\n".encode() + b"X-Flood: 1\r\n" * 900 + b"\r\n")
        assert heard(line)[9:12] == b"200"


def test_one_header_too_many_is_named(sandbox: Sandbox) -> None:
    start = b"GET /v1/customers/ HTTP/1.1\r\nHost: sandbox\r\nConnection: close\r\n"
    with connect(sandbox.url) as line:
        line.sendall(start + b"X-Flood: 1\r\n" * (limits.HEADERS.most - 1) + b"\r\n")
        assert f"The request has more than {limits.HEADERS.most} headers." in heard(line).decode()


# -- Every row of the budget: what a limit allows is accepted, more is answered as the table says; others are served


SHORTER = {"CONNECTIONS": 60, "HEAD_SECONDS": 1, "BODY_SECONDS": 1, "WORLDS": 60}
"""Limits that take long to reach, and what they are for these tests. The command measures the real ones."""


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    allow_open_files(8192)
    with RunningServer(strict=False, max_worlds=SHORTER["WORLDS"]) as server:
        yield server


@pytest.fixture
def target(server: RunningServer, row: Row) -> Iterator[Target]:
    with Target(server.url, f"sk_test_budget{ROWS.index(row)}") as target:
        yield target


@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_a_row_of_the_budget(row: Row, target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    most = row.limit.most
    for name, shorter in SHORTER.items():
        if getattr(limits, name) is row.limit:
            most = shorter
            monkeypatch.setattr(limits, name, row.limit._replace(most=shorter))
    assert row.play(target, most).split(",")[0] == row.within
    assert target.http.get("/_emulator/health").status_code == 200
    assert row.play(target, 2 * most).split(",")[0] == row.beyond
    assert target.http.get("/_emulator/health").status_code == 200


def test_every_limit_has_a_row() -> None:
    every = {value for value in vars(limits).values() if isinstance(value, Limit)}
    assert {row.limit for row in ROWS} == every
    assert len({row.name for row in ROWS}) == len(ROWS)


def test_the_guide_names_each_limit_as_it_is() -> None:
    """The figures beside them are measured now and then; these three cells are the code's."""
    said = [tuple(cells[:3]) for cells in table.read()]
    assert said == [(row.name, table.amount(row.limit), row.limit.beyond) for row in ROWS]
    measured = [cell for cells in table.read() for cell in cells[3:]]
    assert [cell for cell in measured if not re.fullmatch(r"[\d.]+ MiB, [\d.]+ s", cell)] == []
