"""The connections of the client, to servers that behave well and to others."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from emulator.client.connections import ConnectionBroke, Connections, NoConnection, Timeouts
from emulator.client.messages import ApiRequest, InvalidRequest

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
SHORT_TIMEOUTS = Timeouts(connect=5, response=5)
GET = ApiRequest("GET", "/")


@contextmanager
def listening(*connections: Callable[[socket.socket], None]) -> Iterator[tuple[str, list[bytes]]]:
    """Handle one connection after the other by these; the URL, and what came on each."""
    heads: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            for handle in connections:
                connection, _ = server.accept()
                with connection:
                    heads.append(connection.recv(65536))
                    handle(connection)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}", heads
        thread.join(5)


def kept(connection: socket.socket) -> None:
    connection.sendall(OK)
    while connection.recv(65536):
        connection.sendall(OK)


def test_a_connection_is_used_again_until_the_server_closes_it() -> None:
    closed = threading.Event()

    def closing(connection: socket.socket) -> None:
        connection.sendall(OK)
        connection.shutdown(socket.SHUT_RDWR)
        closed.set()

    with listening(closing, kept) as (url, heads), Connections(url, SHORT_TIMEOUTS) as client:
        for _ in range(3):
            assert client.exchange(GET).json() == {}
            assert closed.wait(5)
    assert len(heads) == 2


def answering(response: bytes) -> Callable[[socket.socket], None]:
    return lambda connection: connection.sendall(response)


@pytest.mark.parametrize(
    ("response", "content"),
    [
        (OK, b"{}"),
        (b"HTTP/1.1 200 OK\nx-y:z\ncontent-length:2\n\n{}", b"{}"),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + OK, b"{}"),
        (CHUNKED + b"1;a=b\r\n{\r\n01\r\n}\r\n0\r\nTrailer: x\r\n\r\n", b"{}"),
        (b"HTTP/1.0 200 OK\r\n\r\n{}", b"{}"),
        (b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{}", b"{}"),
        (b"HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\n", b""),
    ],
)
def test_a_response_is_read_however_long_it_is_said_to_be(response: bytes, content: bytes) -> None:
    with listening(answering(response)) as (url, _), Connections(url, SHORT_TIMEOUTS) as client:
        assert client.exchange(GET).content == content


def test_a_connection_is_used_again_after_long_headers_behind_a_body() -> None:
    """They are longer than what is read at once."""
    trailers = b"".join(b"%b: %b\r\n" % (name, b"x" * 20_000) for name in (b"One", b"Two"))
    body = CHUNKED + b"2\r\n[]\r\n0\r\n" + trailers + b"\r\n"

    def both(connection: socket.socket) -> None:
        connection.sendall(body)
        connection.recv(65536)
        connection.sendall(OK)

    with listening(both) as (url, _), Connections(url, SHORT_TIMEOUTS) as client:
        assert [client.exchange(GET).content for _ in range(2)] == [b"[]", b"{}"]


BROKEN = {
    "none": b"",
    "another protocol": b"SSH-2.0-OpenSSH\r\n",
    "endless headers": b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 101,
    "an endless header": b"HTTP/1.1 200 OK\r\nX: " + b"x" * 70_000,
    "less than announced": b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}",
    "no number of bytes": CHUNKED + b"many\r\n",
}


@pytest.mark.parametrize("response", BROKEN.values(), ids=BROKEN)
def test_a_response_that_is_none_is_an_error_of_the_connection(response: bytes) -> None:
    with listening(answering(response)) as (url, _), pytest.raises(ConnectionBroke, match=r"."):
        Connections(url, SHORT_TIMEOUTS).exchange(GET)


def test_a_server_that_does_not_respond_is_not_waited_for() -> None:
    ended = threading.Event()
    with listening(lambda connection: bool(ended.wait(5))) as (url, _):
        with pytest.raises(ConnectionBroke, match="timed out"):
            Connections(url, Timeouts(connect=5, response=0.05)).exchange(GET)
        ended.set()


def test_a_server_that_is_not_there_is_named() -> None:
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{reserved.getsockname()[1]}"
        with pytest.raises(NoConnection, match="refused"):
            Connections(url, SHORT_TIMEOUTS).exchange(GET)


@pytest.mark.parametrize(
    "url", ["", "127.0.0.1:4747", "ftp://127.0.0.1", "http://", "http://[::1", "http://a:x"]
)
def test_a_url_of_nothing(url: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        Connections(url, SHORT_TIMEOUTS)


def test_requests_are_written_as_http_wants_them() -> None:
    request = ApiRequest.of(
        "POST",
        "/v1/é x?a=%20",
        query={"b": True, "c": "d&e"},
        json={"name": "Awa"},
        headers={"X-Y": "z"},
    )
    with (
        listening(lambda connection: connection.sendall(OK)) as (url, heads),
        Connections(f"{url}/prefix/", SHORT_TIMEOUTS) as client,
    ):
        client.exchange(request)
    head, _, body = heads[0].partition(b"\r\n\r\n")
    first, host, *others = head.split(b"\r\n")
    assert first == b"POST /prefix/v1/%C3%A9%20x?a=%20&b=true&c=d%26e HTTP/1.1"
    assert host == b"Host: " + url.removeprefix("http://").encode()
    assert others == [b"content-type: application/json", b"x-y: z", b"Content-Length: 14"]
    assert body == b'{"name":"Awa"}'


def test_a_header_brings_no_second_one() -> None:
    with pytest.raises(InvalidRequest, match="control characters"):
        ApiRequest.of("GET", "/", headers={"authorization": "Bearer x\r\nHost: y"})


def test_a_stream_gives_its_lines_as_they_arrive() -> None:
    first_line_read = threading.Event()

    def streaming(connection: socket.socket) -> None:
        connection.sendall(CHUNKED + b"9\r\nevent: a\n\r\n")
        assert first_line_read.wait(5)
        connection.sendall(b"4\r\n\xc3\xa9\n\n\r\n0\r\n\r\n")

    with (
        listening(streaming) as (url, _),
        Connections(url, SHORT_TIMEOUTS).stream(GET) as (head, lines),
    ):
        assert (head.status_code, next(lines)) == (200, "event: a")
        first_line_read.set()
        assert [*lines] == ["é", ""]
