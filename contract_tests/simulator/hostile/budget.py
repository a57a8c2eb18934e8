"""The budget played: for each limit, one client sends as much as it allows, another sends more.

Each play sends an amount in the limit's unit and returns the status of the answer, ``closed`` for a
connection that was closed without one, or what else came of it. The table of the guide has limits
and answers from the code, memory and time as they were measured.
"""

from __future__ import annotations

import json
import re
import resource
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, suppress
from typing import Any, NamedTuple
from urllib.parse import urlencode

from contract_tests import ROOT
from contract_tests.contract.http.line import Line
from contract_tests.support.client import http_client
from contract_tests.support.servers import ServerProcess
from contract_tests.surfaces.pages.buyer import Buyer
from emulator.client.webhook_receiver import HttpReceiver, ReceivedRequest, ReceiverReply
from emulator.core import limits
from emulator.core.limits import KIB, MIB, Limit

JSON = b"Content-Type: application/json"
CLOSED = "closed"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
LIST = b"GET /v1/customers/ HTTP/1.1"
CREATE = b"POST /v1/customers/ HTTP/1.1"
CUSTOMERS, PRODUCTS, SNAPSHOT = "/v1/customers/", "/v1/products/", "/_emulator/snapshots/x"
AWA = {"email": "awa@example.com", "name": "Awa Diop"}


class Target:
    """The server that is played, and one of its worlds."""

    def __init__(self, url: str, key: str) -> None:
        self.url, self.key = url, key
        self.http = http_client(base_url=url, headers={"Authorization": f"Bearer {key}"})

    def close(self) -> None:
        self.http.close()

    def line(self) -> Line:
        return Line(self.url, self.key, timeout=120)

    def status(self, method: str, path: str, body: object) -> str:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        return str(self.http.request(method, path, content=content, headers=headers).status_code)

    def post(self, path: str, body: object) -> Any:
        return self.http.post(path, json=body).raise_for_status().json()


Play = Callable[[Target, int], str]


def _said(line: Line) -> str:
    try:
        return str(line.response().status)
    except (AssertionError, ConnectionError):
        return CLOSED


def _raw(target: Target, *parts: bytes) -> str:
    """Return the response to these bytes; the server may close before it has read all."""
    with target.line() as line:
        with suppress(ConnectionError):
            for part in parts:
                line.say(part)
        return _said(line)


def head(target: Target, amount: int) -> str:
    with target.line() as line:
        start = LIST + b"\r\n" + line.polite + b"X: "
    return _raw(target, start, b"x" * (amount - len(start) - 4), b"\r\n\r\n")


def headers(target: Target, amount: int) -> str:
    with target.line() as line:
        return _raw(target, LIST + b"\r\n" + line.polite, b"a: b\r\n" * (amount - 2), b"\r\n")


def chunked(start: bytes, part: Callable[[int], bytes], end: bytes) -> Play:
    head = CREATE + b"\r\n" + JSON + b"\r\nTransfer-Encoding: chunked\r\n\r\n"

    def play(target: Target, amount: int) -> str:
        with target.line() as line:
            return _raw(
                target, head.replace(b"\r\n", b"\r\n" + line.polite, 1), start, part(amount), end
            )

    return play


def posted(path: str, body: Callable[[int], object], method: str = "POST") -> Play:
    return lambda target, amount: target.status(method, path, body(amount))


def pipelined(target: Target, amount: int) -> str:
    """The first request is held for a second, so that the others wait."""
    with target.line() as line:
        line.request(b"GET /_emulator/events?wait=1&type=invoice.paid HTTP/1.1")
        with suppress(ConnectionError):
            for _ in range(amount):
                line.request(b"GET /v1/nowhere HTTP/1.1")
        first, *others = (_said(line) for _ in range(min(amount, limits.PIPELINED.most) + 1))
        return first if set(others) <= {"404"} else CLOSED


def connections(target: Target, amount: int) -> str:
    """Open as many as the limit allows, with ``target``'s; the server closes further ones."""
    with ExitStack() as stack:
        lines = [
            stack.enter_context(target.line())
            for _ in range(min(amount, limits.CONNECTIONS.most) - 1)
        ]
        further = [
            stack.enter_context(target.line()) for _ in range(amount - limits.CONNECTIONS.most)
        ]
        if further:
            return " ".join(set(map(_said, further)))
        lines[-1].request(LIST)
        return _said(lines[-1])


