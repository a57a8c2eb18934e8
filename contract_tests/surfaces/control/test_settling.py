"""Settling: what serves a test answers when the webhooks and emails that it caused have their outcome."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from contract_tests.support.client import http_client
from contract_tests.support.receiver import Received, Receiver, Reply
from contract_tests.support.sandbox import START, Sandbox
from emulator.engine import outbox
from emulator.testing import Emulator

PHONE = {"type": "mobile_money", "phone": "+24177123456"}

RACING = {"Prefer": "respond-async"}

SOON = 5
"""Seconds: half of what a receiver is waited for, so that less shows that nothing waited in vain."""


def pay(sandbox: Sandbox, **headers: str) -> Any:
    return sandbox.control.post(f"/checkout-sessions/{sandbox.session()['id']}/pay", {"method": PHONE}, **headers)


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


every_cause = pytest.mark.parametrize("cause", [pay, trigger, arrange_fault, arrange_outcome])


@every_cause
def test_what_it_caused_was_delivered(sandbox: Sandbox, receiver: Receiver, cause: Callable[..., Any]) -> None:
    endpoint = sandbox.endpoint(receiver.url)
    cause(sandbox)
    assert statuses(sandbox, endpoint) == {"succeeded"}


@every_cause
def test_who_wants_a_race_says_so(sandbox: Sandbox, receiver: Receiver, cause: Callable[..., Any]) -> None:
    endpoint = sandbox.endpoint(receiver.url)
    receiver.reply = lambda received: Reply(held=True)
    cause(sandbox, **RACING)
    assert statuses(sandbox, endpoint) == {"pending"}
    receiver.release()


def test_what_a_freeze_finds_due_was_delivered(sandbox: Sandbox, receiver: Receiver) -> None:
    endpoint = sandbox.endpoint(receiver.url)
    sandbox.control.post("/clock/run", {"rate": 1})
    sandbox.customer()
    sandbox.control.post("/clock/freeze", {})
    assert statuses(sandbox, endpoint) == {"succeeded"}


def test_a_restored_world_delivers_what_was_under_way(sandbox: Sandbox, receiver: Receiver) -> None:
    endpoint = sandbox.endpoint(receiver.url)
    receiver.reply = lambda received: Reply(held=True)
    sandbox.customer()
    sandbox.control.post("/snapshots", {"name": "under-way"})
    receiver.release()
    receiver.reply = lambda received: Reply(200)
    sandbox.control.post("/snapshots/under-way/restore")
    assert statuses(sandbox, endpoint) == {"succeeded"}


def test_a_request_of_the_application_is_not_held_up(sandbox: Sandbox, receiver: Receiver) -> None:
    endpoint = sandbox.endpoint(receiver.url)
    receiver.reply = lambda received: Reply(held=True)
    sandbox.customer()
    assert statuses(sandbox, endpoint) == {"pending"}
    receiver.release()


@pytest.mark.parametrize("by", ["0s", "PT0S", "P0D"])
def test_an_advance_of_nothing_settles(sandbox: Sandbox, receiver: Receiver, by: str) -> None:
    endpoint = sandbox.endpoint(receiver.url)
    sandbox.customer()
    answer = sandbox.control.post("/clock/advance", {"by": by})
    assert (answer["from"], answer["now"], answer["jobs"]) == (START, START, 0)
    assert statuses(sandbox, endpoint) == {"succeeded"}


def test_an_advance_of_nothing_looks_for_no_event(sandbox: Sandbox) -> None:
    body = {"until_event": "invoice.paid", "by": "0s"}
    sandbox.control.rejected("POST", "/clock/advance", 422, "INVALID_FIELD", json=body)


class Inside:
    """A receiver that calls back while it handles its first delivery."""

    def __init__(self, receiver: Receiver, url: str, key: str, path: str, body: Any) -> None:
        self.answers: list[tuple[int, Any, float]] = []
        self._call = (url + path, key, body)
        receiver.react = self._react

    def _react(self, received: Received) -> None:
        if received.is_ping or self.answers:
            return
        url, key, body = self._call
        started = time.perf_counter()
        with http_client(headers={"Authorization": f"Bearer {key}"}) as http:
            answer = http.post(url, json=body)
        self.answers.append((answer.status_code, answer.json(), time.perf_counter() - started))


def test_an_advance_from_inside_a_delivery_is_rejected_at_once(sandbox: Sandbox, receiver: Receiver) -> None:
    """Each would wait for the other until the receiver's time is up."""
    sandbox.subscribe()
    endpoint = sandbox.endpoint(receiver.url)
    inside = Inside(receiver, sandbox.url, sandbox.key, "/_emulator/clock/advance", {"by": "0s"})
    sandbox.advance("31d")
    (status, answer, seconds) = inside.answers[0]
    assert (status, answer["code"], seconds < SOON) == (409, "INVALID_STATUS_TRANSITION", True)
    assert "whd_" in answer["message"]
    assert statuses(sandbox, endpoint) == {"succeeded"}


