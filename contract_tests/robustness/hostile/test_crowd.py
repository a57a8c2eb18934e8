"""A crowd of hostile clients keeps no other client from being served, and none of them gets a failure of ours.

The long version, which also measures memory: ``python -m contract_tests.robustness.hostile``.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from contract_tests.robustness.hostile.crowd import (
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
from contract_tests.support.sandbox import Sandbox
from emulator.core import limits

MIB = 1024 * 1024


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
