"""``payments.sweep(story)``: shops that are each wrong in one way about webhooks, and one that is not."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from itertools import count
from typing import Any

import pytest

from emulator.testing import Emulator

EMAIL = "awa@example.com"


@pytest.fixture
def payments() -> Iterator[Emulator]:
    with Emulator(clock="2026-01-01T00:00:00Z", seed=7) as emulator:
        yield emulator


class Shop:
    """Sells one basket and learns by webhook that it is paid; what it does right is in its parts."""

    remembers, compares_times, reconciles = True, True, True

    def __init__(self, payments: Emulator) -> None:
        self.payments = payments
        self.shipped = 0
        self.refunded = False
        self.handled: set[str] = set()
        payments.webhooks.forward_to(self)

    def sell(self) -> None:
        body = {
            "mode": "payment",
            "currency": "XAF",
            "success_url": "https://shop.example.com/thanks",
            "customer_email": EMAIL,
            "line_items": [{"description": "Basket", "unit_amount": 2000, "quantity": 1}],
        }
        self.session = self.payments.client.post("/v1/checkout-sessions/", json=body).json()["id"]
        self.payments.pay(self.session)

    def __call__(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        event = json.loads(environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])))
        if not self.remembers or event["id"] not in self.handled:
            self.handled.add(event["id"])
            if event["type"] == "checkout.session.completed":
                self.shipped += 1
        start("200 OK", [])
        return [b""]

    def at_night(self) -> None:
        """A daily job: what was paid and not shipped is shipped."""
        session = self.payments.client.get(f"/v1/checkout-sessions/{self.session}/").json()
        if self.reconciles and session["status"] == "complete" and not self.shipped:
            self.shipped = 1


class Forgetful(Shop):
    remembers = False


class Trusting(Shop):
    reconciles = False


def story(kind: type[Shop]) -> Callable[[Emulator], Callable[[], int]]:
    def play(payments: Emulator) -> Callable[[], int]:
        shop = kind(payments)
        shop.sell()

        def shipped() -> int:
            shop.at_night()
            return shop.shipped

        return shipped

    return play


def deliveries_only(payments: Emulator, kind: type[Shop]) -> str:
    """The findings about deliveries of the one event that the shop reacts to."""
    with pytest.raises(AssertionError) as found:
        payments.sweep(story(kind))
    return str(found.value)


def test_a_shop_that_remembers_and_reconciles_survives_every_webhook_fault(payments: Emulator) -> None:
    cases = [f"{number}:{kind}" for number in (1, 2, 3) for kind in ("lost", "late", "twice", "swapped")]
    report = payments.sweep(story(Shop), only=cases)
    assert (report.runs, report.findings, report.unreached) == (14, [], [])


def test_a_shop_that_forgets_what_it_handled_ships_twice(payments: Emulator) -> None:
    text = deliveries_only(payments, Forgetful)
    assert "checkout.session.completed: delivered twice\n    the story's check returns 2 instead of 1" in text
    assert "never delivered" not in text


def test_a_shop_that_never_asks_misses_a_lost_webhook(payments: Emulator) -> None:
    text = deliveries_only(payments, Trusting)
    assert "checkout.session.completed: never delivered\n    the story's check returns 0 instead of 1" in text
    assert "delivered twice" not in text


def test_the_swept_world_is_not_the_test_s_own(payments: Emulator) -> None:
    payments.client.post("/v1/customers/", json={"email": EMAIL, "name": "Awa Diop"})
    payments.sweep(story(Shop), only=["1:late"])
    assert payments.client.get("/v1/customers/").json()["pagination"]["count"] == 1


def test_a_story_with_two_ends_is_not_swept(payments: Emulator) -> None:
    plays = count()

    def play(payments: Emulator) -> None:
        for number in range(1 + next(plays) % 2):
            payments.client.post("/v1/customers/", json={"email": f"{number}@example.com", "name": "Awa Diop"})

    with pytest.raises(AssertionError, match=r"does not end the same twice.*\n.*2 customers active instead of 1"):
        payments.sweep(play)
