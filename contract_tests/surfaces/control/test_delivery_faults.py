"""Faults of deliveries, by the control API (B-94)."""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

import pytest

from contract_tests.support.receiver import Receiver
from contract_tests.support.sandbox import Sandbox

undocumented = pytest.mark.breaks_the_document
"""Has the service answer as no document allows."""


class Shop(NamedTuple):
    """An endpoint that hears everything, and its receiver."""

    sandbox: Sandbox
    receiver: Receiver
    endpoint: Any

    def arrange(self, then: Any, **fields: Any) -> None:
        self.sandbox.control.post("/faults", {"then": then, **fields})

    def make(self, count: int) -> list[str]:
        return [self.sandbox.customer()["email"] for _ in range(count)]

    def heard(self, after: str = "1s") -> list[str]:
        """The customers that the receiver has heard of."""
        self.sandbox.advance(after)
        return [event["data"]["object"].get("email") for event in self.receiver.events]

    @property
    def deliveries(self) -> list[Any]:
        return list(self.sandbox.api.pages(f"/webhooks/{self.endpoint['id']}/deliveries/"))[::-1]


@pytest.fixture
def shop(sandbox: Sandbox, receiver: Receiver) -> Shop:
    return Shop(sandbox, receiver, sandbox.endpoint(receiver.url))


def test_a_delivery_is_duplicated_or_comes_again_under_its_own_or_another_event_id(
    shop: Shop,
) -> None:
    for then, after, copies, ids in (
        ({"duplicate": 2}, "1s", 3, 1),
        ({"reissue": True}, "1s", 2, 2),
        ({"again": "36h"}, "36h", 2, 1),
    ):
        shop.arrange(then)
        first, second = shop.make(2)
        assert shop.heard(after).count(first) == copies
        assert shop.heard().count(second) == 1
        events = {
            event["id"]
            for event in shop.receiver.events
            if event["data"]["object"]["email"] == first
        }
        assert len(events) == ids
        assert events <= {event["id"] for event in shop.sandbox.events()}
    assert all(item.signed_with(shop.endpoint["secret"]) for item in shop.receiver.received)
    assert {delivery["status"] for delivery in shop.deliveries} == {"succeeded"}


def test_a_delayed_delivery_is_attempted_later(shop: Shop) -> None:
    shop.arrange({"delay": "PT90S"})
    first, second = shop.make(2)
    assert shop.heard() == [second]
    waiting = shop.deliveries[0]
    assert (waiting["status"], waiting["next_attempt_at"]) == (
        "pending",
        "2026-01-01T00:01:30.000Z",
    )
    assert shop.heard("89s") == [second, first]


def test_a_delivery_out_of_order_lets_the_next_one_pass(shop: Shop) -> None:
    """It waits for a next one, and is not overtaken twice."""
    shop.arrange({"reorder": True}, times=2)
    (first,) = shop.make(1)
    assert (shop.heard(), shop.deliveries[0]["status"]) == ([], "pending")
    second, third = shop.make(2)
    assert shop.heard() == [second, first, third]


def test_the_service_does_not_know_of_a_lost_delivery(shop: Shop) -> None:
    shop.arrange({"lose": True}, match={"event": "customer.created", "nth": 2})
    first, second, third = shop.make(3)
    assert shop.heard() == [first, third]
    lost = shop.deliveries[1]
    assert (lost["status"], "lost" in lost["attempts"][0]["error"]) == ("succeeded", True)
    assert shop.heard("2d") == [first, third]
    emails = [event["data"]["object"]["email"] for event in shop.sandbox.events()]
    assert emails == [first, second, third]


def test_a_delivery_with_a_late_response_has_failed(shop: Shop) -> None:
    """Delivery rule 2: although the receiver has it. No wait here."""
    shop.arrange({"late_response": True}, match={"nth": 2})
    first, second = shop.make(2)
    assert shop.heard() == [first, second]
    late = shop.deliveries[1]
    assert (late["status"], late["attempts"][0]["status_code"]) == ("pending", None)
    assert "answered too late" in late["attempts"][0]["error"]
    assert shop.heard("2d") == [first, second, second]


@undocumented
@pytest.mark.parametrize("then", ["tamper", "forge"])
def test_a_tampered_delivery_does_not_fit_its_signature(shop: Shop, then: str) -> None:
    """Delivery rule 1. A forged one is a copy that comes first; the audit knows who accepted it."""
    shop.arrange({then: True})
    shop.make(2)
    shop.sandbox.settle()
    forged, *genuine = shop.receiver.deliveries
    assert (forged.signed_with(shop.endpoint["secret"]), forged.event["tampered"]) == (False, True)
    assert [item.signed_with(shop.endpoint["secret"]) for item in genuine] == [True] * (
        1 if then == "tamper" else 2
    )
    assert (forged.event["id"] == genuine[0].event["id"]) is (then == "forge")
    assert [delivery["status"] for delivery in shop.deliveries] == ["succeeded"] * 2
    [finding] = [
        finding
        for finding in shop.sandbox.control.get("/audit")["findings"]
        if finding["severity"] == "error"
    ]
    assert (finding["rule"], finding["count"]) == ("forged-webhook-believed", 1)


def test_only_what_matches_is_struck(shop: Shop) -> None:
    """By event and webhook; requests do not meet faults of deliveries, nor the other way round."""
    second = shop.sandbox.endpoint(shop.receiver.url)
    shop.arrange(
        {"lose": True}, match={"webhook": second["id"], "event": "customer.deleted"}, probability=1
    )
    shop.arrange({"code": "DATABASE_ERROR"}, match={"method": "PATCH"})
    shop.sandbox.api.delete(f"/customers/{shop.sandbox.customer()['id']}/")
    shop.sandbox.settle()
    created, deleted = "customer.created", "customer.deleted"
    assert sorted(event["type"] for event in shop.receiver.events) == [created, created, deleted]
    assert shop.sandbox.control.get("/faults")["pagination"]["count"] == 2


@pytest.mark.parametrize(
    "then",
    [
        {"duplicate": 1, "together": True},
        {"overlap": "next"},
        {"overlap": True},
        {"overlap": "same_type"},
    ],
    ids=str,
)
def test_two_deliveries_arrive_at_the_same_moment(shop: Shop, then: Any) -> None:
    """The receiver waits for both; an event between two of the same type has gone ahead."""
    met = threading.Barrier(2, timeout=10)
    shop.receiver.react = lambda received: (
        received.event["type"] == "customer.created" and met.wait()
    )
    shop.arrange(then, match={"event": "customer.created"})
    customer = shop.sandbox.customer()
    if then == {"overlap": "same_type"}:
        shop.sandbox.api.patch(f"/customers/{customer['id']}/", {"name": "Ben Ndong"})
    second = customer["email"] if "duplicate" in then else shop.make(1)[0]
    assert sorted(shop.heard()[-2:]) == sorted([customer["email"], second])
    assert {delivery["status"] for delivery in shop.deliveries} == {"succeeded"}
