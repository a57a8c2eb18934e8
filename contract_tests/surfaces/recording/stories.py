"""Stories that together bring objects to every state of every life cycle."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from contract_tests.support.sandbox import FAILING_PHONE, Sandbox

Story = Callable[[Sandbox], object]

BANK_TRANSFER = {"type": "bank_transfer", "iban": "FR7630006000011234567890189"}


def subscriptions(sandbox: Sandbox) -> None:
    sandbox.subscribe()
    sandbox.subscribe(trial_period_days=10)
    paused, canceled = sandbox.subscribe(), sandbox.subscribe()
    sandbox.api.post(f"/subscriptions/{paused['id']}/pause/")
    sandbox.api.post(f"/subscriptions/{canceled['id']}/cancel/")


def past_due(sandbox: Sandbox) -> None:
    subscription = sandbox.subscribe()
    sandbox.api.patch(f"/customers/{subscription['customer']}/", {"phone": FAILING_PHONE})
    sandbox.advance("32d")


def unpaid(sandbox: Sandbox) -> None:
    past_due(sandbox)
    sandbox.advance("30d")


def expired(sandbox: Sandbox) -> None:
    sandbox.subscribe(ends_at="2026-01-20T00:00:00Z")
    sandbox.method(exp_month=2, exp_year=2026)
    sandbox.session()
    sandbox.advance("70d")


def invoices(sandbox: Sandbox) -> None:
    customer = sandbox.customer()["id"]
    lines = {"line_items": [{"description": "Basket", "quantity": 1, "unit_amount": 2000}]}
    ids = [sandbox.api.post("/invoices/", {"customer": customer, "currency": "XAF", **lines})["id"] for _ in range(4)]
    for id in ids[1:]:
        sandbox.api.post(f"/invoices/{id}/finalize/")
    sandbox.api.post(f"/invoices/{ids[2]}/void/")
    sandbox.buy(sandbox.api.get(f"/invoices/{ids[3]}/"))


def intents(sandbox: Sandbox) -> None:
    method = sandbox.method()
    sandbox.intent()
    sandbox.intent(method)
    sandbox.pay(method)
    sandbox.pay(method, capture_method="manual")
    sandbox.pay(sandbox.method(number="4000000000003220"))
    sandbox.pay(sandbox.method(number="4000000000009995"))
    sandbox.api.post(f"/payment-intents/{sandbox.intent(method)['id']}/cancel/")


def transfers(sandbox: Sandbox) -> None:
    sandbox.buy(sandbox.session(), BANK_TRANSFER)
    waiting, failing, _ = [sandbox.pay(sandbox.method(**BANK_TRANSFER)) for _ in range(3)]
    sandbox.api.post(f"/payment-intents/{waiting['id']}/cancel/")
    sandbox.control.post(f"/payment-intents/{failing['id']}/answer", {"result": "failed"})


def transactions(sandbox: Sandbox) -> None:
    sandbox.pay(sandbox.method(number="4000000000000077"))
    sandbox.pay(sandbox.method(number="4000000000000259"))
    sandbox.advance("1h")
    sandbox.api.post("/refunds/", {"transaction": sandbox.deposit()["id"]})
    sandbox.advance("12d")
    sandbox.pay(sandbox.method(number="4000000000000077"))


def refunds(sandbox: Sandbox) -> None:
    for result in ("succeeded", "failed"):
        refund = sandbox.api.post("/refunds/", {"transaction": sandbox.deposit()["id"]})
        sandbox.control.post(f"/refunds/{refund['id']}/answer", {"result": result})
    sandbox.api.post("/refunds/", {"transaction": sandbox.deposit()["id"]})


def reviewed_refunds(sandbox: Sandbox) -> None:
    sandbox.settings(refund_review=True)
    ids = [sandbox.api.post("/refunds/", {"transaction": sandbox.deposit()["id"]})["id"] for _ in range(2)]
    sandbox.api.post(f"/refunds/{ids[1]}/cancel/")


def expired_refund(sandbox: Sandbox) -> None:
    paid = sandbox.deposit(sandbox.method(type="mobile_money", phone="+24177000009"))
    sandbox.api.post("/refunds/", {"transaction": paid["id"]})
    sandbox.advance("30d")


def checkouts(sandbox: Sandbox) -> None:
    sandbox.session()
    sandbox.buy(sandbox.session())
    sandbox.buy(sandbox.session(), {"type": "mobile_money", "phone": FAILING_PHONE})
    archived = sandbox.link()
    sandbox.link()
    sandbox.api.post(f"/payment-links/{archived['id']}/archive/")


def webhooks(sandbox: Sandbox) -> None:
    sandbox.endpoint(f"{sandbox.url}/_emulator/inbox/good", "customer.created")
    sandbox.endpoint(f"{sandbox.url}/_emulator/inbox/bad", "customer.created")
    sandbox.inbox_answers("bad", status=500)
    sandbox.customer()
    sandbox.advance("30d")
    sandbox.customer()
    sandbox.settle()


STORIES: Mapping[Story, Mapping[str, tuple[str, ...]]] = {
    subscriptions: {"customer": ("active",), "subscription": ("active", "trialing", "paused", "canceled")},
    past_due: {"subscription": ("past_due",)},
    unpaid: {"subscription": ("unpaid",), "invoice": ("uncollectible",)},
    expired: {"subscription": ("expired",), "payment_method": ("expired",), "checkout_session": ("expired",)},
    invoices: {"invoice": ("draft", "open", "void", "paid")},
    intents: {
        "payment_method": ("active",),
        "payment_intent": (
            *("requires_payment_method", "requires_confirmation", "requires_action", "requires_capture"),
            *("succeeded", "canceled"),
        ),
    },
    transfers: {
        "payment_intent": ("processing",),
        "transaction": ("pending", "canceled", "failed"),
        "checkout_session": ("processing",),
    },
    transactions: {"transaction": ("approved", "completed", "disputed", "refunded")},
    refunds: {"refund": ("succeeded", "failed", "processing")},
    reviewed_refunds: {"refund": ("pending", "cancelled")},
    expired_refund: {"refund": ("expired",)},
    checkouts: {"checkout_session": ("open", "complete", "payment_failed"), "payment_link": ("active", "archived")},
    webhooks: {"webhook_delivery": ("pending", "succeeded", "failed")},
}
"""The states, by kind, that each story brings objects to."""


def newest(sandbox: Sandbox, kind: str, state: str) -> Any:
    """Return the newest object of a kind in a state."""
    found = sandbox.control.get("/objects", kind=kind, status=state)["data"]
    assert found, f"no {kind} is {state}"
    return found[0]
