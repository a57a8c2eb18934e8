"""Recipes: the requests that the error pages give for a code really lead to that code."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import pytest

from contract_tests.support.client import Client
from contract_tests.support.sandbox import Sandbox
from emulator.core.errors import CODES, ERRORS
from emulator.document.references import filled, value_at
from emulator.engine.reference_data import error_examples

RECIPES = error_examples()

FORCED = {
    *("WEBHOOK_SIGNATURE_INVALID", "TERMINAL_OFFLINE", "RATE_LIMIT_EXCEEDED", "TOO_MANY_REQUESTS"),
    *("INTERNAL_ERROR", "DATABASE_ERROR"),
}
"""Codes that are had by ``Emulator-Answer`` alone: the API has nothing that could bring them about."""

PAYMENT_OUTCOMES = {
    *("INSUFFICIENT_FUNDS", "PAYMENT_METHOD_NOT_SUPPORTED", "MOBILE_MONEY_TIMEOUT", "MOBILE_MONEY_REJECTED"),
    *("MOBILE_MONEY_NUMBER_INVALID", "MOBILE_MONEY_LIMIT_REACHED", "CUSTOMER_BLACKLISTED", "UPSTREAM_ERROR"),
}
"""Codes of a payment that was made and failed: 200 with the canceled intent and its ``last_error`` (B-14)."""


def test_every_code_has_a_recipe_or_a_reason_why_not() -> None:
    assert set(RECIPES) == set(CODES)
    assert {code for code, recipe in RECIPES.items() if not recipe.steps} == FORCED


@pytest.mark.parametrize("code", [code for code, recipe in RECIPES.items() if recipe.steps])
def test_the_recipe_leads_to_its_code(sandbox: Sandbox, code: str) -> None:
    answers: dict[str, Any] = {}

    def fill(value: Any) -> Any:
        return filled(value, lambda path: value_at(answers, path))

    for step in RECIPES[code].steps:
        if step.advance:
            sandbox.advance(step.advance)
            continue
        method, path = fill(step.request).split(" ")
        client = sandbox.control if path.startswith("/_emulator") else sandbox.api
        with closing(
            Client(sandbox.url, client.contract, sandbox.key if step.key is None else step.key or None)
        ) as own:
            inner = path.removeprefix(client.contract.base_path)
            last = own.request(method, inner, json=fill(step.body), headers=step.headers)
        if step.name:
            assert last.is_success, last.text
            answers[step.name] = last.json()
    body = last.json()
    if code in PAYMENT_OUTCOMES and last.status_code == 200:
        assert (body["status"], body["last_error"]["code"]) == ("canceled", code)
    else:
        assert (last.status_code, body.get("error", body)["code"]) == (ERRORS[code].status, code), last.text
