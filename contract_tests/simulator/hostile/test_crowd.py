"""A crowd of hostile clients bars no other from service, and none gets a failure of ours.

``python -m contract_tests.simulator limits`` measures each limit itself, and memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, nullcontext

import pytest

from contract_tests.contract.http.line import Line
from contract_tests.simulator.hostile.budget import (
    CREATE,
    JSON,
    LIST,
    ROWS,
    Row,
    Target,
    allow_open_files,
    amount,
    read,
)
from contract_tests.support.sandbox import RunningServer, Sandbox
from contract_tests.support.servers import ServerProcess
from emulator.control import worlds as control_worlds
from emulator.core import limits
from emulator.core.limits import KIB, MIB, Limit
from emulator.engine import broker, inbox

CHUNKED = JSON + b"\r\nTransfer-Encoding: chunked\r\n\r\n"

BEGINNINGS = {
    "nothing": b"",
    "half a line": CREATE[:12],
    "half a head": CREATE + b"\r\n",
    "half a body": CREATE + b"\r\n" + JSON + b"\r\nContent-Length: 1000\r\n\r\n{",
    "half a chunk": CREATE + b"\r\n" + CHUNKED + b"ff\r\n{",
    "an answer untaken": LIST + b"\r\n\r\n",
}
"""What a client says before it goes silent, without its key."""


def begun(line: Line, beginning: bytes) -> bytes:
    return beginning.replace(b"\r\n", b"\r\n" + line.polite, 1)


@contextmanager
def crowd(url: str, count: int, beginning: bytes) -> Iterator[list[Line]]:
    """So many connections that have begun a request and say no more."""
    with ExitStack() as stack:
        lines = [stack.enter_context(Line(url, "sk_test_crowd", timeout=30)) for _ in range(count)]
        for line in lines:
            line.say(begun(line, beginning))
        yield lines


def heard(line: Line) -> bytes:
    """Return the server's words until the connection's end. Raises ``TimeoutError`` without one."""
    try:
        return line.everything()
    except ConnectionResetError:
        return b""  # it ended the connection while there was more to be read; that is an end too


@pytest.fixture(autouse=True)
def _still_served(sandbox: Sandbox) -> Iterator[None]:
    """Whatever a test does, others are served during and after it."""
    allow_open_files(8192)
    yield
    assert sandbox.api.get("/customers/")["object"] == "list"


def test_a_thousand_connections_closed_half_way(sandbox: Sandbox) -> None:
    """The server ends each; a whole request gets its response first, any other none or a 400."""
    with ExitStack() as stack:
        crowds = [
            (name, stack.enter_context(crowd(sandbox.url, 170, beginning)))
            for name, beginning in BEGINNINGS.items()
        ]
        assert sandbox.api.get("/customers/")["object"] == "list"
        for _, lines in crowds:
            for line in lines:
                line.hang_up()
        responses = {name: {heard(line)[:12] for line in lines} for name, lines in crowds}
    assert responses.pop("an answer untaken") == {b"HTTP/1.1 200"}
    assert set().union(*responses.values()) <= {b"", b"HTTP/1.1 400"}


@pytest.mark.long
def test_a_crowd_of_connections_costs_little() -> None:
    with ServerProcess() as server:
        server.wait()
        files = server.open_files()
        for beginning in BEGINNINGS.values():
            before = server.memory()
            with crowd(server.url, 1000, beginning):
                server.wait()
                assert server.memory() - before < 1000 * 64 * KIB
            server.wait()
        assert server.open_files() <= files + 5


def test_a_slow_body_makes_no_other_request_wait(sandbox: Sandbox) -> None:
    body = b'{"email": "slow@example.com", "name": "Slow"}'
    head = (
        CREATE + b"\r\n" + JSON + b"\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body)
    )
    with crowd(sandbox.url, 20, head) as lines:
        for number in range(len(body)):
            for line in lines:
                line.say(body[number : number + 1])
            assert sandbox.api.get("/customers/")["object"] == "list"
        responses = sorted(heard(line)[9:12] for line in lines)
    assert responses == [b"201"] + [b"409"] * 19


@pytest.mark.long
def test_what_waits_for_streams_that_pause_takes_little_memory() -> None:
    """Forty readers miss 6 MiB of events each, and then read on."""
    body = {
        "email": "awa@example.com",
        "name": "Awa",
        "metadata": {f"key {n}": "x" * 490 for n in range(50)},
    }
    with (
        ServerProcess() as server,
        closing(Target(server.url, "sk_test_streams")) as target,
        ExitStack() as stack,
    ):
        lines = [
            stack.enter_context(Line(target.url, target.key, 60, buffer=4096)) for _ in range(40)
        ]
        for line in lines:
            line.request(b"GET /_emulator/stream?types=event HTTP/1.1")
        for number in range(250):
            customer = target.post("/v1/customers/", {**body, "email": f"{number}@example.com"})
        before = server.memory()
        server.forget_memory()
        with ThreadPoolExecutor(len(lines)) as pool:
            last = customer["id"].encode()
            assert all(pool.map(lambda line: line.hears(last), lines))
        assert server.memory("VmHWM") - before < 20 * MIB


@pytest.mark.parametrize(
    ("start", "part"),
    [
        (CREATE + b"\r\n", b"X-Flood: 1\r\n" * 1000),
        (b"GET /v1/customers/?", b"x=1&" * 10000),
        (b"", b"X" * 65536),
        (CREATE + b"\r\n" + JSON + b"\r\nContent-Length: 99999999999999\r\n\r\n{", b" " * 65536),
        (CREATE + b"\r\n" + CHUNKED, b"10000\r\n" + b" " * 65536 + b"\r\n"),
        (CREATE + b"\r\n" + CHUNKED + b"0\r\n", b"X: a\r\n" * 10_000),
    ],
    ids=["headers", "query", "no request", "body", "chunks", "trailers"],
)
def test_what_has_no_end_is_ended(sandbox: Sandbox, start: bytes, part: bytes) -> None:
    with Line(sandbox.url, timeout=30) as line:
        try:
            line.say(begun(line, start))
            for _ in range(0, 200 * MIB, len(part)):
                line.say(part)
        except (BrokenPipeError, ConnectionResetError):
            pass  # it had enough
        assert heard(line)[9:12] in (b"400", b"")


# -- Each row of the budget: a limit holds, more is answered as the table says; others are served


SHORTER = {
    "CONNECTIONS": 60,
    "HEAD_SECONDS": 1,
    "BODY_SECONDS": 1,
    "WORLDS": 60,
    "PIPELINED": 100,
    "STREAMS": 16,
    "INBOX": 50,
    "SNAPSHOTS": 10,
}
"""Limits that are far off, and nearer ones for these tests. The command measures the real ones."""

READERS = (limits, broker, inbox, control_worlds)
"""The modules from which a shortened limit is read."""


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    allow_open_files(8192)
    with RunningServer(strict=False, max_worlds=SHORTER["WORLDS"]) as server:
        yield server


HEAVY = ("Imported snapshot", "Values in a body")
"""Rows that take seconds."""


@pytest.mark.parametrize(
    "row",
    [
        pytest.param(row, id=row.name, marks=[pytest.mark.long] if row.name in HEAVY else [])
        for row in ROWS
    ],
)
def test_a_row_of_the_budget(
    row: Row, server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    most = next(
        (shorter for name, shorter in SHORTER.items() if getattr(limits, name) is row.limit),
        row.limit.most,
    )
    for reader in READERS:
        for name, value in [*vars(reader).items()]:
            if value is row.limit:
                monkeypatch.setattr(reader, name, row.limit._replace(most=most))
    # Other tests keep connections and worlds open, so these are counted on a server of their own.
    is_counted = row.name == "Open connections" or row.limit is limits.WORLDS
    own = RunningServer(strict=False) if is_counted else nullcontext(server)
    with own as played, closing(Target(played.url, f"sk_test_budget{ROWS.index(row)}")) as target:
        for times, result in ((1, row.within), (2, row.beyond)):
            expected = result.replace(str(row.limit.most), str(most))  # "1000 stored"
            assert row.play(target, times * most).split(",")[0] == expected
            assert target.http.get("/_emulator/health").status_code == 200


def test_every_limit_has_a_row() -> None:
    assert {row.limit for row in ROWS} == {
        value for value in vars(limits).values() if isinstance(value, Limit)
    }
    assert len({row.name for row in ROWS}) == len(ROWS)


def test_the_guide_names_every_limit_as_it_is() -> None:
    """The figures beside them are measured now and then; these three cells are the code's."""
    table = [tuple(cells[:3]) for cells in read()]
    assert table == [(row.name, amount(row.limit), row.limit.beyond) for row in ROWS]
    measured = [cell for cells in read() for cell in cells[3:]]
    assert [cell for cell in measured if not re.fullmatch(r"[\d.]+ MiB, [\d.]+ s", cell)] == []
