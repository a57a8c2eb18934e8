"""Routes that only the sandbox has answer ``SANDBOX_ONLY`` to a production key (B-07, B-60)."""

from __future__ import annotations

from typing import Any

import pytest

from contract_tests.contract.document.specification import ADDED, table
from contract_tests.support.client import Client
from contract_tests.support.sandbox import Sandbox

SANDBOX_ONLY = [(method, path) for method, path in table(ADDED) if not path.startswith("/payment-intents/")]


@pytest.mark.parametrize(("method", "path"), SANDBOX_ONLY)
def test_an_added_operation_is_closed_to_production_keys(sandbox: Sandbox, method: str, path: str) -> None:
    live = Client(sandbox.url, sandbox.api.contract, sandbox.key.replace("sk_test_", "sk_prod_"))
    live.rejected(method, path.replace("{id}", "x"), 403, "SANDBOX_ONLY")
    live.close()


@pytest.mark.parametrize("action", ["", "confirm/", "capture/", "cancel/"])
def test_payment_intents_are_open_to_them(sandbox: Sandbox, action: str) -> None:
    """B-07: the service names them itself (Refunds, rule 4)."""
    live = Client(sandbox.url, sandbox.api.contract, sandbox.key.replace("sk_test_", "sk_prod_"))
    method = "POST" if action else "GET"
    live.rejected(method, f"/payment-intents/pi_none/{action}", 404, "PAYMENT_INTENT_NOT_FOUND")
    assert live.get("/payment-intents/")["data"] == []
    live.close()


@pytest.mark.parametrize("options", [{"content": b"{"}, {"json": {"x": 1}}, {"params": {"x": "1"}}, {}])
def test_a_production_key_cannot_reset_whatever_it_sends(sandbox: Sandbox, options: dict[str, Any]) -> None:
    """B-07."""
    live = Client(sandbox.url, sandbox.api.contract, sandbox.key.replace("sk_test_", "sk_prod_"))
    live.rejected("POST", "/reset", 403, "PERMISSION_DENIED", **options)
    live.close()


def test_a_documented_operation_is_open_to_them(sandbox: Sandbox) -> None:
    live = Client(sandbox.url, sandbox.api.contract, sandbox.key.replace("sk_test_", "sk_prod_"))
    plan = {"name": "Basic", "amount": 5000, "currency": "XAF", "interval": "month"}
    assert live.post("/subscription-plans/", plan)["livemode"] is True
    live.close()
