"""What happens at the service without a request of the application, and does the same in the world beside.

A buyer pays on a page, the operator answers. The proxy sees the outcome in a later answer or webhook.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Protocol

from emulator.checks.traffic.id_map import IdMap

METHODS: Mapping[str, Mapping[str, Any]] = {
    "mobile_money": {"phone": "+24177123456"},
    "bank_card": {"number": "4242424242424242", "exp_month": 12, "exp_year": 2099, "cvc": "123"},
    "bank_transfer": {"iban": "FR1420041010050500013M02606"},
    "paypal": {"email": "buyer@example.com"},
}
"""Payment methods that succeed, by type."""

PAYABLE = ("open", "uncollectible", "payment_failed")
"""Statuses of what a buyer can pay."""

PENDING = ("processing", "requires_action", "pending")

ANSWERED: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "payment_intent": ("payment-intents", {"succeeded": "succeeded", "failed": "failed", "canceled": "failed"}),
    "refund": ("refunds", {"succeeded": "succeeded", "failed": "failed"}),
}
"""The objects that an operator decides about: the segment of their path, and the answer behind each status."""

PAID: Mapping[str, tuple[str, str]] = {
    "checkout_session": ("checkout-sessions", "complete"),
    "invoice": ("invoices", "paid"),
}
"""The objects that a buyer pays on a page: the segment of their path, and the status that shows it."""


class Control(Protocol):
    """The world beside, as it is read and steered."""

    def read(self, path: str) -> Any:
        """The JSON of a GET; None if it fails."""

    def do(self, path: str, body: Mapping[str, Any]) -> Any:
        """The JSON of a POST; None if it fails."""


class Payment(NamedTuple):
    """How a page was paid: the type of the method, and the code with which the payment failed, if it did."""

    type: str | None
    code: str | None = None


class OutsideWorld:
    """Does in a world what an object of the service shows to have happened outside the proxy.

    ``paid`` has the world's payment intents, and their transactions, whose payment method a buyer chose on a page.
    """

    def __init__(self, control: Control, ids: IdMap) -> None:
        self.paid: set[str] = set()
        self._control = control
        self._ids = ids
        self._seen: set[str] = set()
        self._methods: dict[str, str] = {}

    def follow(self, body: Any) -> None:
        """Follow every object in an answer or an event."""
        for each in _objects(body):
            self._follow(each)

    def _follow(self, theirs: Mapping[str, Any]) -> None:
        kind, id, ours = theirs.get("object"), theirs.get("id"), self._ids.ours(theirs.get("id"))
        if kind == "payment_intent" and ours is None and isinstance(id, str):
            self._attempt(id, theirs)
        if ours is None:
            return
        if kind in ANSWERED:
            segment, results = ANSWERED[str(kind)]
            if (result := results.get(str(theirs.get("status")))) and self._status(segment, ours) in PENDING:
                self._answer(segment, ours, result, _code(theirs))
        elif kind in PAID and theirs.get("status") == PAID[str(kind)][1]:
            self._pay(PAID[str(kind)][0], ours, Payment(self._methods.get(str(id))))

    def _attempt(self, id: str, intent: Mapping[str, Any]) -> None:
        """An unknown payment intent: a buyer's attempt on a page that is known."""
        page = intent.get("checkout_session") or intent.get("invoice")
        segment = "checkout-sessions" if intent.get("checkout_session") else "invoices"
        if not isinstance(page, str) or id in self._seen or (ours := self._ids.ours(page)) is None:
            return
        self._seen.add(id)
        type, code = intent.get("payment_method_type"), _code(intent)
        if isinstance(type, str):
            self._methods[page] = type
        if code is not None:
            self._pay(segment, ours, Payment(self._methods.get(page), code))

    def _pay(self, segment: str, ours: str, payment: Payment) -> None:
        if self._status(segment, ours) not in PAYABLE:
            return
        if payment.code is not None:
            self._control.do("/_emulator/outcomes", {"operation": "payment", "result": "failed", "code": payment.code})
        fields = METHODS.get(payment.type or "")
        known = {} if fields is None else {"method": {"type": payment.type, **fields}}
        intent = self._control.do(f"/_emulator/{segment}/{ours}/pay", known)
        if not isinstance(intent, dict):
            return
        if intent.get("status") in PENDING:
            result = "failed" if payment.code else "succeeded"
            intent = self._answer("payment-intents", intent["id"], result, payment.code) or intent
        self.paid |= {str(intent["id"]), str(intent.get("transaction"))}

    def _answer(self, segment: str, ours: str, result: str, code: str | None) -> Any:
        coded = {"code": code} if code and result == "failed" else {}
        return self._control.do(f"/_emulator/{segment}/{ours}/answer", {"result": result, **coded})

    def _status(self, segment: str, ours: str) -> Any:
        found = self._control.read(f"/v1/{segment}/{ours}/")
        return found.get("status") if isinstance(found, dict) else None


def _code(intent: Mapping[str, Any]) -> str | None:
    error = intent.get("last_error")
    code = error.get("code") if isinstance(error, dict) else None
    return str(code).upper() if code else None


def _objects(body: Any) -> Iterator[Mapping[str, Any]]:
    """The objects of a body: itself, the items of a list."""
    if isinstance(body, dict) and body.get("object") == "list" and isinstance(body.get("data"), list):
        yield from (each for each in body["data"] if isinstance(each, dict))
    elif isinstance(body, dict):
        yield body
