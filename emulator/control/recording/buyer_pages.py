"""What a buyer did on a hosted page, as the call of the control API that does the same."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

_PAGE = re.compile(r"/(checkout|pay|invoice)/(\w+)")


class ControlCall(NamedTuple):
    """A call of the control API about one object."""

    operation: str
    resource: str
    id: str
    body: dict[str, Any]

    @property
    def path(self) -> str:
        """Its path."""
        return f"/_emulator/{self.resource}/{self.id}/{'answer' if self.operation in ANSWERS.values() else 'pay'}"


PAYS: Mapping[str, tuple[str, str]] = {
    "checkout": ("payCheckoutSession", "checkout-sessions"),
    "pay": ("payPaymentLink", "payment-links"),
    "invoice": ("payInvoicePage", "invoices"),
}
"""The operation that pays, and the first part of its path, by the first segment of a page's path."""

ANSWERS = {"payment-intents": "answerPaymentIntent", "checkout-sessions": "answerCheckoutSession"}
"""The operations by which a buyer confirms or rejects what is under way."""


def control_call(path: str, body: object) -> ControlCall | None:
    """The call for a request to a page, as the journal has it; None if it is none. Card numbers are masked."""
    page = _PAGE.fullmatch(path)
    if page is None or not isinstance(body, dict):
        return None
    if "answered" not in body:
        return ControlCall(*PAYS[page[1]], page[2], body)
    id = body["answered"]
    resource = "checkout-sessions" if id == page[2] else "payment-intents"
    answer = {name: body[name] for name in ("result", "code") if body[name] is not None}
    return ControlCall(ANSWERS[resource], resource, id, answer)
