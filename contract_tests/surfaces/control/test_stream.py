"""The stream: what happens in a world, sent while it happens; and the events, listed and waited for."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from contract_tests.support.client import http_client
from contract_tests.support.receiver import Receiver
from contract_tests.support.sandbox import RunningServer, Sandbox


class Stream:
    """A reader of a stream: its messages, one after the other."""

    def __init__(self, response: httpx.Response) -> None:
        assert (response.status_code, response.headers["cache-control"]) == (200, "no-store")
        assert response.headers["content-type"] == "text/event-stream"
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
    """A reader who has been let in; it names its world in the address, for EventSource sends no header of its own."""
    query |= {"app": sandbox.key.removeprefix("sk_test_")}
    url = f"{sandbox.url}/_emulator/stream"
    with http_client() as http, http.stream("GET", url, params=query) as response:
        yield Stream(response)


def undated(rows: list[Any]) -> list[Any]:
    """The rows of the journal but for how long ago they were, which changes by itself."""
    return [{**row, "seconds_ago": 0} for row in rows]


def test_everything_that_happens_is_streamed_as_the_lists_show_it(
    sandbox: Sandbox, other_world: Sandbox, receiver: Receiver
) -> None:
    """Of this world alone (B-01)."""
    endpoint = sandbox.endpoint(receiver.url)
    with listening(sandbox) as stream:
        other_world.customer()
        sandbox.subscribe()
        sandbox.settle()
        heard = stream.until(lambda kind, data: kind == "clock")
    kinds = ("event", "delivery", "email", "request")
    streamed = {kind: [data for each, data in heard if each == kind] for kind in kinds}
    assert streamed["event"] == sandbox.events()
    assert streamed["delivery"] == sandbox.deliveries(endpoint)
    assert streamed["email"] == sandbox.control.get("/emails")["data"][::-1]
    journal = {row["id"]: row for row in sandbox.control.get("/requests")["data"]}
    assert undated([journal[each["id"]] for each in streamed["request"]]) == undated(streamed["request"])
    assert streamed["request"][-1]["operation"] == "createSubscription"
    assert heard[-1] == ("clock", sandbox.control.get("/clock"))


def test_only_what_was_asked_for_is_sent_and_a_reset_in_any_case(sandbox: Sandbox) -> None:
    """The clock after each change."""
    sandbox.control.post("/snapshots", {"name": "here"})
    with listening(sandbox, types="event,clock") as stream:
        sandbox.customer()
        sandbox.control.post("/clock/run", {"rate": 60})
        sandbox.control.post("/clock/freeze")
        sandbox.control.post("/rewind", {"steps": 1})
        sandbox.control.post("/snapshots/here/restore")
        sandbox.api.post("/reset")
        heard = stream.until(lambda kind, data: data.get("cause") == "reset")
    said = [data.get("type") or data.get("cause") or data["mode"] for _, data in heard]
    assert said[:3] == ["customer.created", "running", "frozen"]
    assert [data["cause"] for kind, data in heard if kind == "reset"] == ["rewind", "restore", "reset"]
    assert {kind for kind, _ in heard} == {"event", "clock", "reset"}
    for wrong in ("", "news", "event,", "event,news"):
        sandbox.control.rejected("GET", "/stream", 422, "INVALID_FILTER_PARAM", params={"types": wrong})


def test_a_stream_ends_with_its_world(sandbox: Sandbox, server: RunningServer) -> None:
    with listening(sandbox) as stream:
        server.server.discard(sandbox.key)
        assert list(stream) == []


def test_events_are_listed_newest_first_and_by_type_and_object(sandbox: Sandbox) -> None:
    first, second = sandbox.customer(), sandbox.customer()
    sandbox.api.delete(f"/customers/{first['id']}/")

    def listed(**query: object) -> list[str]:
        return [event["data"]["object"]["id"] for event in sandbox.control.get("/events", **query)["data"]]

    assert listed() == [first["id"], second["id"], first["id"]]
    assert listed(type="customer.created") == [second["id"], first["id"]]
    assert listed(type="customer.deleted", object=second["id"]) == []
    assert listed(object=second["id"]) == listed(page=2, page_size=1) == [second["id"]]
    assert listed(page=9**9) == []


@pytest.mark.parametrize(("path", "what"), [("/events", {"type": "invoice.paid"}), ("/emails", {"kind": "receipt"})])
def test_waiting_ends_with_what_was_waited_for(sandbox: Sandbox, path: str, what: Any) -> None:
    """Others do not end it; it is over at once where there is one, and in vain after its time."""
    assert sandbox.control.get(path, **what, wait=0)["data"] == []
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(sandbox.control.get, path, **what, wait=30)
        customer = sandbox.customer(phone="+24177000000")
        assert not waiting.done()
        sandbox.api.post("/subscriptions/", {"customer": customer["id"], "unit_amount": 500, "interval": "week"})
        (found,) = waiting.result(timeout=60)["data"]
    assert sandbox.control.get(path, **what, wait=30)["data"] == [found]
