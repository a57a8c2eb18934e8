"""The webhooks' HTTP client with receivers that respond oddly, early or not; with name servers."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import threading
from collections.abc import Callable
from typing import Any

import pytest

from emulator.core.unit_of_work import HttpResult
from emulator.engine import http_client
from emulator.engine.http_client import (
    MOST_LOOK_UPS,
    LookUps,
    Unreachable,
    WebhookSender,
    addresses_of,
)

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


def send(
    response: bytes = OK,
    *,
    url: str = "http://{}/hook",
    body: bytes = b"{}",
    at: str = "127.0.0.1",
    **headers: str,
) -> tuple[HttpResult, bytes]:
    """Send a POST to a receiver that reads the head, responds and closes; return result and head.

    The ``{}`` of the URL is the receiver's authority, and ``{port}`` its port.
    """
    heads: list[bytes] = []

    async def receive(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(response)
        writer.close()

    async def run() -> HttpResult:
        async with await asyncio.start_server(receive, at, 0) as server:
            host, port, *_ = server.sockets[0].getsockname()
            return await WebhookSender(5).send(
                url.format(f"{host}:{port}", port=port), headers, body
            )

    return asyncio.run(run()), b"".join(heads)


def test_what_is_sent_is_plain_http() -> None:
    _, head = send(url="http://{}/a/b?c=d%20e#part", **{"Emulator-Attempt": "1"})
    line, *fields = head.decode().strip().split("\r\n")
    named = dict(field.split(": ", 1) for field in fields)
    assert line == "POST /a/b?c=d%20e HTTP/1.1"
    assert named.pop("Host").startswith("127.0.0.1:")
    assert named == {
        "User-Agent": "payments-emulator-webhooks",
        "Accept": "*/*",
        "Accept-Encoding": "identity",
        "Connection": "close",
        "Emulator-Attempt": "1",
        "Content-Length": "2",
    }


@pytest.mark.parametrize(
    ("response", "status", "body"),
    [
        (OK, 200, "ok"),
        (b"HTTP/1.0 200\r\n\r\nuntil the end", 200, "until the end"),
        (
            b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + OK,
            200,
            "ok",
        ),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", 200, "ok"),
        (b"HTTP/1.1 204 No Content\r\n\r\nok", 204, ""),
        (b"HTTP/1.1 200 OK\r\n\r\nre\xc3\xa7u", 200, "reçu"),
        (
            b"HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=ISO-8859-1\r\n\r\nre\xe7u",
            200,
            "reçu",
        ),
        (b"HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=rot13\r\n\r\nok", 200, "ok"),
    ],
)
def test_a_response_is_understood(response: bytes, status: int, body: str) -> None:
    result, _ = send(response)
    assert (result.status_code, result.body, result.error) == (status, body, None)


@pytest.mark.parametrize(
    ("response", "error"),
    [
        (b"", "the connection was closed before the response"),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok",
            "the connection was closed within the response",
        ),
        (b"SSH-2.0-OpenSSH_9.2\r\n\r\n", "the response is not HTTP"),
        (b"HTTP/1.1 103 Early Hints\r\n\r\n" * 5000, "the response is not HTTP"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n", "the response is not HTTP"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * 200_000, "the response is not HTTP"),
    ],
)
def test_what_is_no_response_is_a_connection_error(response: bytes, error: str) -> None:
    result, _ = send(response)
    assert (result.status_code, result.body, result.error) == (None, None, error)


def test_a_response_may_come_before_the_body_was_read() -> None:
    """As from a receiver that rejects a request by its headers."""
    result, _ = send(
        b"HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nbig", body=b"x" * 20_000_000
    )
    assert (result.status_code, result.body) == (413, "big")


NOWHERE = {
    **dict.fromkeys(("http://{}:notaport/", "ftp://{}/", "http:///"), "the URL cannot be called"),
    **dict.fromkeys(
        ("http://unknown.invalid/", f"http://{'a' * 64}.example/"), "the host name is not known"
    ),
    "http://2852039166/": "link-local and cloud metadata addresses are never called",
}


@pytest.mark.parametrize(("url", "error"), NOWHERE.items())
def test_a_url_that_leads_nowhere_is_a_connection_error(url: str, error: str) -> None:
    result, head = send(url=url)
    assert (result.error, head) == (error, b"")


SHOP = "http://shop.example:{port}/"

Resolve = Callable[..., None]


@pytest.fixture
def resolve(monkeypatch: pytest.MonkeyPatch) -> Resolve:
    """Make look-ups of ``shop.example`` lead to these addresses, then to others, then to none."""
    system = socket.getaddrinfo

    def to(*responses: list[str]) -> None:
        left = iter(responses)

        def look_up(host: str, port: Any, **options: Any) -> Any:
            if host != "shop.example":
                return system(host, port, **options)
            return [
                (socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))
                for address in next(left)
            ]

        monkeypatch.setattr(socket, "getaddrinfo", look_up)

    return to


def test_the_address_that_was_checked_is_the_one_that_is_called(resolve: Resolve) -> None:
    """A name server may give another answer the next time (DNS rebinding)."""
    resolve(["127.0.0.1"], ["169.254.169.254"])
    result, head = send(url=SHOP)
    assert (result.status_code, b"\r\nHost: shop.example:" in head) == (200, True)


def test_a_name_one_of_whose_addresses_is_forbidden_is_not_called(resolve: Resolve) -> None:
    for addresses in (["169.254.169.254"], ["127.0.0.1", "169.254.169.254"], ["100.100.100.200"]):
        resolve(addresses)
        result, head = send(url=SHOP)
        assert (result.error, head) == (
            "link-local and cloud metadata addresses are never called",
            b"",
        )


def test_the_next_address_is_tried_where_one_cannot_be_reached(resolve: Resolve) -> None:
    resolve(["127.0.0.2", "127.0.0.1"])
    assert send(url=SHOP)[0].status_code == 200


def test_the_last_address_says_why_none_can_be_reached(resolve: Resolve) -> None:
    resolve(["127.0.0.2", "127.0.0.3"])
    assert send(url=SHOP)[0].error == f"cannot connect: {os.strerror(errno.ECONNREFUSED)}"


def test_localhost_is_both_loopback_addresses_whatever_is_looked_up(resolve: Resolve) -> None:
    """Also where no network of the machine has IPv6, or no name server answers (B-82)."""
    resolve()
    for host in ("localhost", "shop.localhost"):
        for address in ("127.0.0.1", "::1"):
            result, _ = send(url=f"http://{host}:{{port}}/", at=address)
            assert (result.status_code, result.error) == (200, None)


def test_a_name_server_that_does_not_answer_is_said_to_be_the_cause(
    unanswered: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_client, "LOOK_UP_SECONDS", 0.01)
    expected = "the name server did not answer within 0.01 s"
    assert send(url="http://shop.unanswered.example/")[0].error == expected


async def fail_to_look_up(names: int, look_ups: LookUps) -> int:
    """Look so many names up twice, in vain, and return the number of threads that still do so."""
    before = set(threading.enumerate())
    hosts = [f"{number}.unanswered.example" for number in range(names)]
    for _ in range(2):
        look_ups_of_hosts = (addresses_of(host, look_ups) for host in hosts)
        assert {
            type(result)
            for result in await asyncio.gather(*look_ups_of_hosts, return_exceptions=True)
        } == {Unreachable}
    return sum(thread.name == "look-up" for thread in {*threading.enumerate()} - before)


@pytest.mark.usefixtures("unanswered")
@pytest.mark.parametrize(
    ("names", "threads"),
    [
        pytest.param(3, 3, id="one of each name"),
        pytest.param(2 * MOST_LOOK_UPS, MOST_LOOK_UPS, id="no more than the most"),
    ],
)
def test_look_ups_without_a_response_are_bounded(
    monkeypatch: pytest.MonkeyPatch, names: int, threads: int
) -> None:
    monkeypatch.setattr(http_client, "LOOK_UP_SECONDS", 0.01)
    assert asyncio.run(fail_to_look_up(names, {})) == threads


def test_names_are_looked_up_again_once_the_name_server_is_back(
    unanswered: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_client, "LOOK_UP_SECONDS", 0.01)

    async def look_up() -> list[str]:
        look_ups: LookUps = {}
        await fail_to_look_up(2 * MOST_LOOK_UPS, look_ups)
        unanswered.set()
        monkeypatch.setattr(http_client, "LOOK_UP_SECONDS", 30)
        return await addresses_of("another.unanswered.example", look_ups)

    assert asyncio.run(look_up()) == ["127.0.0.1"]