def test_a_test_delivery_from_inside_a_delivery_is_rejected_at_once(sandbox: Sandbox, receiver: Receiver) -> None:
    endpoint = sandbox.endpoint(receiver.url)
    path = f"/v1/webhooks/{endpoint['id']}/test/"
    inside = Inside(receiver, sandbox.url, sandbox.key, path, {"event": "invoice.paid"})
    trigger(sandbox)
    (status, answer, seconds) = inside.answers[0]
    assert (status, answer["code"], seconds < SOON) == (409, "INVALID_STATUS_TRANSITION", True)
    assert sandbox.events()[-1]["type"] != "webhook.ping"
    assert statuses(sandbox, endpoint) == {"succeeded"}


def test_a_trigger_from_inside_a_delivery_is_done_and_not_waited_for(sandbox: Sandbox, receiver: Receiver) -> None:
    endpoint = sandbox.endpoint(receiver.url)
    inside = Inside(receiver, sandbox.url, sandbox.key, "/_emulator/trigger", {"event": "customer.created"})
    trigger(sandbox)
    (status, _, seconds) = inside.answers[0]
    assert (status, seconds < SOON) == (200, True)
    assert statuses(sandbox, endpoint) == {"succeeded"}


def test_an_advance_beside_another_waits_for_it(
    sandbox: Sandbox, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both are asked for from outside; receivers that answer delay no one."""
    monkeypatch.setattr(outbox, "GRACE", 60)  # on a busy machine the receiver may take longer than usual
    sandbox.subscribe()
    sandbox.endpoint(receiver.url)
    with ThreadPoolExecutor() as pool:
        asked: list[Future[Any]] = [
            pool.submit(sandbox.control.post, "/clock/advance", {"by": "31d"}) for _ in range(3)
        ]
        assert [each.result()["failures"] for each in asked] == [[], [], []]
    assert sandbox.now == "2026-04-04T00:00:00.000Z"


def test_the_clock_reports_its_lag(sandbox: Sandbox) -> None:
    sandbox.subscribe()
    assert sandbox.control.get("/clock")["lag"] == 0


def test_the_helper_settles() -> None:
    """The most natural test: pay, then look."""
    with Emulator() as emulator:
        emulator.webhooks.listen()
        session = emulator.api.post(
            "/v1/checkout-sessions/",
            {
                "success_url": "https://shop.example/",
                "currency": "XAF",
                "line_items": [{"description": "Tea", "unit_amount": 500, "quantity": 1}],
            },
        )
        emulator.pay(session)
        assert "checkout.session.completed" in {each.event["type"] for each in emulator.webhooks.deliveries}
        emulator.api.post("/v1/customers/", {"email": "awa@example.com", "name": "Awa Diop"})
        emulator.settle()
        assert "customer.created" in {each.event["type"] for each in emulator.webhooks.deliveries}


def test_the_helper_can_race() -> None:
    with Emulator() as emulator:
        assert emulator.trigger("invoice.paid", wait=False)["type"] == "invoice.paid"
