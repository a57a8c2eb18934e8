"""Advances and the receivers they wait for: slow, failing, or calling back in the middle."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

import pytest

from contract_tests.support.receiver import Received, Receiver
from contract_tests.support.sandbox import START, Sandbox


class Gate:
    """Makes the receiver's caller wait, once it has come, until it is opened."""

    def __init__(self, receiver: Receiver) -> None:
        self.reached, self._open = threading.Event(), threading.Event()
        receiver.react = self.pass_through

    def pass_through(self, received: Received) -> None:
        self.reached.set()
        assert self._open.wait(30)

    def open(self) -> None:
        self._open.set()


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor() as pool:
        yield pool


def attempts(sandbox: Sandbox, endpoint: Any) -> list[list[tuple[str, int | None]]]:
    """Return the attempts of an endpoint's deliveries and their outcomes, oldest delivery first."""
    newest_first = sandbox.api.get(f"/webhooks/{endpoint['id']}/deliveries/")["data"]
    return [
        [(attempt["at"], attempt["status_code"]) for attempt in item["attempts"]]
        for item in reversed(newest_first)
    ]


def test_an_advance_waits_for_what_is_under_way(
    sandbox: Sandbox, other_world: Sandbox, receiver: Receiver, pool: ThreadPoolExecutor
) -> None:
    """Nothing else waits. It is not counted: a receiver's speed is chance, responses not (B-93)."""
    endpoint = sandbox.endpoint(receiver.url, "customer.created")
    gate = Gate(receiver)
    sandbox.customer()
    assert gate.reached.wait(10)
    advance = pool.submit(sandbox.advance, "1d")
    other_world.customer()
    assert other_world.advance("2d")["now"] == "2026-01-03T00:00:00.000Z"
    assert sandbox.customer()["created_at"] == START
    assert not advance.done()
    gate.open()
    assert advance.result(20)["deliveries"] == {"succeeded": 0, "failed": 0}
    assert attempts(sandbox, endpoint) == [[(START, 200)]] * 2


def test_a_name_server_that_does_not_answer_holds_up_no_other_delivery(
    sandbox: Sandbox,
    other_world: Sandbox,
    receiver: Receiver,
    pool: ThreadPoolExecutor,
    unanswered: threading.Event,
) -> None:
    """Nor work in threads, such as PDFs, and not even another delivery of the same world."""
    invoice = other_world.invoice()["id"]
    hosts = [f"https://{number}.unanswered.example" for number in range(20)]
    registered = [pool.submit(sandbox.endpoint, host) for host in hosts]
    for world in (sandbox, other_world):
        world.endpoint(receiver.url.replace("127.0.0.1", "localhost"))
        world.customer()
        assert world.advance("1s")["deliveries"]["failed"] == 0
    assert other_world.api.request("GET", f"/invoices/{invoice}/pdf/").content.startswith(b"%PDF")
    assert not any(look_up.done() for look_up in registered)
    unanswered.set()
    for look_up in registered:
        assert isinstance(look_up.exception(), Exception)


def test_a_receiver_may_call_back_in_the_middle_of_an_advance(
    sandbox: Sandbox, receiver: Receiver
) -> None:
    """It sees the world at the event's instant. Its requests join the advance, maybe its stop."""
    sandbox.endpoint(receiver.url, "subscription.trial_will_end")
    customer = sandbox.customer()
    body = {
        "customer": customer["id"],
        "unit_amount": 500,
        "interval": "day",
        "trial_period_days": 10,
    }
    sandbox.api.post("/subscriptions/", body)
    made: list[Any] = []
    receiver.react = lambda received: made.append(sandbox.customer())
    response = sandbox.control.post("/clock/advance", {"until_event": "customer.created"})
    assert response["now"] == "2026-01-08T00:00:00.000Z"
    assert [object["created_at"] for object in made] == ["2026-01-08T00:00:00.000Z"]
    assert response["events"] == {"subscription.trial_will_end": 1, "customer.created": 1}


def test_a_client_that_leaves_does_not_stop_its_advance(
    sandbox: Sandbox, receiver: Receiver
) -> None:
    """It is done to its end, and the next one is not held up for ever."""
    sandbox.invoice(due_date="2026-01-02")
    sandbox.endpoint(receiver.url, "invoice.payment_overdue")
    gate = Gate(receiver)
    address = urlsplit(sandbox.url)
    request = (
        f"POST /_emulator/clock/advance HTTP/1.1\r\nHost: {address.netloc}\r\nAuthorization: Bearer"
        f' {sandbox.key}\r\nContent-Type: application/json\r\nContent-Length: 13\r\n\r\n{{"by":'
        ' "10d"}'
    )
    with socket.create_connection((address.hostname or "", address.port or 0)) as client:
        client.sendall(request.encode())
        assert gate.reached.wait(30)
    gate.open()
    assert sandbox.advance("1d")["now"] == "2026-01-12T00:00:00.000Z"
