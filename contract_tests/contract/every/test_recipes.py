"""Recipes: the requests that the error pages give for a code really lead to that code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import httpx
import pytest

from contract_tests.support.client import Client
from contract_tests.support.sandbox import Sandbox
from emulator.core.errors import CODES, ERRORS
from emulator.document.references import filled, value_at
from emulator.engine.reference_data import Step, error_examples

RECIPES = error_examples()


def test_every_code_has_a_recipe_or_a_reason_why_not() -> None:
    """What has no steps is had by ``Emulator-Answer`` alone: the API has nothing that could bring it about."""
    assert set(RECIPES) == set(CODES)
    assert {code for code, recipe in RECIPES.items() if not recipe.steps} == {
        "WEBHOOK_SIGNATURE_INVALID",
        "TERMINAL_OFFLINE",
        "RATE_LIMIT_EXCEEDED",
        "TOO_MANY_REQUESTS",
        "INTERNAL_ERROR",
        "DATABASE_ERROR",
    }


@pytest.mark.parametrize("code", [code for code, recipe in RECIPES.items() if recipe.steps])
def test_the_recipe_leads_to_its_code(sandbox: Sandbox, code: str) -> None:
    player = Player(sandbox)
    player.play_all(RECIPES[code].steps)
    assert player.last is not None
    body = player.last.json()
    error = body.get("error", body)
    if code in PAYMENT_OUTCOMES and player.last.status_code == 200:
        assert (body["status"], body["last_error"]["code"]) == ("canceled", code)
    else:
        assert (player.last.status_code, error["code"]) == (ERRORS[code].status, code), player.last.text


PAYMENT_OUTCOMES = {
    *("INSUFFICIENT_FUNDS", "PAYMENT_METHOD_NOT_SUPPORTED", "MOBILE_MONEY_TIMEOUT", "MOBILE_MONEY_REJECTED"),
    *("MOBILE_MONEY_NUMBER_INVALID", "MOBILE_MONEY_LIMIT_REACHED", "CUSTOMER_BLACKLISTED", "UPSTREAM_ERROR"),
}
"""Codes of a payment that was made and failed: 200 with the canceled intent and its ``last_error`` (B-14)."""


class Player:
    """Plays steps against a world, putting what earlier answers said into later requests."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox = sandbox
        self.answers: dict[str, Any] = {}
        self.last: httpx.Response | None = None

    def play_all(self, steps: Sequence[Step]) -> None:
        for step in steps:
            self.play(step)

    def play(self, step: Step) -> None:
        if step.advance:
            self.sandbox.advance(step.advance)
            return
        method, path = self.fill(step.request).split(" ")
        client, inner = self.client(path)
        if step.key is not None:
            client = Client(self.sandbox.url, client.contract, step.key or None)
        self.last = response = client.request(method, inner, json=self.fill(step.body), headers=step.headers)
        if step.key is not None:
            client.close()
        if step.name:
            assert response.is_success, response.text
            self.answers[step.name] = response.json()

    def client(self, path: str) -> tuple[Client, str]:
        if path.startswith("/_emulator"):
            return self.sandbox.control, path.removeprefix("/_emulator")
        return self.sandbox.api, path.removeprefix("/v1")

    def fill(self, value: Any) -> Any:
        return filled(value, lambda path: value_at(self.answers, path))
