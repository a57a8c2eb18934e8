"""The request that pays as a buyer does, from the short arguments of a test."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from emulator.testing.api import JSON

PAYABLE = {"sess": "checkout-sessions", "link": "payment-links", "inv": "invoices"}
"""The kinds of object that can be paid, by the prefix of their ids."""

CARD = {"exp_month": 12, "exp_year": 2099, "cvc": "123"}
"""The fields of a card besides its number."""


def pay_path(target: str | Mapping[str, Any]) -> str:
    """The path that pays a session, a link or an invoice (object or id). Raises ``ValueError`` for anything else."""
    id = target["id"] if isinstance(target, Mapping) else target
    kind = PAYABLE.get(id.partition("_")[0])
    if kind is None:
        raise ValueError(
            f"{id!r} cannot be paid: a checkout session (sess_), a payment link (link_) or an invoice (inv_)"
        )
    return f"/_emulator/{kind}/{id}/pay"


def method(**arguments: Any) -> JSON:
    """The ``method`` of the body, by what was said (``phone``, ``card``, ``iban``, ``email``); empty if nothing was.

    Raises ``ValueError`` if more than one is given.
    """
    given = {name: value for name, value in arguments.items() if value is not None}
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
"""The payment method for each argument."""
