"""A scenario in steps, after each of which one server may end and another one start."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from typing import Any

import httpx

from contract_tests.support.sandbox import CARD, RunningServer

KEY = "sk_test_story"


class Teller:
    """Plays the scenario against whatever server there is; ``answers`` are its answers, byte for byte."""

    def __init__(self) -> None:
        self.url = ""
        self.answers: list[bytes] = []
        self._client = httpx.Client(timeout=60, trust_env=False)

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """Return one request, which must succeed."""
        every = {"Authorization": f"Bearer {KEY}", "Host": "127.0.0.1:4747", **headers}
        response = self._client.request(method, self.url + path, json=body, headers=every)
        assert response.is_success, response.text
        # Ids of requests to the service are the world's own, those of control calls are not.
        mine = response.headers["request-id"].encode() if path.startswith("/v1") else b""
        self.answers.append(mine + response.content)
        return json.loads(response.content) if response.content else None

    def close(self) -> None:
        """End its connections."""
        self._client.close()

    def end(self) -> bytes:
        """Return everything the world is, at last."""
        self.ask("POST", "/_emulator/snapshots", {"name": "end"})
        self.ask("GET", "/_emulator/snapshots/end")
        return self.answers[-1]


def steps(player: Teller) -> list[Callable[[], Any]]:
    """Return the scenario: a customer, who is sent twice, a plan, renewals, payments, a refund, and a look back."""
    ask, seen = player.ask, {}

    def first(path: str) -> Any:
        return ask("GET", path)["data"][0]

    def pay() -> None:
        body = {"customer": seen["customer"], **CARD}
        seen["method"] = ask("POST", "/v1/payment-methods/", body, **{"Idempotency-Key": "m"})["id"]
        bill = {"amount": 7000, "currency": "XAF", "payment_method": seen["method"]}
        seen["intent"] = ask("POST", "/v1/payment-intents/", bill)["id"]

    def refund() -> None:
        seen["refund"] = ask("POST", "/v1/refunds/", {"transaction": seen["transaction"], "amount": 500})["id"]

    def customer() -> None:
        body = {"email": "awa@example.com", "name": "Awa Diop", "phone": "+24177000000", "metadata": {"b": 1, "a": 2}}
        seen["customer"] = ask("POST", "/v1/customers/", body, **{"Idempotency-Key": "c"})["id"]

    def subscribe() -> None:
        plan = {"name": "Basic", "amount": 5000, "currency": "XAF", "interval": "month"}
        seen["plan"] = ask("POST", "/v1/subscription-plans/", plan)["id"]
        body = {"customer": seen["customer"], "plan": seen["plan"]}
        seen["subscription"] = ask("POST", "/v1/subscriptions/", body)["id"]

    def confirm() -> None:
        seen["transaction"] = ask("POST", f"/v1/payment-intents/{seen['intent']}/confirm/")["transaction"]

    return [
        lambda: ask("PATCH", "/_emulator/app", {"settings": {"tax_rate": 18}}),
        customer,
        customer,
        subscribe,
        lambda: ask("POST", "/_emulator/snapshots", {"name": "before"}),
        lambda: ask("POST", "/_emulator/clock/advance", {"by": "31d"}),
        pay,
        confirm,
        refund,
        lambda: ask("GET", f"/v1/refunds/{seen['refund']}/"),
        lambda: ask("POST", "/_emulator/clock/advance", {"to": "2026-02-20T12:00:00Z"}),
        lambda: ask("PATCH", f"/v1/customers/{seen['customer']}/", {"phone": "+24177000001"}),
        lambda: ask("POST", "/_emulator/clock/advance", {"until": "next"}),
        lambda: first("/v1/invoices/"),
        lambda: ask("POST", f"/v1/subscriptions/{seen['subscription']}/cancel/", {}),
        lambda: ask("GET", "/_emulator/events?page_size=100"),
        lambda: ask("GET", f"/_emulator/events?object={seen['subscription']}"),
        lambda: ask("POST", "/_emulator/snapshots/before/restore"),
        lambda: ask("POST", "/_emulator/clock/advance", {"by": "31d"}),
        lambda: ask("DELETE", "/_emulator/snapshots/before"),
        lambda: ask("GET", "/_emulator/emails"),
    ]


def played_through(place: str) -> tuple[list[bytes], bytes]:
    """Return the scenario on one server: its answers, and everything the world is in the end."""
    with closing(Teller()) as player, RunningServer("http://127.0.0.1:4747", state=place) as server:
        player.url = server.url
        for step in steps(player):
            step()
        return player.answers, player.end()


def with_restarts(place: str) -> tuple[list[bytes], bytes]:
    """Return the scenario with another server for every step."""
    with closing(Teller()) as player:
        for step in [*steps(player), player.end]:
            with RunningServer("http://127.0.0.1:4747", state=place) as server:
                player.url = server.url
                step()
    return player.answers, player.answers[-1]
