"""The currencies of ISO 4217 with the decimals of their minor unit (B-24); ISO 3166-1 countries.

A locale's own habit is another thing: CLDR shows Hungarian forints whole, and other releases of it
show other digits.
"""

from __future__ import annotations

from functools import cache

from emulator.document.paths import fixture


@cache
def currencies() -> dict[str, int]:
    """Return every currency with its decimals: 100 is 1.00 with two decimals, 100 with none."""
    return {
        code: places for places, codes in fixture("currencies").items() for code in codes.split()
    }


@cache
def countries() -> frozenset[str]:
    return frozenset(fixture("countries").split())
