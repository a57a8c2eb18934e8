"""Connections: clients that are old, slow, hasty, half gone or gone altogether (raw sockets)."""

from __future__ import annotations

import json
import ssl
import sys
from contextlib import ExitStack

import pytest

from contract_tests.contract.http.line import Line
from contract_tests.support.sandbox import Sandbox
from contract_tests.support.servers import ServerProcess

LIST = b"GET /v1/customers/ HTTP/1.1"
NONE = b"GET /v1/customers/cust_x/ HTTP/1.1"
POST = b"POST /v1/customers/ HTTP/1.1"
JSON = b"Content-Type: application/json"
AWA = b'{"email": "awa@example.com", "name": "Awa Diop"}'
WAIT = b"GET /_emulator/events?type=customer.created&wait=10 HTTP/1.1"
STREAM = b"GET /_emulator/stream HTTP/1.1"


@pytest.fixture(autouse=True)
def _still_there(sandbox: Sandbox) -> object:
    """After each of these tests the server serves others as if nothing had been."""
    yield
    assert sandbox.api.get("/customers/")["object"] == "list"


def test_http_1_1_has_one_host(sandbox: Sandbox) -> None:
    """RFC 9112, 3.2."""
    for hosts in (b"", b"Host: a.example\r\nHost: b.example\r\n"):
        with Line(sandbox.url) as line:
            line.say(b"GET /openapi.json HTTP/1.1\r\n" + hosts + b"\r\n")
            response = line.response()
            assert (response.status, response.code) == (400, "VALIDATION_ERROR")
            assert (
                json.loads(response.body)["message"]
                == "A request of HTTP/1.1 must have one Host header."
            )
            assert line.ended()


def client_hello() -> bytes:
    """Return the first bytes of a client of TLS."""
    sent = ssl.MemoryBIO()
    client = ssl.create_default_context().wrap_bio(
        ssl.MemoryBIO(), sent, server_hostname="localhost"
    )
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    return sent.read()


