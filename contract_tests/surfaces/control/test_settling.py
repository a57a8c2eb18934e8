"""Settling: what serves a test answers when the webhooks that it caused have their outcome."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Barrier
from typing import Any

import pytest

from contract_tests.support.client import http_client
from contract_tests.support.receiver import Received, Receiver, Reply
from contract_tests.support.sandbox import START, Sandbox

RACING = {"Prefer": "respond-async"}

SOON = 5
"""Seconds: half of what a receiver is waited for, so that less shows that nothing waited in vain."""


def pay(sandbox: Sandbox, **headers: str) -> Any:
    return sandbox.control.post(f"/checkout-sessions/{sandbox.session()['id']}/pay", {}, **headers)


def trigger(sandbox: Sandbox, **headers: str) -> Any:
    return sandbox.control.post("/trigger", {"event": "invoice.paid"}, **headers)


def statuses(sandbox: Sandbox, endpoint: Any) -> set[str]:
    """What became of the deliveries so far; nothing is waited for."""
    path = f"/webhooks/{endpoint['id']}/deliveries/"
    return {each["status"] for each in sandbox.api.pages(path, page_size=100)}


def arrange_fault(sandbox: Sandbox, **headers: str) -> Any:
    """What is arranged is about what comes next: the delivery under way is not met, however slow its receiver."""
    sandbox.customer()
    return sandbox.control.post("/faults", {"then": {"lose": True}}, **headers)


def arrange_outcome(sandbox: Sandbox, **headers: str) -> Any:
    sandbox.customer()
    return sandbox.control.post("/outcomes", {"operation": "delivery", "result": "failed"}, **headers)


def freeze(sandbox: Sandbox) -> Any:
    """What a freeze finds due."""
    sandbox.control.post("/clock/run", {"rate": 1})
    sandbox.customer()
    return sandbox.control.post("/clock/freeze", {})


def advance_by_nothing(sandbox: Sandbox) -> None:
    sandbox.customer()
    answer = sandbox.control.post("/clock/advance", {"by": "0s"})
    assert (answer["from"], answer["now"], answer["jobs"]) == (START, START, 0)


CAUSES = [pay, trigger, arrange_fault, arrange_outcome]


@pytest.mark.parametrize("cause", [*CAUSES, freeze, advance_by_nothing])
def test_what_it_caused_was_delivered(sandbox: Sandbox, receiver: Receiver, cause: Callable[..., Any]) -> None:
    endpoint = sandbox.endpoint(receiver.url)
    cause(sandbox)
    assert statuses(sandbox, endpoint) == {"succeeded"}


@pytest.mark.parametrize("cause", [*CAUSES, lambda sandbox, **_: sandbox.customer()])
def test_who_wants_a_race_says_so(sandbox: Sandbox, receiver: Receiver, cause: Callable[..., Any]) -> None:
    """A request of the application is not held up."""
    endpoint = sandbox.endpoint(receiver.url)
    receiver.reply = lambda received: Reply(held=True)
    cause(sandbox, **RACING)
    assert statuses(sandbox, endpoint) == {"pending"}
    receiver.release()


@pytest.mark.parametrize(
    ("path", "body", "answered"),
    [
        ("/_emulator/clock/advance", {"by": "0s"}, 409),
        ("/v1/webhooks/ENDPOINT/test/", {"event": "invoice.paid"}, 409),
        ("/_emulator/trigger", {"event": "customer.created"}, 200),
    ],
)
def test_what_is_asked_for_from_inside_a_delivery_is_not_waited_for(
    sandbox: Sandbox, receiver: Receiver, path: str, body: Any, answered: int
) -> None:
    """Each would wait for the other until the receiver's time is up: it is rejected or done at once."""
    sandbox.subscribe()
    sandbox.settle()
    endpoint = sandbox.endpoint(receiver.url)
    url = sandbox.url + path.replace("ENDPOINT", endpoint["id"])
    inside: list[tuple[int, Any, float]] = []

    def call_back(received: Received) -> None:
        if not (received.is_ping or inside):
            started = time.perf_counter()
            with http_client(headers={"Authorization": f"Bearer {sandbox.key}"}) as http:
                answer = http.post(url, json=body)
            inside.append((answer.status_code, answer.json(), time.perf_counter() - started))

    receiver.react = call_back
    sandbox.advance("31d")
    status, answer, seconds = inside[0]
    assert (status, seconds < SOON) == (answered, True)
    if answered == 409:
        assert (answer["code"], "whd_" in answer["message"]) == ("INVALID_STATUS_TRANSITION", True)
        assert {event["type"] for event in sandbox.events()}.isdisjoint({"webhook.ping", "webhook.test"})
    assert statuses(sandbox, endpoint) == {"succeeded"}


def test_what_nobody_waits_for_is_sent_side_by_side(sandbox: Sandbox, receiver: Receiver) -> None:
    """B-84: the receiver answers no event of two payments before it has both."""
    sandbox.endpoint(receiver.url, "checkout.session.completed")
    met = Barrier(2, timeout=10)
    receiver.react = lambda received: received.is_ping or met.wait()
    for _ in range(2):
        pay(sandbox, **RACING)
    sandbox.settle()
    assert not met.broken
    assert len(receiver.deliveries) == 2
