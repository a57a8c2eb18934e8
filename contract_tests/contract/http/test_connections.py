"""Connections: clients that are old, slow, hasty, half gone or gone altogether (raw sockets)."""

from __future__ import annotations

import asyncio
import json
import ssl
import sys
import threading

import pytest

from contract_tests.contract.http.line import Line
from contract_tests.support.sandbox import RunningServer, Sandbox

LIST = b"GET /v1/customers/ HTTP/1.1"
NONE = b"GET /v1/customers/cust_x/ HTTP/1.1"
POST = b"POST /v1/customers/ HTTP/1.1"
JSON = b"Content-Type: application/json"
AWA = b'{"email": "awa@example.com", "name": "Awa Diop"}'
WAIT = b"GET /_emulator/events?type=customer.created&wait=10 HTTP/1.1"
STREAM = b"GET /_emulator/stream HTTP/1.1"


@pytest.fixture(autouse=True)
def _still_there(sandbox: Sandbox) -> object:
    """After each of these tests the server answers others as if nothing had been."""
    yield
    assert sandbox.api.get("/customers/")["object"] == "list"


def test_http_1_0_is_answered_and_closed(line: Line) -> None:
    line.say(b"GET /openapi.json HTTP/1.0\r\n\r\n")
    answer = line.answer()
    # Without the header a connection of HTTP/1.0 closes as well (RFC 9112, 9.3); newer versions of uvicorn send it.
    assert (answer.status, answer.headers.get("connection", "close")) == (200, "close")
    assert line.ended()


@pytest.mark.parametrize("hosts", [b"", b"Host: a.example\r\nHost: b.example\r\n"], ids=["none", "two"])
@pytest.mark.parametrize("start", [LIST, b"GET /openapi.json HTTP/1.1", b"OPTIONS /v1/customers/ HTTP/1.1"])
def test_http_1_1_has_one_host(line: Line, start: bytes, hosts: bytes) -> None:
    """RFC 9112, 3.2."""
    line.say(start + b"\r\n" + hosts + b"\r\n")
    answer = line.answer()
    assert (answer.status, answer.code) == (400, "VALIDATION_ERROR")
    assert json.loads(answer.body)["message"] == "A request of HTTP/1.1 must have one Host header."
    assert line.ended()


def client_hello() -> bytes:
    """Return the first bytes of a client of TLS."""
    sent = ssl.MemoryBIO()
    client = ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), sent, server_hostname="localhost")
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    return sent.read()


