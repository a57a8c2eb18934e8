"""A random walk through one world: requests that a client, a buyer and a tester might send, and moves of the clock."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any

from emulator.testing import Emulator, RequestRefused

VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "defaults": {},
    "tax": {"tax_rate": 18},
    "commission": {"commission_rate": 1.5, "pricing_plan": "starter"},
    "instant refunds": {"refund_timing": "instant"},
    "reviewed refunds": {"refund_review": True, "refund_expiry_days": 1},
    "slow operator": {"operator_delay": 120},
    "very slow operator": {"operator_delay": 300_000},
    "no retries": {"renewal_retry_days": []},
    "flat errors": {"error_shape": "flat", "unknown_fields": "ignore"},
    "paid by transaction": {"assumptions": {"payment_received": "transaction"}},
    "charged while past due": {"assumptions": {"past_due_periods": "charged", "renewal_without_method": "fail"}},
}
"""The settings that worlds start with."""

STARTS = ("2026-01-31T00:00:00Z", "2028-02-29T12:00:00Z", "2026-12-31T23:59:59.999Z")
SPANS = ("1s", "3m", "1h", "12h", "1d", "2d", "5d", "10d", "31d")


def _card(number: str) -> dict[str, Any]:
    return {"type": "bank_card", "number": number, "exp_month": 12, "exp_year": 2035, "cvc": "123"}


METHODS = (
    *map(_card, ("4242424242424242", "4000000000000077", "4000000000003220", "4000000000009995", "4000000000000259")),
    *({"type": "mobile_money", "phone": f"+2417700000{digit}"} for digit in (0, 1, 3, 6, 8)),
    {"type": "bank_transfer", "iban": "FR7630006000011234567890189"},
    {"type": "paypal", "email": "awa@example.com"},
)

ACTIONS: Mapping[str, tuple[str, ...]] = {
    "invoices": ("finalize", "send", "void", "pay"),
    "subscriptions": ("pause", "resume", "cancel", "reactivate"),
    "payment-intents": ("confirm", "cancel", "capture"),
    "transactions": ("cancel",),
    "refunds": ("cancel",),
}
"""What can be done to the objects of a list without a body."""


class Walker:
    """One walk. ``rejected``: requests that the service rejected, which is no flag; ``sent``: all it sent."""

    def __init__(self, emulator: Emulator, seed: int) -> None:
        self.emulator = emulator
        self.chance = random.Random(seed)
        self.sent = self.rejected = 0
        self._steps: list[Callable[[], object]] = [
            *[self._wait] * 4,
            *[self._customer, self._method, self._subscribe, self._invoice, self._session] * 2,
            *[self._pay_invoice, self._pay_session, self._act] * 5,
            *[self._refund, self._answer, self._change] * 2,
            self._delete,
        ]

    def step(self) -> str | None:
        """Return one request, or a move of the clock; what went wrong inside the emulator."""
        self.sent += 1
        try:
            self.chance.choice(self._steps)()
        except RequestRefused as error:
            self.rejected += 1
            return str(error) if error.status >= 500 else None
        except IndexError:
            return None  # there is no such object yet
        return None

    def _one(self, path: str) -> Any:
        """Return one of the newest objects of a list; raises ``IndexError`` where there is none."""
        return self.chance.choice(self.emulator.api.get(f"/v1/{path}/", page_size=8)["data"])

    def _wait(self) -> None:
        moved = self.emulator.api.post("/_emulator/clock/advance", {"by": self.chance.choice(SPANS)})
        if moved["failures"]:
            raise JobFailed(str(moved["failures"]))

    def _customer(self) -> None:
        body = {"email": f"buyer{self.sent}@example.com", "name": "Awa Diop"}
        phone = {"phone": f"+2417700000{self.chance.choice('00136')}"} if self.chance.random() < 0.7 else {}
        self.emulator.api.post("/v1/customers/", {**body, **phone})

    def _method(self) -> None:
        owner = {"customer": self._one("customers")["id"], "is_default": self.chance.random() < 0.7}
        self.emulator.api.post("/v1/payment-methods/", {**owner, **self.chance.choice(METHODS)})

    def _subscribe(self) -> None:
        terms = {
            "unit_amount": self.chance.randint(100, 9999),
            "interval": self.chance.choice(["day", "week", "month"]),
        }
        trial = {"trial_period_days": 5} if self.chance.random() < 0.2 else {}
        collected = {"collection_method": self.chance.choice(["charge_automatically"] * 3 + ["send_invoice"])}
        customer = self._one("customers")["id"]
        self.emulator.api.post("/v1/subscriptions/", {"customer": customer, **terms, **trial, **collected})

    def _lines(self) -> list[dict[str, Any]]:
        amounts = [self.chance.randint(100, 9999) for _ in range(self.chance.randint(1, 3))]
        return [{"description": "Basket", "quantity": 1, "unit_amount": amount} for amount in amounts]

    def _invoice(self) -> None:
        currency = self.chance.choice(["XAF", "XAF", "EUR"])
        body = {"customer": self._one("customers")["id"], "currency": currency, "line_items": self._lines()}
        made = self.emulator.api.post("/v1/invoices/", body)
        self.emulator.api.post(f"/v1/invoices/{made['id']}/finalize/")

    def _session(self) -> None:
        body = {"success_url": "https://shop.example.com/", "currency": "XAF", "line_items": self._lines()}
        mode = {"mode": self.chance.choice(["payment", "payment", "subscription"])}
        self.emulator.api.post("/v1/checkout-sessions/", {**body, **mode})

    def _pay_invoice(self) -> None:
        self._pay("invoices", {})

    def _pay_session(self) -> None:
        self._pay("checkout-sessions", {"customer": {"name": "Awa Diop", "email": "awa@example.com"}})

    def _pay(self, path: str, buyer: dict[str, Any]) -> None:
        payment = {"method": self.chance.choice(METHODS), **buyer}
        self.emulator.api.post(f"/_emulator/{path}/{self._one(path)['id']}/pay", payment)

    def _act(self) -> None:
        path = self.chance.choice(sorted(ACTIONS))
        self.emulator.api.post(f"/v1/{path}/{self._one(path)['id']}/{self.chance.choice(ACTIONS[path])}/")

    def _refund(self) -> None:
        deposit = self._one("transactions")
        amount = {"amount": self.chance.randint(1, deposit["amount"])} if self.chance.random() < 0.5 else {}
        self.emulator.api.post("/v1/refunds/", {"transaction": deposit["id"], **amount})

    def _answer(self) -> None:
        path = self.chance.choice(["payment-intents", "refunds"])
        result = {"result": self.chance.choice(["succeeded", "succeeded", "failed"])}
        self.emulator.api.post(f"/_emulator/{path}/{self._one(path)['id']}/answer", result)

    def _change(self) -> None:
        collected = {"collection_method": self.chance.choice(["charge_automatically", "send_invoice"])}
        self.emulator.api.patch(f"/v1/subscriptions/{self._one('subscriptions')['id']}/", collected)

    def _delete(self) -> None:
        if self.chance.random() < 0.3:
            self.emulator.api.delete(f"/v1/customers/{self._one('customers')['id']}/")


class JobFailed(Exception):
    """A job failed on the way of the clock."""
