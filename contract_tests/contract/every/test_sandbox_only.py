"""Routes that only the sandbox has answer ``SANDBOX_ONLY`` to a production key (B-07, B-60); ``POST /reset``."""

from __future__ import annotations

from typing import Any

import pytest

from contract_tests.contract.document.specification import ADDED, table
from contract_tests.support.sandbox import Sandbox


def test_an_added_operation_is_closed_to_production_keys_and_a_documented_one_open(live: Sandbox) -> None:
    """B-07: payment intents are open, for the service names them itself (Refunds, rule 4)."""
    for method, path in table(ADDED):
        if not path.startswith("/payment-intents/"):
            live.api.rejected(method, path.replace("{id}", "x"), 403, "SANDBOX_ONLY")
        elif "{id}" in path:
            live.api.rejected(method, path.replace("{id}", "pi_none"), 404, "PAYMENT_INTENT_NOT_FOUND")
    assert live.api.get("/payment-intents/")["data"] == []
    plan = {"name": "Basic", "amount": 5000, "currency": "XAF", "interval": "month"}
    assert live.api.post("/subscription-plans/", plan)["livemode"] is True


@pytest.mark.parametrize("options", [{"content": b"{"}, {"json": {"x": 1}}, {"params": {"x": "1"}}, {}])
def test_a_production_key_cannot_reset_whatever_it_sends(live: Sandbox, options: dict[str, Any]) -> None:
    """B-07; Authentication rule 3."""
    answer = live.api.rejected("POST", "/reset", 403, "PERMISSION_DENIED", **options)
    assert answer["message"] == "Only a sandbox can be reset; this is a production key."


@pytest.mark.parametrize("path", ["/reset", "/reset/"])
def test_everything_is_gone_and_the_clock_stays(sandbox: Sandbox, path: str) -> None:
    """B-06, B-07. Objects, schedule and events go, and idempotency keys; no id is given twice, and emails are free again."""
    sent: dict[str, Any] = {
        "json": {"email": "awa@example.com", "name": "Awa", "phone": "+24177000000"},
        "headers": {"Idempotency-Key": "k"},
    }
    customer = sandbox.api.request("POST", "/customers/", **sent).json()
    trial = {"customer": customer["id"], "plan": sandbox.plan()["id"], "trial_period_days": 7}
    sandbox.api.post("/subscriptions/", trial)
    sandbox.advance("3d")
    answer = sandbox.api.post(path)
    # customer, payment method, plan, subscription
    assert (answer["deleted"], answer["reset_at"], answer["app"]) == (4, "2026-01-04T00:00:00.000Z", customer["app"])
    for resource in ("customers", "subscription-plans", "subscriptions"):
        assert sandbox.api.get(f"/{resource}/")["pagination"]["count"] == 0
    assert sandbox.events() == []
    clock = sandbox.control.get("/clock")
    assert (clock["now"], clock["pending"], clock["next_due_at"]) == ("2026-01-04T00:00:00.000Z", 0, None)
    assert sandbox.api.request("POST", "/customers/", **sent).json()["id"] != customer["id"]