@pytest.mark.parametrize(
    ("first", "protocol"),
    [(client_hello(), "TLS; use http://"), (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "HTTP/2 by prior knowledge")],
    ids=["TLS", "HTTP/2"],
)
def test_another_protocol_is_named_in_the_log(
    line: Line, first: bytes, protocol: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The client cannot read an answer, so the one line is where its user looks."""
    line.say(first)
    assert line.answer().status == 400
    assert line.ended()
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert f"This port speaks plain HTTP/1.1, and a client began {protocol}" in caplog.text


def test_close_is_heeded(line: Line) -> None:
    line.request(LIST, b"Connection: close")
    assert line.answer().status == 200
    assert line.ended()


@pytest.mark.parametrize(
    "start",
    [
        b"POST /v1/customers/ HTTP/1.1\r\nContent-Type: application/json",
        b"PUT /_emulator/snapshots/a HTTP/1.1\r\nContent-Type: application/json",
        b"POST /_emulator/inbox/shop HTTP/1.1",
        b"POST /_emulator/console/do/advance HTTP/1.1\r\nContent-Type: application/x-www-form-urlencoded",
        b"POST SESSION HTTP/1.1\r\nContent-Type: application/x-www-form-urlencoded",
    ],
)
def test_a_client_that_goes_away_within_its_body_is_no_error(
    sandbox: Sandbox, start: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    path = sandbox.session()["url"].removeprefix(sandbox.url)
    with Line(sandbox.url, sandbox.key) as line:
        line.request(start.replace(b"SESSION", path.encode()), b"Content-Length: 1000", body=b"a=")
        with Line(line.url, line.key) as other:
            other.request(LIST)
            assert other.answer().status == 200
    for _ in range(5):
        sandbox.api.get("/customers/")
    assert caplog.text == ""


def test_pipelined_requests_are_answered_in_order(line: Line) -> None:
    """Also one that takes its time, and one that is rejected with its body unread."""
    line.request(WAIT)
    line.request(NONE)
    line.request(POST, JSON, b"Content-Length: 2000000", body=b" " * 2_000_000)
    line.request(LIST)
    with Line(line.url, line.key) as other:
        assert other.post(AWA).status == 201
    assert [line.answer().status for _ in range(4)] == [200, 404, 400, 200]


def test_a_thousand_pipelined_requests_are_answered(line: Line) -> None:
    sender = threading.Thread(target=lambda: [line.request(NONE) for _ in range(1000)])
    sender.start()
    assert {line.answer().status for _ in range(1000)} == {404}
    sender.join()


CHUNKED = POST + b"\r\nHost: localhost\r\n" + JSON + b"\r\nTransfer-Encoding: chunked\r\n\r\n"

BROKEN = {
    "garbage": b"GARBAGE\r\n\r\n",
    "long head": b"GET / HTTP/1.1\r\nX: " + b"x" * 270_000,
    "no size of a chunk": CHUNKED + b"ZZ\r\n",
    "broken after a chunk": CHUNKED + b"2\r\n{}\r\nZZ\r\n",
    "long trailers": CHUNKED + b"2\r\n{}\r\n0\r\n" + b"X: y\r\n" * 4_000,
    "long chunk extension": CHUNKED + b"2;" + b"x" * 24_000,
}


@pytest.mark.parametrize("rest", BROKEN.values(), ids=BROKEN)
@pytest.mark.parametrize("first", [NONE, WAIT], ids=["quick", "slow"])
def test_a_broken_request_is_answered_after_those_before_it(line: Line, first: bytes, rest: bytes) -> None:
    """Each gets its own answer; a client would take the 400 for the answer to an earlier request."""
    line.say(line.asked(first) + line.asked(LIST) + rest)
    if first == WAIT:
        with Line(line.url, line.key) as other:
            assert other.post(AWA).status == 201
    assert line.answer().status == (200 if first == WAIT else 404)
    assert line.answer().status == 200
    broken = line.answer()
    assert (broken.status, broken.code, broken.headers["connection"]) == (400, "VALIDATION_ERROR", "close")
    assert line.ended()


@pytest.mark.parametrize(
    ("rest", "last"), [(CHUNKED + b"2\r\n{", []), (CHUNKED + b"ZZ\r\n", [400])], ids=["incomplete", "broken"]
)
def test_a_client_that_ends_within_a_body_gets_the_answers_to_what_it_asked_before(
    line: Line, rest: bytes, last: list[int]
) -> None:
    line.say(line.asked(WAIT) + line.asked(LIST) + rest)
    line.hang_up()
    with Line(line.url, line.key) as other:
        assert other.post(AWA).status == 201
    assert [line.answer().status for _ in (200, 200, *last)] == [200, 200, *last]
    assert line.ended()


def test_a_client_that_has_said_all_is_answered(line: Line) -> None:
    """``printf … | nc``: it sends, ends its side and listens."""
    line.request(NONE)
    line.request(LIST)
    line.hang_up()
    assert [line.answer().status, line.answer().status] == [404, 200]
    assert line.ended()


def test_a_client_that_has_said_all_and_waits_is_answered(line: Line) -> None:
    line.request(WAIT)
    line.hang_up()
    with Line(line.url, line.key) as other:
        assert other.post(AWA).status == 201
    assert b"customer.created" in line.answer().body
    assert line.ended()


@pytest.mark.parametrize("started", [True, False], ids=["during the stream", "before it starts"])
def test_a_stream_ends_at_once_with_its_client(line: Line, started: bool) -> None:
    """Not only once something is sent to a client that is gone: a line that does not end here times out."""
    line.request(STREAM)
    if started:
        assert line.answer().status == 200
    line.hang_up()
    line.everything()


@pytest.mark.parametrize("said", [b"", b"G", LIST + b"\r\n", LIST + b"\r\nHost: x\r\n", b"\r\n\r\n"])
def test_a_client_that_breaks_off_in_the_head_is_let_go(line: Line, said: bytes) -> None:
    line.say(said)
    line.hang_up()
    assert line.ended()


def test_a_client_that_breaks_off_in_the_body_has_made_nothing(sandbox: Sandbox, line: Line) -> None:
    line.request(POST, JSON, b"Content-Length: 100", body=AWA)
    line.hang_up()
    assert line.ended()
    assert sandbox.api.get("/customers/")["data"] == []


def test_clients_that_vanish_leave_nothing_behind(sandbox: Sandbox) -> None:
    """Reset before, while and after the server works for them."""
    for start, body in ((LIST, b""), (WAIT, b""), (POST, AWA[:10]), (b"GET /v1/", b"")):
        for _ in range(10):
            line = Line(sandbox.url, sandbox.key)
            line.request(start, JSON, b"Content-Length: %d" % (2 * len(body)), body=body)
            line.abort()
    assert sandbox.api.get("/customers/")["data"] == []


def test_a_slow_body_is_waited_for(line: Line) -> None:
    """It comes byte by byte, and others are served in between."""
    line.request(POST, JSON, b"Content-Length: %d" % len(AWA))
    with Line(line.url, line.key) as other:
        for position in range(len(AWA)):
            other.request(NONE)
            assert other.answer().status == 404
            line.say(AWA[position : position + 1])
    assert line.answer().status == 201


def test_a_slow_head_is_waited_for(line: Line) -> None:
    with Line(line.url, line.key) as other:
        for byte in line.asked(LIST):
            other.request(NONE)
            assert other.answer().status == 404
            line.say(bytes([byte]))
    assert line.answer().status == 200


def test_expect_100_continue_is_answered_with_100(line: Line) -> None:
    """RFC 9110, 10.1.1."""
    line.request(POST, JSON, b"Content-Length: %d" % len(AWA), b"Expect: 100-continue")
    assert line.answer().status == 100
    line.say(AWA)
    assert line.answer().status == 201


def test_expect_100_continue_is_rejected_at_once_where_the_body_does_not_matter(sandbox: Sandbox) -> None:
    with Line(sandbox.url, "nonsense") as line:
        line.request(POST, JSON, b"Content-Length: 1000", b"Expect: 100-continue")
        assert line.answer().status == 401


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_chunks_may_be_of_any_size(line: Line, size: int) -> None:
    """With extensions and trailers, which mean nothing here."""
    chunks = [AWA[start : start + size] for start in range(0, len(AWA), size)]
    body = b"".join(b"%X;x=y\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks)
    line.request(POST, JSON, b"Transfer-Encoding: chunked", body=body + b"0\r\nTrailer: x\r\n\r\n")
    assert line.answer().status == 201


def test_a_body_with_its_length_and_in_chunks_is_malformed(line: Line) -> None:
    """RFC 9112, 6.1: the way requests are smuggled."""
    line.request(POST, JSON, b"Content-Length: 2", b"Transfer-Encoding: chunked", body=b"2\r\n{}\r\n0\r\n\r\n")
    assert line.answer().status == 400
    assert line.ended()


@pytest.mark.parametrize(
    "head",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"\x00\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET / HTTPS/1.1\r\n\r\n",
        b"GET  /v1/customers/ x HTTP/1.1\r\n\r\n",
        b"GET nothing HTTP/1.1\r\n\r\n",
        b"GET /v1/customers/\xc3\xa9/ HTTP/1.1\r\n\r\n",
        b"GET /v1/" + b"x" * 70_000 + b" HTTP/1.1\r\n\r\n",
        b"CONNECT sandbox:80 HTTP/1.1\r\n\r\n",
        LIST + b"\r\nno colon\r\n\r\n",
        LIST + b"\r\nna me: x\r\n\r\n",
        LIST + b"\r\n: x\r\n\r\n",
        LIST + b"\r\nX: a\x00b\r\n\r\n",
        POST + b"\r\nContent-Length: -1\r\n\r\n",
        POST + b"\r\nContent-Length: 1e3\r\n\r\n",
        POST + b"\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        POST + b"\r\nContent-Length: " + b"9" * 30 + b"\r\n\r\n",
        POST + b"\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        POST + b"\r\nTransfer-Encoding: gzip\r\n\r\n",
    ],
)
def test_what_makes_no_request_is_400_in_the_form_of_all_errors(line: Line, head: bytes) -> None:
    """HTTP statuses: 400 wrong headers; B-11."""
    line.say(head)
    answer = line.answer()
    assert (answer.status, answer.code) == (400, "VALIDATION_ERROR")
    assert answer.headers["request-id"].encode() in answer.body
    assert line.ended()


@pytest.mark.parametrize(("size", "status"), [(250_000, 200), (300_000, 400)])
def test_a_head_has_256_kib(line: Line, size: int, status: int) -> None:
    line.request(LIST, b"X: " + b"x" * size)
    assert line.answer().status == status


@pytest.mark.parametrize("head", [LIST + b"\r\nX: ", LIST + b"\r\n" + b"X: y\r\n" * 5, b"GET /"])
def test_a_head_without_end_is_cut_off(line: Line, head: bytes) -> None:
    line.say(head)
    with pytest.raises(OSError, match=r"reset|Broken pipe"):  # noqa: PT012  # it comes sooner or later
        for _ in range(1000):
            line.say(b"X: y\r\n" * 10_000 if head.endswith(b"\n") else b"x" * 60_000)


@pytest.mark.parametrize("upgrade", [b"websocket", b"h2c", b"nothing"])
def test_nothing_is_upgraded(line: Line, upgrade: bytes, caplog: pytest.LogCaptureFixture) -> None:
    """RFC 9110, 7.8: a server may ignore it; the request is answered as it stands, and nothing is logged."""
    headers = (b"Connection: Upgrade", b"Upgrade: " + upgrade, b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==")
    line.request(LIST, *headers, b"Sec-WebSocket-Version: 13")
    assert line.answer().status == 200
    assert not caplog.records


@pytest.mark.parametrize("name", [b"Upgrade", b"upgrade"])
def test_a_request_that_asks_for_http_2_keeps_its_body(line: Line, name: bytes) -> None:
    """As Java's HttpClient sends it, which then goes on in HTTP/1.1 on the same connection."""
    settings = b"HTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA"
    answer = line.post(AWA, b"Connection: Upgrade, HTTP2-Settings", settings, name + b": h2c")
    assert answer.status == 201
    body = b'{"email": "ines@example.com", "name": "Ines\\r\\n", "metadata": {"a":\r\n"b"}}'
    assert line.post(body).status == 201


def asking_for_http_2(line: Line, body: bytes, *headers: bytes) -> bytes:
    """Return a POST as Java's HttpClient sends it first."""
    asked = (b"Connection: Upgrade, HTTP2-Settings", b"HTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA")
    rows = [POST, line.polite.strip(), JSON, *asked, b"Upgrade: h2c", *headers]
    return b"\r\n".join(rows) + b"\r\n\r\n" + body


FRAMED = [
    (AWA, b"Content-Length: %d" % len(AWA)),
    (b"%x\r\n%s\r\n0\r\n\r\n" % (len(AWA), AWA), b"Transfer-Encoding: chunked"),
]


@pytest.mark.parametrize(("body", "framing"), FRAMED, ids=["length", "chunked"])
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_it_keeps_its_body_wherever_the_network_cuts_it(line: Line, size: int, body: bytes, framing: bytes) -> None:
    request = asking_for_http_2(line, body, framing)
    for start in range(0, len(request), size):
        line.say(request[start : start + size])
    assert line.answer().status == 201
    line.request(LIST)
    assert line.answer().status == 200


def test_pipelined_requests_that_ask_for_http_2_keep_their_bodies(line: Line) -> None:
    bodies = [AWA, AWA.replace(b"awa@", b"ines@"), b'{"email": "ama@example.com", "name": "\\nUpgrade: h2c\\r\\n"}']
    line.say(b"".join(asking_for_http_2(line, body, b"Content-Length: %d" % len(body)) for body in bodies))
    answers = [line.answer() for _ in bodies]
    assert [answer.status for answer in answers] == [201] * 3
    assert b'"ama@example.com"' in answers[2].body


def test_a_tunnel_is_no_request_of_the_service(line: Line) -> None:
    line.request(b"CONNECT shop.example.com:443 HTTP/1.1", b"Connection: Upgrade", b"Upgrade: h2c")
    assert line.answer().status in (400, 404, 405)


def test_the_word_of_a_proxy_counts_only_where_the_app_says_so(line: Line) -> None:
    """B-70: links do not follow ``X-Forwarded-Proto`` of anybody."""
    line.request(NONE, b"X-Forwarded-Proto: wss", b"X-Forwarded-For: 203.0.113.7")
    assert b'"doc_url":"http://' in line.answer().body


def test_where_there_is_no_uvloop_it_is_served_on_the_loop_of_python_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on Windows."""
    monkeypatch.setitem(sys.modules, "uvloop", None)
    with RunningServer() as server:
        with Line(server.url, "sk_test_loop") as line:
            assert line.post(AWA).status == 201
        loop = server.server._uvicorn and server.server._uvicorn.loop
        assert isinstance(loop, asyncio.BaseEventLoop)
