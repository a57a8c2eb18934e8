"""Phones: what a number in E.164 tells by itself, its country and its operator (B-35)."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

_NO_COUNTRIES = frozenset(["001", "AC", "TA", "XK"])
"""Regions of the numbering plan that have no ISO 3166-1 code: networks of no country, and three territories."""


@lru_cache(maxsize=10_000)
def details(phone: str) -> dict[str, Any]:
    """``operator``, ``phone`` and ``country`` of a mobile money method; null what the numbering plan does not know."""
    # Loaded on first use: the numbering plan of the world takes longer to load than the server takes to start.
    import phonenumbers
    from phonenumbers import carrier

    try:
        number = phonenumbers.parse(phone)
    except phonenumbers.NumberParseException:
        return {"operator": None, "phone": phone, "country": None}
    region = phonenumbers.region_code_for_number(number)
    return {
        "operator": carrier.name_for_number(number, "en") or None,
        "phone": phone,
        "country": None if region in _NO_COUNTRIES else region,
    }
