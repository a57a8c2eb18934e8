"""Payments in words: what a buyer fills in, from what a test says, and where it is sent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from emulator.testing.api import JSON

PLACES = {"sess": "checkout-sessions", "link": "payment-links", "inv": "invoices"}
"""What can be paid, by the prefix of its id."""

CARD = {"exp_month": 12, "exp_year": 2099, "cvc": "123"}
"""What a card has beside its number."""


def place(target: str | Mapping[str, Any]) -> str:
    """The address at which a session, a link or an invoice, or its id, is paid; ``ValueError`` for anything else."""
    id = target["id"] if isinstance(target, Mapping) else target
    kind = PLACES.get(id.partition("_")[0])
    if kind is None:
        raise ValueError(
            f"{id!r} cannot be paid: a checkout session (sess_), a payment link (link_) or an invoice (inv_)"
        )
    return f"/_emulator/{kind}/{id}/pay"


def method(**said: Any) -> JSON:
    """The ``method`` of the body, by what was said (``phone``, ``card``, ``iban``, ``email``); empty if nothing was.

    Raises ``ValueError`` where more than one was said.
    """
    given = {name: value for name, value in said.items() if value is not None}
    if len(given) > 1:
        raise ValueError(f"pay by one of {', '.join(sorted(given))}, not by all of them")
    for name, value in given.items():
        return {"method": METHODS[name](value)}
    return {}


METHODS: dict[str, Callable[[Any], JSON]] = {
    "phone": lambda phone: {"type": "mobile_money", "phone": phone},
    "card": lambda card: {"type": "bank_card", **CARD, **(card if isinstance(card, Mapping) else {"number": card})},
    "iban": lambda iban: {"type": "bank_transfer", "iban": iban},
    "email": lambda email: {"type": "paypal", "email": email},
}
"""A method of each type from the one value that a test cares for."""
