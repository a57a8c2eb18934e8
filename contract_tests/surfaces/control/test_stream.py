"""The stream: what happens in a world, sent while it happens."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, Self
from urllib.parse import urlsplit

import httpx
import pytest

from contract_tests.support.contract import Contract
from contract_tests.support.receiver import Receiver, Reply
from contract_tests.support.sandbox import RunningServer, Sandbox
from emulator.web import context
from emulator.web.context import PIECE


class Stream:
    """A reader of a stream: its messages, one after the other."""

    def __init__(self, response: httpx.Response) -> None:
        self.response = response
        self._lines = response.iter_lines()
        assert next(self._lines).startswith(":")

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        """Yield the kind and the data of each message; comments are for the line alone."""
        fields: dict[str, str] = {}
        for line in self._lines:
            if line and not line.startswith(":"):
                name, _, value = line.partition(": ")
                fields[name] = value
            elif fields:
                assert list(fields) == ["id", "event", "data"]
                yield fields["event"], json.loads(fields["data"])
                fields = {}

    def until(self, enough: Callable[[str, Any], bool]) -> list[tuple[str, Any]]:
        heard = []
        for message in self:
            heard.append(message)
            if enough(*message):
                break
        return heard


@contextmanager
def listening(sandbox: Sandbox, **query: str) -> Iterator[Stream]:
    """A reader who has been let in."""
    http = sandbox.control.http
    with httpx.stream(
        "GET", f"{http.base_url}stream", params=query, headers=http.headers, timeout=60, trust_env=False
    ) as response:
        assert (response.status_code, response.headers["cache-control"]) == (200, "no-store")
        yield Stream(response)


def test_everything_that_happens_is_streamed_as_the_lists_show_it(sandbox: Sandbox, receiver: Receiver) -> None:
    endpoint = sandbox.endpoint(receiver.url)
    with listening(sandbox) as stream:
        sandbox.subscribe()
        sandbox.settle()
        heard = stream.until(lambda kind, data: kind == "clock")
    streamed = {
        kind: [data for each, data in heard if each == kind] for kind in ("event", "delivery", "email", "request")
    }
    assert streamed["event"] == sandbox.events()
    assert streamed["delivery"] == sandbox.deliveries(endpoint)
    assert {each["webhook"] for each in streamed["delivery"]} == {endpoint["id"]}
    assert streamed["email"] == sandbox.control.get("/emails")["data"][::-1]
    journal = {row["id"]: row for row in sandbox.control.get("/requests")["data"]}
    listed = [journal[each["id"]] for each in streamed["request"]]
    assert [{**each, "seconds_ago": 0} for each in listed] == [
        {**each, "seconds_ago": 0} for each in streamed["request"]
    ]
    assert streamed["request"][-1]["operation"] == "createSubscription"
    assert heard[-1] == ("clock", sandbox.control.get("/clock"))


def test_only_what_was_asked_for_is_sent(sandbox: Sandbox) -> None:
    """The clock after each change."""
    with listening(sandbox, types="event,clock") as stream:
        sandbox.subscribe()
        sandbox.control.post("/clock/run", {"rate": 60})
        sandbox.control.post("/clock/freeze")
        sandbox.control.post("/clock/advance", {"by": "1d"})
        heard = stream.until(lambda kind, data: kind == "clock" and data["now"] >= "2026-01-02T00:00:00.000Z")
    assert {kind for kind, _ in heard} == {"event", "clock"}
    assert [data["mode"] for kind, data in heard if kind == "clock"] == ["running", "frozen", "frozen"]
    for wrong in ("", "news", "event,", "event,news"):
        sandbox.control.rejected("GET", "/stream", 422, "INVALID_FILTER_PARAM", params={"types": wrong})


def test_a_reset_is_announced_whatever_was_asked_for(sandbox: Sandbox) -> None:
    sandbox.control.post("/snapshots", {"name": "here"})
    with listening(sandbox, types="event") as stream:
        sandbox.control.post("/snapshots/here/restore")
        sandbox.customer()
        sandbox.control.post("/rewind", {"steps": 1})
        sandbox.api.post("/reset")
        heard = stream.until(lambda kind, data: data.get("cause") == "reset")
    streamed = [data["cause"] if kind == "reset" else data["type"] for kind, data in heard]
    assert streamed == ["restore", "customer.created", "rewind", "reset"]


def test_a_delivery_is_streamed_when_an_attempt_has_ended_or_none_will_be_made(
    sandbox: Sandbox, receiver: Receiver
) -> None:
    """Not when it is only planned, as one that is retried manually."""
    endpoint = sandbox.endpoint(receiver.url)
    receiver.reply = lambda _: Reply(500)
    sandbox.customer()
    sandbox.settle()
    [delivery] = sandbox.deliveries(endpoint)
    with listening(sandbox) as stream:
        path = f"/webhooks/{endpoint['id']}"
        sandbox.api.post(f"{path}/disable/")
        sandbox.advance("1d")
        sandbox.api.post(f"{path}/enable/")
        sandbox.api.post(f"{path}/deliveries/{delivery['id']}/retry/")
        heard = stream.until(lambda kind, data: kind == "delivery" and data["attempt_count"] == 2)
    streamed = [(data["id"], data["status"], data["attempt_count"]) for kind, data in heard if kind == "delivery"]
    assert streamed == [(delivery["id"], "failed", 1), (delivery["id"], "failed", 2)]


def test_other_worlds_are_not_streamed(sandbox: Sandbox, other_world: Sandbox) -> None:
    """B-01. A browser names the world in the address: EventSource sends no header of its own."""
    name = sandbox.key.removeprefix("sk_test_")
    with httpx.stream("GET", f"{sandbox.url}/_emulator/stream?app={name}", timeout=60, trust_env=False) as response:
        stream = Stream(response)
        assert response.headers["content-type"] == "text/event-stream"
        other_world.customer()
        sandbox.control.post("/clock/freeze")
        assert [kind for kind, _ in stream.until(lambda kind, data: kind == "clock")] == ["clock"]


def test_a_reader_that_falls_behind_loses_the_oldest_messages_and_gets_a_notice(sandbox: Sandbox) -> None:
    """No request waits for it, and it learns how much it missed."""
    sandbox.subscribe(plan=sandbox.plan(interval="day")["id"])
    with SlowReader(sandbox) as reader:
        counts = sandbox.advance("P4Y")["events"]
        last = sandbox.control.get("/events", page_size=1)["data"][0]["id"]
        heard, lost = reader.counts_until(last)
    assert lost > 0
    assert heard + lost == sum(counts.values())


def test_streams_that_have_much_to_send_let_others_run_after_each_piece() -> None:
    """However many there are, and whoever reads fast."""
    log: list[int] = []
    streams = 5

    async def parts() -> AsyncGenerator[bytes, None]:
        yield b": from now on\n\n"
        yield bytes(10 * PIECE)

    async def send(message: Any) -> None:
        log.append(len(message.get("body", b"")))

    async def receive() -> Any:
        await asyncio.Event().wait()

    async def others() -> None:
        while True:
            log.append(0)
            await asyncio.sleep(0)

    async def run() -> None:
        working = asyncio.create_task(others())
        stream = context.Stream(parts, asyncio.Event(), "text/event-stream", asyncio.Lock())
        await asyncio.gather(*(context.send_stream(stream, None, receive, send) for _ in range(streams)))
        working.cancel()

    asyncio.run(run())
    assert log.count(PIECE) == 10 * streams
    pieces = [at for at, size in enumerate(log) if size == PIECE][streams:]
    assert all(0 in log[at:after] for at, after in pairwise(pieces))


class SlowReader:
    """One who opens the stream and does not read, until it is asked what it heard."""

    def __init__(self, sandbox: Sandbox) -> None:
        parts = urlsplit(sandbox.url)
        self._socket = socket.socket()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self._socket.settimeout(60)
        self._socket.connect((parts.hostname, parts.port))
        head = f"GET /_emulator/stream?types=event HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {sandbox.key}"
        self._socket.sendall(f"{head}\r\n\r\n".encode())
        self._heard = self._socket.makefile("rb")
        assert self._heard.readline() == b"HTTP/1.1 200 OK\r\n"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self._heard.close()
        self._socket.close()

    def counts_until(self, id: str) -> tuple[int, int]:
        heard = lost = 0
        sent = (json.loads(line[6:]) for line in self._heard if line.startswith(b"data: "))
        for data in sent:
            if data.get("cause") == "lost":
                lost += data["lost"]
                continue
            heard += 1
            if data["id"] == id:
                break
        return heard, lost


@pytest.mark.parametrize("end", ["stop", "discard"])
def test_a_stream_ends_with_its_world_and_with_the_server(
    end: str, service_contract: Contract, control_contract: Contract
) -> None:
    """At once: neither waits for its readers, nor for one that does not read."""
    server = RunningServer()
    sandbox = Sandbox(server.url, "sk_test_ending", service_contract, control_contract)
    with listening(sandbox) as stream:
        if end == "discard":
            server.server.discard(sandbox.key)
        else:
            threading.Thread(target=server.stop).start()
        assert list(stream) == []
    sandbox.close()
    server.stop()


def test_events_are_listed_newest_first_and_by_type_and_object(sandbox: Sandbox) -> None:
    first, second = sandbox.customer(), sandbox.customer()
    body = {"customer": first["id"], "unit_amount": 500, "interval": "week"}
    subscription = sandbox.api.post("/subscriptions/", body)

    def listed(**query: object) -> list[str]:
        return [event["data"]["object"]["id"] for event in sandbox.control.get("/events", **query)["data"]]

    assert listed() == [subscription["id"], second["id"], first["id"]]
    assert listed(type="customer.created") == [second["id"], first["id"]]
    assert listed(object=first["id"]) == [first["id"]]
    assert listed(type="subscription.created", object=first["id"]) == []
    assert listed(page=2, page_size=1) == [second["id"]]
    assert listed(page=9**9) == []
