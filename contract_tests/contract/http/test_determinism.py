"""Determinism: seed, frozen clock, equal requests: equal bytes (B-93), in any steps of time."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contract_tests.simulator.population import STARTS, Walker
from contract_tests.support.client import http_client
from contract_tests.support.receiver import Receiver
from contract_tests.support.sandbox import RunningServer
from emulator.core.event_types import EVENTS
from emulator.testing import Emulator, LocalServer

SHOP, OTHER = ({"Authorization": f"Bearer sk_test_{name}"} for name in ("shop", "other"))


class Player:
    """Plays requests against one server and stores every byte of the responses, headers included.

    All servers are called by the same name and say that they are reached there, so that not even a
    port differs.
    """

    def __init__(self, **options: Any) -> None:
        self.server = RunningServer(public_url="http://localhost", **options)
        self.http = http_client(base_url=self.server.url, headers={"Host": "localhost"})
        self.heard: list[tuple[int, list[tuple[str, str]], bytes]] = []

    def ask(self, method: str, path: str, headers: dict[str, str], **options: Any) -> Any:
        response = self.http.request(method, path, headers=headers, **options)
        self.heard.append((response.status_code, response.headers.multi_items(), response.content))
        return response.json()

    def close(self) -> None:
        self.http.close()
        self.server.stop()


def play(player: Player, hook: str) -> None:
    """Creations, errors, lists, advances, webhooks and every event, in two worlds."""

    def ask(method: str, path: str, body: Any = None, headers: dict[str, str] = SHOP) -> Any:
        return player.ask(method, path, headers, **({} if body is None else {"json": body}))

    for url in (hook, "http://127.0.0.1:1/"):
        ask("POST", "/v1/webhooks/", {"name": "Shop", "url": url, "events": ["*"]})
    for number in range(5):
        body = {
            "email": f"buyer{number}@example.com",
            "name": f"Awa {number}",
            "phone": f"+2417700000{number}",
        }
        customer = ask("POST", "/v1/customers/", body, SHOP | {"Idempotency-Key": f"key {number}"})[
            "id"
        ]
        ask("POST", "/v1/customers/", body, SHOP | {"Idempotency-Key": f"key {number // 2}"})
        ask("POST", "/v1/customers/", {"email": 1, "nam": []})
        ask("POST", "/v1/customers/", {"email": f"o{number}@example.com", "name": "O"}, OTHER)
        ask(
            "POST",
            "/v1/subscriptions/",
            {"customer": customer, "unit_amount": 700, "interval": "week"},
        )
        ask("GET", "/v1/customers/", headers={})
        ask("GET", "/nothing")
        ask("POST", "/_emulator/clock/advance", {"by": "9d"})
    for path in ("customers", "subscriptions", "invoices", "transactions"):
        for query in ("", "?page_size=3&page=2", "?ordering=created_at", "?page=99", "?page=x"):
            ask("GET", f"/v1/{path}/{query}")
    ask("GET", "/_emulator/events?page_size=100")
    for type in EVENTS:
        ask("POST", "/_emulator/trigger", {"event": type})
    ask(
        "POST", "/_emulator/clock/advance", {"by": "1s"}
    )  # the reset would give up what is on its way
    ask("POST", "/v1/reset")
    ask("POST", "/_emulator/reset", {"seed": 3, "clock": "frozen@2027-01-01T00:00:00Z"})
    ask("POST", "/_emulator/trigger", {"event": "subscription.created"})


def test_the_same_requests_give_the_same_bytes(receiver: Receiver) -> None:
    """Whole responses, and webhooks with signatures and order. Another seed changes them."""
    heard, deliveries, ids = [], [], []
    for seed in (7, 7, 8):
        with closing(Player(seed=seed)) as player:
            ids.append(
                player.ask(
                    "POST", "/v1/customers/", OTHER, json={"email": "a@example.com", "name": "A"}
                )["id"]
            )
            if seed == 7:
                receiver.received.clear()
                play(player, receiver.url)
                heard.append(player.heard)
                deliveries.append(
                    [(item.path, dict(item.headers), item.body) for item in receiver.received]
                )
    assert len(heard[0]) > 80
    assert heard[0] == heard[1]
    assert len(deliveries[0]) > 50
    assert deliveries[0] == deliveries[1]
    assert ids[0] == ids[1] != ids[2]


# -- a world ends alike after a few long steps of its clock and after many short ones


ACTS = 150
"""Of clients, buyers and testers, within two years."""


@pytest.fixture(scope="module")
def local_server() -> Iterator[LocalServer]:
    server = LocalServer()
    yield server
    server.stop()


def walked(server: LocalServer, seed: int, pieces: random.Random | None) -> Any:
    """Return all that is in a world whose clock was moved to each act at once, or in pieces."""
    chance, now = random.Random(seed), datetime.fromisoformat(STARTS[seed % len(STARTS)])
    with Emulator(key="sk_test_steps", clock=now.isoformat(), seed=seed, server=server) as emulator:
        walker = Walker(emulator, seed)
        for _ in range(ACTS):
            span = timedelta(days=round(chance.expovariate(ACTS / 730), 4))
            parts = sorted(pieces.random() for _ in range(pieces.randrange(12))) if pieces else []
            for part in (*parts, 1):
                moved = emulator.api.post(
                    "/_emulator/clock/advance", {"to": (now + span * part).isoformat()}
                )
                assert moved["failures"] == []
            now += span
            assert walker.act() is None
        emulator.api.post("/_emulator/snapshots", {"name": "end"})
        return emulator.api.get("/_emulator/snapshots/end")


@pytest.mark.long
@settings(max_examples=4, deadline=None)
@given(seed=st.integers(0, 10**6), other=st.integers(0, 10**6))
def test_random_steps_end_as_one_step_does(
    local_server: LocalServer, seed: int, other: int
) -> None:
    """B-91: jobs run at their own time, so it does not matter where an advance stops."""
    assert walked(local_server, seed, random.Random(other)) == walked(local_server, seed, None)
