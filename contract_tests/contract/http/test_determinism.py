"""Determinism: with a seed and a frozen clock the same requests give the same bytes (B-93)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from contract_tests.support.client import http_client
from contract_tests.support.receiver import Receiver
from contract_tests.support.sandbox import RunningServer
from emulator.core.event_types import EVENTS

JSON = {"Content-Type": "application/json"}
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
def players(request: pytest.FixtureRequest) -> Iterator[list[Player]]:
    players = [Player(**options) for options in request.param]
    yield players
    for player in players:
        player.close()


def play(player: Player, hook: str) -> None:
    """A long scenario of creations, errors, lists, advances and webhooks in two worlds."""

    def ask(method: str, path: str, body: Any = None, headers: dict[str, str] = SHOP) -> Any:
        return player.ask(method, path, headers, **({} if body is None else {"json": body}))

    ask("GET", "/_emulator/clock")
    ask("POST", "/v1/webhooks/", {"name": "Shop", "url": hook, "events": ["*"]})
    ask("POST", "/v1/webhooks/", {"name": "Shop", "url": "http://127.0.0.1:1/", "events": ["*"]})
    plan = ask("POST", "/v1/subscription-plans/", {"name": "P", "amount": 700, "currency": "XAF", "interval": "week"})
    for number in range(12):
        body = {"email": f"buyer{number}@example.com", "name": f"Awa {number}", "phone": f"+2417700000{number % 10}"}
        customer = ask("POST", "/v1/customers/", body)
        ask("POST", "/v1/customers/", body)
        ask("POST", "/v1/customers/", {"email": 1, "nam": []})
        ask("POST", "/v1/customers/", {"email": f"o{number}@example.com", "name": "O"}, OTHER)
        subscription = ask("POST", "/v1/subscriptions/", {"customer": customer["id"], "plan": plan["id"]})
        ask("GET", f"/v1/subscriptions/{subscription['id']}/")
        ask("GET", f"/v1/customers/cust_{number}/")
        ask("GET", "/v1/customers/", headers={})
        ask("GET", "/nothing")
    player.ask("POST", "/v1/customers/", {**SHOP, **JSON}, content=b"{")
    keyed = {**SHOP, "Idempotency-Key": "k"}
    for _ in range(2):
        ask("POST", "/v1/customers/", {"email": "k@example.com", "name": "K"}, keyed)
    for by in ("1d", "P1M", "1h", "90d"):
        ask("POST", "/_emulator/clock/advance", {"by": by})
    for path in ("customers", "subscriptions", "invoices", "transactions"):
        for query in ("", "?page_size=3&page=2", "?ordering=created_at", "?page=99", "?page=x"):
            ask("GET", f"/v1/{path}/{query}")
    ask("GET", "/_emulator/events?page_size=100")
    for type in EVENTS:
        ask("POST", "/_emulator/trigger", {"event": type})
    ask("POST", "/_emulator/clock/advance", {"by": "1s"})  # the reset would give up what is on its way
    ask("POST", "/v1/reset")
    ask("POST", "/v1/customers/", {"email": "after@example.com", "name": "After"})
    ask("POST", "/_emulator/reset", {"seed": 3, "clock": "frozen@2027-01-01T00:00:00Z"})
    ask("POST", "/_emulator/trigger", {"event": "subscription.created"})


SAME = {"seed": 7}


@pytest.mark.parametrize("players", [[SAME, SAME]], indirect=True)
def test_the_same_requests_give_the_same_bytes(players: list[Player], receiver: Receiver) -> None:
    """Answers whole, and webhooks with their signatures and in their order."""
    answers = []
    for player in players:
        receiver.received.clear()
        play(player, receiver.url)
        answers.append([(item.path, dict(item.headers), item.body) for item in receiver.received])
    first, second = (player.heard for player in players)
    assert len(first) > 100
    assert first == second
    assert len(answers[0]) > 50
    assert answers[0] == answers[1]


@pytest.mark.parametrize("players", [[SAME, {"seed": 8}]], indirect=True)
def test_another_seed_gives_other_ids(players: list[Player]) -> None:
    """So that the test above is not empty."""
    body = {"email": "a@example.com", "name": "A"}
    ids = [player.ask("POST", "/v1/customers/", SHOP, json=body)["id"] for player in players]
    assert ids[0] != ids[1]


@pytest.mark.parametrize("players", [[SAME, SAME]], indirect=True)
def test_what_others_do_changes_nothing(players: list[Player]) -> None:
    """B-01: requests of another App, without a key and to the control API leave a world's bytes alone."""
    for disturbed, player in enumerate(players):
        for number in range(5):
            if disturbed:
                player.http.get("/v1/customers/")
                player.http.get("/nothing")
                player.http.get("/_emulator/clock", headers=SHOP)
                player.http.post("/v1/customers/", headers=OTHER, json={"email": f"{number}@example.com", "name": "A"})
            player.ask("POST", "/v1/customers/", SHOP, json={"email": f"{number}@example.com", "name": "A"})
    assert players[0].heard == players[1].heard


@pytest.mark.parametrize("players", [[SAME]], indirect=True)
def test_a_reset_repeats_the_ids_of_requests_that_reach_no_operation(players: list[Player]) -> None:
    [player] = players
    runs: list[Any] = []
    for _ in range(2):
        player.ask("POST", "/_emulator/reset", SHOP, json={"seed": 42, "clock": "frozen@2028-01-01T00:00:00Z"})
        player.heard.clear()
        for method, path in (("GET", "/v1/nope/"), ("PUT", "/v1/customers/"), ("GET", "/v1/customers")):
            player.ask(method, path, SHOP)
        player.ask("GET", "/v1/customers/", {"Authorization": "Bearer pk_test_shop"})
        player.ask("POST", "/v1/customers/", SHOP, json={"email": "a@example.com", "name": "A"})
        runs.append([*player.heard])
    assert runs[0] == runs[1]