@pytest.mark.parametrize(
    ("first", "protocol"),
    [
        (client_hello(), "TLS; use http://"),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "HTTP/2 by prior knowledge"),
    ],
    ids=["TLS", "HTTP/2"],
)
def test_another_protocol_is_named_in_the_log(
    line: Line, first: bytes, protocol: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The client cannot read a response, so the one line is where its user looks."""
    line.say(first)
    assert line.response().status == 400
    assert line.ended()
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert f"This port speaks plain HTTP/1.1, and a client began {protocol}" in caplog.text


def test_a_client_that_goes_away_within_its_body_is_no_error(
    sandbox: Sandbox, caplog: pytest.LogCaptureFixture
) -> None:
    session = sandbox.session()["url"].removeprefix(sandbox.url)
    for path in (
        "/v1/customers/",
        "/_emulator/inbox/shop",
        "/_emulator/console/do/advance",
        session,
    ):
        type = (
            JSON if path.startswith("/v1") else b"Content-Type: application/x-www-form-urlencoded"
        )
        with Line(sandbox.url, sandbox.key) as line:
            line.request(
                f"POST {path} HTTP/1.1".encode(), type, b"Content-Length: 1000", body=b"a="
            )
            sandbox.api.get("/customers/")
    for _ in range(5):
        sandbox.api.get("/customers/")
    assert caplog.text == ""


def test_pipelined_requests_have_their_responses_in_order(line: Line) -> None:
    """Also one that takes its time, and one that is rejected with its body unread."""
    line.request(WAIT)
    line.request(NONE)
    line.request(POST, JSON, b"Content-Length: 2000000", body=b" " * 2_000_000)
    line.request(LIST)
    with Line(line.url, line.key) as other:
        assert other.post(AWA).status == 201
    assert [line.response().status for _ in range(4)] == [200, 404, 400, 200]


CHUNKED = POST + b"\r\nHost: localhost\r\n" + JSON + b"\r\nTransfer-Encoding: chunked\r\n\r\n"

BROKEN = {
    "garbage": b"GARBAGE\r\n\r\n",
    "long head": b"GET / HTTP/1.1\r\nX: " + b"x" * 270_000,
    "broken after a chunk": CHUNKED + b"2\r\n{}\r\nZZ\r\n",
    "long trailers": CHUNKED + b"2\r\n{}\r\n0\r\n" + b"X: y\r\n" * 4_000,
}


@pytest.mark.parametrize("rest", BROKEN.values(), ids=BROKEN)
@pytest.mark.parametrize("first", [NONE, WAIT], ids=["quick", "slow"])
def test_a_broken_request_has_its_response_after_those_before_it(
    line: Line, first: bytes, rest: bytes
) -> None:
    """Each gets its own response: a client would take the 400 for an earlier request's."""
    line.say(line.asked(first) + line.asked(LIST) + rest)
    if first == WAIT:
        with Line(line.url, line.key) as other:
            assert other.post(AWA).status == 201
    assert line.response().status == (200 if first == WAIT else 404)
    assert line.response().status == 200
    broken = line.response()
    assert (broken.status, broken.code, broken.headers["connection"]) == (
        400,
        "VALIDATION_ERROR",
        "close",
    )
    assert line.ended()


@pytest.mark.parametrize(
    ("rest", "last"),
    [(b"", []), (CHUNKED + b"2\r\n{", []), (CHUNKED + b"ZZ\r\n", [400])],
    ids=["complete", "incomplete", "broken"],
)
def test_a_client_that_ends_its_side_gets_the_responses_to_its_requests(
    line: Line, rest: bytes, last: list[int]
) -> None:
    """``printf … | nc``: it sends, ends its side and listens, also while a request waits."""
    line.say(line.asked(WAIT) + line.asked(LIST) + rest)
    line.hang_up()
    with Line(line.url, line.key) as other:
        assert other.post(AWA).status == 201
    assert [line.response().status for _ in (200, 200, *last)] == [200, 200, *last]
    assert line.ended()


def test_a_client_that_breaks_off_has_made_nothing(sandbox: Sandbox) -> None:
    head = POST + b"\r\nHost: x\r\n"
    for beginning in (
        b"",
        b"G",
        LIST + b"\r\n",
        head,
        b"\r\n\r\n",
        head + JSON + b"\r\nContent-Length: 100\r\n\r\n" + AWA,
    ):
        with Line(sandbox.url, sandbox.key) as line:
            line.say(beginning)
            line.hang_up()
            assert b"201" not in line.everything()
    assert sandbox.api.get("/customers/")["data"] == []


def test_a_stream_ends_at_once_with_its_client(sandbox: Sandbox) -> None:
    """Not only when the server sends on to a lost client: a line that does not end times out."""
    for started in (True, False):
        with Line(sandbox.url, sandbox.key) as line:
            line.request(STREAM)
            if started:
                assert line.response().status == 200
            line.hang_up()
            line.everything()


def test_a_slow_request_is_waited_for(line: Line) -> None:
    """It comes byte by byte, others go between, and ``Expect`` gets its 100 (RFC 9110, 10.1.1)."""
    with Line(line.url, line.key) as other:

        def slowly(message: bytes) -> None:
            for byte in message:
                other.request(NONE)
                assert other.response().status == 404
                line.say(bytes([byte]))

        slowly(
            line.asked(
                POST,
                JSON,
                b"Content-Length: %d" % len(AWA),
                b"Expect: 100-continue",
                b"Connection: close",
            )
        )
        assert line.response().status == 100
        slowly(AWA)
    assert line.response().status == 201
    assert line.ended()


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_chunks_may_be_of_any_size(line: Line, size: int) -> None:
    """With extensions and trailers, which mean nothing here."""
    chunks = [AWA[start : start + size] for start in range(0, len(AWA), size)]
    body = b"".join(b"%X;x=y\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks)
    line.request(POST, JSON, b"Transfer-Encoding: chunked", body=body + b"0\r\nTrailer: x\r\n\r\n")
    assert line.response().status == 201


def test_a_long_body_may_come_in_the_smallest_chunks(line: Line) -> None:
    """Their sizes are more bytes than the body, and no more than go with it."""
    metadata = {f"note{number}": "x" * 500 for number in range(10)}
    body = json.dumps({"email": "awa@example.com", "name": "Awa", "metadata": metadata}).encode()
    chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in body)
    line.request(POST, JSON, b"Transfer-Encoding: chunked", body=chunks + b"0\r\n\r\n")
    assert line.response().status == 201


def test_a_body_in_chunks_with_its_length_is_malformed(line: Line) -> None:
    """RFC 9112, 6.1: the way requests are smuggled."""
    line.request(
        POST,
        JSON,
        b"Content-Length: 2",
        b"Transfer-Encoding: chunked",
        body=b"2\r\n{}\r\n0\r\n\r\n",
    )
    assert line.response().status == 400
    assert line.ended()


NO_REQUESTS = (
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    *(
        b"GET\r\n\r\n",
        b"Get /v1/customers/ HTTP/1.1\r\n\r\n",
        b"FOO /v1/customers/ HTTP/1.1\r\n\r\n",
    ),
    *(
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET nothing HTTP/1.1\r\n\r\n",
        b"CONNECT sandbox:80 HTTP/1.1\r\n\r\n",
    ),
    *(
        b"GET /v1/customers/\xc3\xa9/ HTTP/1.1\r\n\r\n",
        b"GET /v1/" + b"x" * 70_000 + b" HTTP/1.1\r\n\r\n",
    ),
    *(LIST + b"\r\nno colon\r\n\r\n", LIST + b"\r\nX: a\x00b\r\n\r\n"),
    *(
        POST + b"\r\nContent-Length: -1\r\n\r\n",
        POST + b"\r\nContent-Length: " + b"9" * 30 + b"\r\n\r\n",
    ),
    POST + b"\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
    POST + b"\r\nTransfer-Encoding: gzip\r\n\r\n",
)


def test_what_makes_no_request_is_400_in_the_form_of_all_errors(sandbox: Sandbox) -> None:
    """HTTP statuses: 400 wrong headers; B-11."""
    for head in NO_REQUESTS:
        with Line(sandbox.url, sandbox.key) as line:
            line.say(head)
            response = line.response()
            assert (response.status, response.code) == (400, "VALIDATION_ERROR"), head[:60]
            assert response.headers["request-id"].encode() in response.body
            assert line.ended()


UPGRADE = (
    b"Connection: Upgrade, HTTP2-Settings",
    b"HTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABk",
    b"Upgrade: h2c",
)
BODIES = (
    AWA,
    AWA.replace(b"awa@", b"ines@"),
    b'{"email": "ama@example.com", "name": "\\nUpgrade: h2c\\r\\n"}',
)


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_a_request_that_asks_for_http_2_keeps_its_body(
    line: Line, size: int, chunked: bool
) -> None:
    """As Java's HttpClient sends it: cut anywhere by the network, pipelined, of any content."""
    sent = b""
    for body in BODIES:
        framing = b"Transfer-Encoding: chunked" if chunked else b"Content-Length: %d" % len(body)
        sent += line.asked(POST, JSON, *UPGRADE, framing)
        sent += b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body) if chunked else body
    for start in range(0, len(sent), size):
        line.say(sent[start : start + size])
    responses = [line.response() for _ in BODIES]
    assert [response.status for response in responses] == [201] * 3
    assert b'"ama@example.com"' in responses[2].body


LOOPS = {"uvloop": "", "asyncio": "import sys; sys.modules['uvloop'] = None\n"}
"""By the name of an event loop a beginning of the server's program that leaves it no other."""


@pytest.mark.parametrize("loop", ["uvloop", pytest.param("asyncio", marks=pytest.mark.long)])
def test_with_few_files_left_a_connection_gets_a_503(loop: str) -> None:
    """With ``ulimit -n 256`` and 600 connections at once none is reset, and those before are
    served.
    """
    serving = "from emulator.cli.main import main; main(sys.argv[1:])"
    code = f"import sys\n{LOOPS[loop]}{serving}"
    limited = ("-c", 'ulimit -n 256; exec "$@"', "sh", sys.executable, "-c", code, "serve")
    with ServerProcess(python="sh", program=limited) as server:
        with ExitStack() as stack:
            lines = [stack.enter_context(Line(server.url, timeout=60)) for _ in range(600)]
            for line in lines[:150]:
                line.request(LIST)
            assert {line.response().status for line in lines[:150]} == {200}
            rejected = [line.response() for line in lines[200:]]
            assert {response.status for response in rejected} == {503}
            message = json.loads(rejected[0].body)["message"]
            assert message == "The server has 192 connections already."
        server.wait()
