"""Determinism: with a seed and a frozen clock the same requests give the same bytes (B-93)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from typing import Any

import pytest

from contract_tests.support.client import http_client
from contract_tests.support.receiver import Receiver
from contract_tests.support.sandbox import RunningServer
from emulator.core.event_types import EVENTS

SHOP, OTHER = ({"Authorization": f"Bearer sk_test_{name}"} for name in ("shop", "other"))


class Player:
    """Plays requests against one server and stores every byte of the answers, headers included.

    All servers are called by the same name and say that they are reached there, so that not even a port differs.
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


@pytest.fixture
def start() -> Iterator[Callable[..., Player]]:
    """Starts a server with a seed."""
    with ExitStack() as stack:

        def player(seed: int = 7) -> Player:
            return stack.enter_context(closing(Player(seed=seed)))

        yield player


def play(player: Player, hook: str) -> None:
    """Creations, errors, lists, advances, webhooks and every event, in two worlds."""

    def ask(method: str, path: str, body: Any = None, headers: dict[str, str] = SHOP) -> Any:
        return player.ask(method, path, headers, **({} if body is None else {"json": body}))

    for url in (hook, "http://127.0.0.1:1/"):
        ask("POST", "/v1/webhooks/", {"name": "Shop", "url": url, "events": ["*"]})
    for number in range(5):
        body = {"email": f"buyer{number}@example.com", "name": f"Awa {number}", "phone": f"+2417700000{number}"}
        customer = ask("POST", "/v1/customers/", body, SHOP | {"Idempotency-Key": f"key {number}"})["id"]
        ask("POST", "/v1/customers/", body, SHOP | {"Idempotency-Key": f"key {number // 2}"})
        ask("POST", "/v1/customers/", {"email": 1, "nam": []})
        ask("POST", "/v1/customers/", {"email": f"o{number}@example.com", "name": "O"}, OTHER)
        ask("POST", "/v1/subscriptions/", {"customer": customer, "unit_amount": 700, "interval": "week"})
        ask("GET", "/v1/customers/", headers={})
        ask("GET", "/nothing")
        ask("POST", "/_emulator/clock/advance", {"by": "9d"})
    for path in ("customers", "subscriptions", "invoices", "transactions"):
        for query in ("", "?page_size=3&page=2", "?ordering=created_at", "?page=99", "?page=x"):
            ask("GET", f"/v1/{path}/{query}")
    ask("GET", "/_emulator/events?page_size=100")
    for type in EVENTS:
        ask("POST", "/_emulator/trigger", {"event": type})
    ask("POST", "/_emulator/clock/advance", {"by": "1s"})  # the reset would give up what is on its way
    ask("POST", "/v1/reset")
    ask("POST", "/_emulator/reset", {"seed": 3, "clock": "frozen@2027-01-01T00:00:00Z"})
    ask("POST", "/_emulator/trigger", {"event": "subscription.created"})


def test_the_same_requests_give_the_same_bytes(start: Callable[..., Player], receiver: Receiver) -> None:
    """Answers whole, and webhooks with their signatures and in their order. With another seed they differ."""
    players, deliveries = [start(), start()], []
    for player in players:
        receiver.received.clear()
        play(player, receiver.url)
        deliveries.append([(item.path, dict(item.headers), item.body) for item in receiver.received])
    assert len(players[0].heard) > 80
    assert players[0].heard == players[1].heard
    assert len(deliveries[0]) > 50
    assert deliveries[0] == deliveries[1]
    body = {"email": "a@example.com", "name": "A"}
    ids = [start(seed).ask("POST", "/v1/customers/", SHOP, json=body)["id"] for seed in (7, 8)]
    assert ids[0] != ids[1]
