"""Card numbers: their check digit and their brand."""

from __future__ import annotations

import re

BRANDS = (
    (r"4", "visa"),
    (r"5[1-5]|2(22[1-9]|2[3-9]|[3-6]|7[01]|720)", "mastercard"),
    (r"3[47]", "amex"),
    (r"6(011|4[4-9]|5)", "discover"),
    (r"3(0[0-5]|095|[689])", "diners"),
    (r"35(2[89]|[3-8])", "jcb"),
    (r"62", "unionpay"),
)
"""Patterns of the first digits of a card number, each with its brand."""


BRAND_NAMES = {
    "visa": "Visa",
    "mastercard": "Mastercard",
    "amex": "American Express",
    "discover": "Discover",
    "diners": "Diners Club",
    "jcb": "JCB",
    "unionpay": "UnionPay",
}
"""What the brands call themselves."""


_DOUBLED = str.maketrans("0123456789", "0246813579")


def brand(number: str) -> str:
    """The brand of a card number."""
    return next((name for start, name in BRANDS if re.match(start, number)), "unknown")


def is_valid(number: str) -> bool:
    """Whether the check digit of a number of ASCII digits is right (Luhn)."""
    return sum(map(int, number[-1::-2] + number[-2::-2].translate(_DOUBLED))) % 10 == 0
