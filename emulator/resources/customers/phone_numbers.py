"""Phone numbers: the country and the operator that follow from a number in E.164 (B-35)."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from emulator.core.vendored import library

_NO_COUNTRIES = frozenset(["001", "AC", "TA", "XK"])
"""Regions of the numbering plan without an ISO 3166-1 code: international networks and three territories."""


@lru_cache(maxsize=10_000)
def details(phone: str) -> dict[str, Any]:
    """``operator``, ``phone`` and ``country`` of a mobile money method; null where the numbering plan does not say."""
    # Loaded on first use: loading the numbering plan takes longer than starting the server.
    phonenumbers, carrier = library("phonenumbers"), library("phonenumbers.carrier")
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