def _slow(target: Target, start: bytes, rest: bytes, *, ever: bool) -> str:
    with target.line() as line:
        line.say(start.replace(b"\r\n", b"\r\n" + line.polite, 1))
        if ever:
            line.say(rest)
        return _said(line)


def slow_head(target: Target, amount: int) -> str:
    return _slow(target, LIST + b"\r\n", b"\r\n", ever=amount <= limits.HEAD_SECONDS.most)


def slow_body(target: Target, amount: int) -> str:
    start = b"POST /v1/reset HTTP/1.1\r\n" + JSON + b"\r\nContent-Length: 2\r\n\r\n{"
    return _slow(target, start, b"}", ever=amount <= limits.BODY_SECONDS.most)


def unread_body(target: Target, amount: int) -> str:
    """A body that nothing reads, and another request after it."""
    with target.line() as line:
        line.request(b"POST /v1/nowhere HTTP/1.1", b"Content-Length: %d" % amount)
        assert _said(line) == "404"
        with suppress(ConnectionError):
            for start in range(0, amount, 65536):
                line.say(b" " * min(65536, amount - start))
            line.request(LIST)
        return _said(line)


def query(target: Target, amount: int) -> str:
    error = target.http.get(f"/v1/customers/?{'x&' * (amount - 1)}x").json()
    return "422 for each" if "errors" in error else f"{error['status']}"


def array(target: Target, amount: int) -> str:
    networks = [f"10.{number // 256}.{number % 256}.0/24" for number in range(amount - 1)]
    profile = {"name": "Office", "allowed_ips": ["127.0.0.1", *networks]}
    status = target.status("POST", "/v1/security-profiles/", profile)
    target.post("/v1/reset", {})
    return status


SESSION = {"currency": "XAF", "line_items": [{"description": "Basket", "unit_amount": 15000}]}


def _noted(metadata: dict[str, str]) -> object:
    return {"name": "Basket", "unit_amount": 2000, "currency": "XAF", "metadata": metadata}


def event(target: Target, amount: int) -> str:
    target.post("/v1/reset", {})
    customer = target.post("/v1/customers/", AWA)["id"]
    line = {"unit_amount": 100, "quantity": 1, "description": "x" * limits.STRING.most}
    invoice = {"customer": customer, "line_items": [line] * limits.ITEMS.most}
    status = target.status("POST", "/v1/invoices/", json.dumps(invoice).encode().ljust(amount))
    newest = target.http.get("/_emulator/events?page_size=1").content
    return f"{status}, of {round(len(newest) / 1024)} KiB" if status == "201" else status


def form(target: Target, amount: int) -> str:
    page = target.post("/v1/checkout-sessions/", SESSION)["url"]
    with Buyer(target.url, "/checkout/" + page.rpartition("/")[2]) as buyer:
        fields = urlencode({**buyer.open().fields, "do": "pay", "number": ""}).encode()
        return str(
            buyer.http.post(
                buyer.path, content=fields.ljust(amount, b"1"), headers=FORM
            ).status_code
        )


def console_form(target: Target, amount: int) -> str:
    content = b"by=1s&_x=".ljust(amount, b"a")
    return str(
        target.http.post(
            "/_emulator/console/do/advance?app=budget", content=content, headers=FORM
        ).status_code
    )


def streams(target: Target, amount: int) -> str:
    """Return the response to the last one."""
    with ExitStack() as stack:
        for _ in range(amount):
            line = stack.enter_context(target.line())
            line.request(b"GET /_emulator/stream HTTP/1.1")
            response = _said(line)
        return response


def polls(target: Target, amount: int) -> str:
    """Return the last one's response. The held ones respond once something happens."""
    target.post("/v1/reset", {})
    with ExitStack() as stack:
        for _ in range(amount):
            line = stack.enter_context(target.line())
            line.request(b"GET /_emulator/events?wait=30&type=customer.created HTTP/1.1")
        if amount <= limits.STREAMS.most:
            target.post("/v1/customers/", AWA)
        return _said(line)


def _inbox(target: Target, amount: int, content: bytes) -> str:
    with target.line() as line:
        for _ in range(amount):
            line.request(
                b"POST /_emulator/inbox/budget HTTP/1.1",
                b"Content-Length: %d" % len(content),
                body=content,
            )
            assert _said(line) == "200"
    return f"{target.http.get('/_emulator/inbox/budget').json()['pagination']['count']} stored"


