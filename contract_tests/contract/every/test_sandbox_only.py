"""Routes that only the sandbox has answer ``SANDBOX_ONLY`` to a production key (B-07, B-60)."""

from __future__ import annotations

from typing import Any

import pytest

from contract_tests.contract.document.specification import ADDED, table
from contract_tests.support.sandbox import Sandbox

SANDBOX_ONLY = [(method, path) for method, path in table(ADDED) if not path.startswith("/payment-intents/")]


@pytest.mark.parametrize(("method", "path"), SANDBOX_ONLY)
def test_an_added_operation_is_closed_to_production_keys(live: Sandbox, method: str, path: str) -> None:
    live.api.rejected(method, path.replace("{id}", "x"), 403, "SANDBOX_ONLY")


@pytest.mark.parametrize("action", ["", "confirm/", "capture/", "cancel/"])
def test_payment_intents_are_open_to_them(live: Sandbox, action: str) -> None:
    """B-07: the service names them itself (Refunds, rule 4)."""
    method = "POST" if action else "GET"
    live.api.rejected(method, f"/payment-intents/pi_none/{action}", 404, "PAYMENT_INTENT_NOT_FOUND")
    assert live.api.get("/payment-intents/")["data"] == []


@pytest.mark.parametrize("options", [{"content": b"{"}, {"json": {"x": 1}}, {"params": {"x": "1"}}, {}])
def test_a_production_key_cannot_reset_whatever_it_sends(live: Sandbox, options: dict[str, Any]) -> None:
    """B-07; Authentication rule 3."""
    answer = live.api.rejected("POST", "/reset", 403, "PERMISSION_DENIED", **options)
    assert answer["message"] == "Only a sandbox can be reset; this is a production key."


def test_a_documented_operation_is_open_to_them(live: Sandbox) -> None:
    plan = {"name": "Basic", "amount": 5000, "currency": "XAF", "interval": "month"}
    assert live.api.post("/subscription-plans/", plan)["livemode"] is True


# -- POST /reset: a sandbox loses all its data, its settings and its clock stay (B-07)


@pytest.mark.parametrize("path", ["/reset", "/reset/"])
def test_everything_is_gone_and_the_clock_stays(sandbox: Sandbox, path: str) -> None:
    """Both spellings (B-06). Objects, schedule and events go."""
    customer = sandbox.customer(phone="+24177000000")
    sandbox.api.post("/subscriptions/", {"customer": customer["id"], "plan": sandbox.plan()["id"]})
    sandbox.advance("3d")
    answer = sandbox.api.post(path)
    # customer, method, plan, subscription, invoice, payment intent, transaction, receipt
    assert answer["deleted"] == 8
    assert answer["reset_at"] == "2026-01-04T00:00:00.000Z"
    assert answer["app"] == customer["app"]
    for resource in ("customers", "subscription-plans", "subscriptions", "invoices", "transactions"):
        assert sandbox.api.get(f"/{resource}/")["pagination"]["count"] == 0
    assert sandbox.events() == []
    clock = sandbox.control.get("/clock")
    assert (clock["now"], clock["pending"], clock["next_due_at"]) == ("2026-01-04T00:00:00.000Z", 0, None)


def test_the_world_goes_on_after_it(sandbox: Sandbox) -> None:
    """Ids are not given twice, and a freed email may be used again."""
    before = sandbox.customer()
    sandbox.api.post("/reset")
    after = sandbox.customer()
    assert before["email"] == after["email"]
    assert before["id"] != after["id"]


def test_an_idempotency_key_is_forgotten(sandbox: Sandbox) -> None:
    body = {"email": "a@example.com", "name": "A"}
    first = sandbox.api.request("POST", "/customers/", json=body, headers={"Idempotency-Key": "k"})
    sandbox.api.post("/reset")
    second = sandbox.api.request("POST", "/customers/", json=body, headers={"Idempotency-Key": "k"})
    assert first.json()["id"] != second.json()["id"]
