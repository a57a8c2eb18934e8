"""No state without an end: from each something that is planned, or something that a client can do, leads on.

Where neither does, a sentence of the assumptions says why.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from contract_tests.support.sandbox import Sandbox
from emulator.resources.registry import STATE_MACHINES

PLANNED = "planned"
WAYS: Mapping[tuple[str, str], str] = {
    ("subscription", "trialing"): PLANNED,
    ("subscription", "active"): PLANNED,
    ("subscription", "past_due"): "/subscriptions/{id}/cancel/",
    ("subscription", "unpaid"): "/subscriptions/{id}/cancel/",
    ("subscription", "paused"): "/subscriptions/{id}/resume/",
    ("subscription", "canceled"): "/subscriptions/{id}/reactivate/",
    ("invoice", "draft"): "/invoices/{id}/finalize/",
    ("invoice", "open"): "/invoices/{id}/void/",
    ("invoice", "uncollectible"): "/invoices/{id}/pay/",
    ("payment_intent", "requires_payment_method"): "/payment-intents/{id}/cancel/",
    ("payment_intent", "requires_confirmation"): "/payment-intents/{id}/cancel/",
    ("payment_intent", "requires_action"): PLANNED,
    ("payment_intent", "processing"): "/payment-intents/{id}/cancel/",
    ("payment_intent", "requires_capture"): "/payment-intents/{id}/cancel/",
    ("payment_method", "active"): PLANNED,
    ("transaction", "pending"): "/transactions/{id}/cancel/",
    ("transaction", "approved"): PLANNED,
    ("transaction", "completed"): "B-57: it is refunded, which is an object of its own",
    ("transaction", "disputed"): "B-56: until a refund under way makes it fully refunded or it is set directly",
    ("refund", "pending"): PLANNED,
    ("refund", "processing"): PLANNED,
    ("checkout_session", "open"): PLANNED,
    ("checkout_session", "processing"): PLANNED,
    ("checkout_session", "payment_failed"): PLANNED,
    ("payment_link", "active"): "/payment-links/{id}/archive/",
    ("payment_link", "archived"): "/payment-links/{id}/restore/",
    ("webhook_delivery", "pending"): PLANNED,
    ("webhook_delivery", "failed"): "/webhooks/{webhook}/deliveries/{id}/retry/",
}
"""The way out of each state that is left at all, by the kind of object."""


def test_each_state_that_can_be_left_is_listed() -> None:
    rows = [(machine.kind.kind, row) for machine in STATE_MACHINES for row in machine.rows]
    left = {(kind, row.source) for kind, row in rows if row.source not in (None, row.target)}
    assert left == WAYS.keys()


def delivery(sandbox: Sandbox) -> Any:
    endpoint = sandbox.endpoint(f"{sandbox.url}/_emulator/inbox/ways", "customer.created")
    sandbox.customer()
    return sandbox.deliveries(endpoint)[0]


MADE: Mapping[str, Callable[[Sandbox], Any]] = {
    "subscription": Sandbox.subscribe,
    "invoice": Sandbox.draft,
    "payment_intent": lambda sandbox: sandbox.intent(sandbox.method()),
    "payment_method": Sandbox.method,
    "transaction": Sandbox.deposit,
    "refund": lambda sandbox: sandbox.api.post("/refunds/", {"transaction": sandbox.deposit()["id"]}),
    "checkout_session": Sandbox.session,
    "payment_link": Sandbox.link,
    "webhook_delivery": delivery,
}


@pytest.mark.parametrize(("kind", "status"), WAYS, ids=str)
def test_each_state_has_a_way_out(sandbox: Sandbox, kind: str, status: str) -> None:
    """Also where a tester put the object into it (B-89)."""
    made, way = MADE[kind](sandbox), WAYS[kind, status]
    sandbox.settle()
    sandbox.control.patch(f"/objects/{made['id']}", {"status": status})
    if way == PLANNED:
        planned = [job["due_at"] for job in sandbox.control.get("/schedule")["data"] if job["object"] == made["id"]]
        sandbox.advance_to(max(planned, default=sandbox.now))
    elif way.startswith("/"):
        sandbox.api.post(way.format(**made))
    if way == PLANNED or way.startswith("/"):
        assert sandbox.control.get(f"/objects/{made['id']}")["status"] != status or kind == "subscription"
    else:
        assert way.startswith("B-")


def test_nothing_under_way_waits_for_good(sandbox: Sandbox) -> None:
    """As buyers leave it: every payment that waits has an end that is planned, whatever it is made with."""
    methods: list[Any] = [
        {"type": "mobile_money", "phone": "+24177000003"},
        {"type": "mobile_money", "phone": "+24177000006"},
        {"type": "bank_card", "number": "4000 0000 0000 3220", "exp_month": 12, "exp_year": 2030, "cvc": "123"},
        {"type": "bank_transfer", "iban": "FR14 2004 1010 0505 0001 3M02 606"},
    ]
    trial = {"interval": "month", "trial_period_days": 7}
    for method in methods:
        buyer = {"customer": sandbox.customer()["id"]}
        for fields in (
            {},
            {"mode": "setup"},
            {"mode": "subscription"},
            {"mode": "subscription", "subscription_data": trial},
        ):
            sandbox.buy(sandbox.session(**buyer, **fields), method)
        sandbox.buy(sandbox.link(collect_customer_info=False), method)
    sandbox.advance("P1Y")
    waiting = sandbox.api.get("/payment-intents/", status="requires_action,processing")["data"]
    sessions = sandbox.api.get("/checkout-sessions/", status="open,processing,payment_failed")["data"]
    assert waiting == sessions == []