def _delivery(target: Target, headers: dict[str, str], content: bytes) -> Any:
    replies = [ReceiverReply(200, content, headers), ReceiverReply()]

    def response(request: ReceivedRequest) -> ReceiverReply:
        return replies.pop()

    with HttpReceiver(response) as receiver:
        endpoint = target.post(
            "/v1/webhooks/", {"name": "Shop", "url": f"{receiver.url}/", "events": ["*"]}
        )
        return target.post(f"/v1/webhooks/{endpoint['id']}/test/", {})


def response_body(target: Target, amount: int) -> str:
    return f"{len(_delivery(target, {}, b'x' * amount)['attempts'][-1]['response_body'])} read"


def response_head(target: Target, amount: int) -> str:
    attempt = _delivery(target, {"X": "x" * (amount - 200)}, b"")["attempts"][-1]
    return "an answer" if attempt["status_code"] else "a failure"


def worlds(target: Target, amount: int) -> str:
    """Return whether all used keys' worlds stay open, ``target``'s too; a tick closes others."""
    keys = [b"sk_test_many%d" % number for number in range(amount - 1)]
    for start in range(0, len(keys), 500):
        some = keys[start : start + 500]
        with target.line() as line:
            line.say(
                b"".join(
                    LIST + b"\r\nHost: localhost\r\nAuthorization: Bearer %b\r\n\r\n" % key
                    for key in some
                )
            )
            assert {_said(line) for _ in some} == {"200"}
    while (count := target.http.get("/_emulator/health").json()["apps"]) > limits.WORLDS.most:
        pass
    return "all open" if count >= amount else "no more than the limit"


def snapshots(target: Target, amount: int) -> str:
    """Return the response to the last one."""
    return [
        target.status("POST", "/_emulator/snapshots", {"name": str(number)})
        for number in range(amount)
    ][-1]


class Row(NamedTuple):
    """A row of the budget: its limit, the play, the results of the limit and of ``times`` as much.

    Ten times as many connections are more than a client gets from its system; ten times as many
    worlds take minutes.
    """

    limit: Limit
    play: Play
    within: str
    beyond: str
    input: str = ""
    times: float = 10

    @property
    def name(self) -> str:
        return self.input or self.limit.input


