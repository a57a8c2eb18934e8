"""Values for tests in the place of masked ones: a recording holds no card number, account or secret of anyone."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_LAST_FOUR = re.compile(r"\*{4}(\d{4})")

SUCCEEDING_CARD = "4242424242424242"

MASKED_FIELDS: Mapping[str, str] = {
    "cvc": "123",
    "cvv": "123",
    "pin": "1234",
    "iban": "DE89370400440532013000",
    "account_number": "DE89370400440532013000",
    "secret": "test-secret",
    "password": "test-password",
}
"""What stands for a masked value, by the name of its field."""

CARD_FIELDS = ("number", "card_number", "pan")


def with_test_values(value: Any, cards: Mapping[str, str], field: str = "") -> Any:
    """A JSON value with test values in place of masked ones. ``cards`` are test cards by their last four digits."""
    if isinstance(value, dict):
        return {name: with_test_values(part, cards, name) for name, part in value.items()}
    if isinstance(value, list):
        return [with_test_values(part, cards, field) for part in value]
    if not isinstance(value, str) or "***" not in value:
        return value
    if field in MASKED_FIELDS:
        return MASKED_FIELDS[field]
    card = cards.get(value[-4:], SUCCEEDING_CARD)
    return card if field in CARD_FIELDS else _LAST_FOUR.sub(card, value)