ROWS = (
    Row(limits.HEAD, head, "200", "400"),
    Row(limits.HEADERS, headers, "200", "400"),
    Row(
        limits.FRAMING,
        chunked(b"0\r\n", lambda n: b"X: a\r\n" * ((n - 5) // 6), b"\r\n"),
        "422",
        "400",
        "Trailers",
    ),
    Row(
        limits.FRAMING,
        chunked(b"0\r\nX: ", lambda n: b"a" * (n - 10), b"\r\n\r\n"),
        "422",
        "400",
        "One trailer",
    ),
    Row(
        limits.FRAMING,
        chunked(b"0;", lambda n: b"a" * (n - 6), b"\r\n\r\n"),
        "422",
        "400",
        "Chunk extension",
    ),
    Row(limits.PIPELINED, pipelined, "200", CLOSED),
    Row(limits.CONNECTIONS, connections, "200", "503", times=1.2),
    Row(limits.HEAD_SECONDS, slow_head, "200", "408"),
    Row(limits.BODY_SECONDS, slow_body, "200", "408"),
    Row(limits.BODY, posted(CUSTOMERS, b"{}".ljust), "422", "400"),
    Row(limits.UNREAD_BODY, unread_body, "200", CLOSED),
    Row(limits.DEPTH, posted(CUSTOMERS, lambda n: b'{"a":' * n + b"1" + b"}" * n), "422", "400"),
    Row(limits.DIGITS, posted(CUSTOMERS, lambda n: b'{"a":' + b"9" * n + b"}"), "422", "400"),
    Row(
        limits.VALUES,
        posted(SNAPSHOT, lambda n: b'{"a":[' + b"0," * (n - 3) + b"0]}", "PUT"),
        "422",
        "400",
    ),
    Row(limits.QUERY, query, "422 for each", "422"),
    Row(limits.ITEMS, array, "201", "422"),
    Row(
        limits.STRING,
        posted(
            "/v1/checkout-sessions/",
            lambda n: {**SESSION, "cancel_url": "https://shop.example.com/".ljust(n, "a")},
        ),
        "201",
        "422",
    ),
    Row(
        limits.METADATA,
        posted(PRODUCTS, lambda n: _noted({str(number): "x" for number in range(n)})),
        "201",
        "422",
    ),
    Row(limits.METADATA_KEY, posted(PRODUCTS, lambda n: _noted({"x" * n: "x"})), "201", "422"),
    Row(limits.METADATA_VALUE, posted(PRODUCTS, lambda n: _noted({"x": "x" * n})), "201", "422"),
    Row(limits.BODY, event, "201", "400", "Event, by the request that causes it"),
    Row(limits.FORM, form, "422", "403"),
    Row(limits.CONSOLE_FORM, console_form, "303", "413"),
    Row(limits.STREAMS, streams, "200", "429", "Open streams of a world"),
    Row(limits.STREAMS, polls, "200", "429", "Held polls of a world"),
    Row(
        limits.INBOX_BODY,
        posted("/_emulator/inbox/budget?app=budget", lambda n: b"x" * n),
        "200",
        "400",
    ),
    Row(limits.INBOX, lambda target, n: _inbox(target, n, b""), "1000 stored", "1000 stored"),
    Row(
        limits.INBOX_BYTES,
        lambda target, n: _inbox(target, n // 65536, b"x" * 65536),
        "128 stored",
        "128 stored",
    ),
    Row(limits.RESPONSE_HEAD, response_head, "an answer", "a failure"),
    Row(limits.RESPONSE_BODY, response_body, "4096 read", "4096 read"),
    Row(limits.WORLDS, worlds, "all open", "no more than the limit", times=1.5),
    Row(limits.SNAPSHOT, posted(SNAPSHOT, b"{}".ljust, "PUT"), "422", "400"),
    Row(limits.SNAPSHOTS, snapshots, "201", "422"),
    Row(limits.BODY, posted("/_emulator/reset", b"{}".ljust), "200", "400", "Uploaded fixture"),
)
"""Every row of the table in the guide, in its order."""


# -- the table of the guide


PAGE = ROOT / "docs" / "guide" / "security.md"
START, END = "<!-- budget -->", "<!-- /budget -->"
TITLES = ("Input", "Limit", "Beyond it", "At the limit", "Ten times as much¹")


def allow_open_files(count: int) -> None:
    """Let this process have so many open files, if the system lets it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < count:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(count, hard) if hard >= 0 else count, hard))


def amount(limit: Limit) -> str:
    if limit.unit.startswith("bytes"):
        for size, name in ((MIB, "MiB"), (KIB, "KiB")):
            if limit.most % size == 0:
                return f"{limit.most // size} {name}{limit.unit.removeprefix('bytes')}"
    return f"{limit.most:,} {limit.unit}"


def measured(names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield the cells of all or named rows, with servers of their own: memory is not returned."""
    allow_open_files(10_000)
    for row in [row for row in ROWS if not names or row.name in names]:
        cells = [row.name, amount(row.limit), row.limit.beyond]
        for times, expected in ((1, row.within), (row.times, row.beyond)):
            with ServerProcess() as server:
                cells.append(_cost(server, row, times, expected))
        print(" | ".join(cells), flush=True)
        yield tuple(cells)


def _cost(server: ServerProcess, row: Row, times: float, expected: str) -> str:
    server.wait()
    with closing(Target(server.url, "sk_test_budget")) as target:
        target.http.get("/v1/customers/").raise_for_status()
        target.http.post("/v1/customers/", json={}).close()
        before, started = server.memory(), time.perf_counter()
        server.forget_memory()
        result = row.play(target, int(times * row.limit.most))
        seconds = time.perf_counter() - started
        highest = server.memory("VmHWM")
    assert result.split(",")[0] == expected, f"{row.name}, times {times}: {result}, not {expected}"
    return f"{max(0, highest - before) / MIB:.1f} MiB, {seconds:.2f} s"


def write(rows: Iterable[tuple[str, ...]]) -> None:
    every = {cells[0]: cells for cells in (*read(), *rows)}
    measured = [every[row.name] for row in ROWS if row.name in every]
    lines = [
        "| " + " | ".join(cells) + " |" for cells in (TITLES, ("---",) * len(TITLES), *measured)
    ]
    table = f"{START}\n" + "\n".join(lines) + f"\n{END}"
    text = re.sub(f"{START}.*{END}", lambda _: table, PAGE.read_text("utf-8"), flags=re.DOTALL)
    PAGE.write_text(text, "utf-8")


def read() -> list[list[str]]:
    table = PAGE.read_text("utf-8").partition(START)[2].partition(END)[0].strip()
    return [
        [cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]
    ]
