"""Money: integers in minor units; only rates in per cent are computed with fractions, in decimal."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from functools import lru_cache


@lru_cache(maxsize=4096)  # plans have few prices and many subscribers
def percent(amount: int, rate: float) -> int:
    """``rate`` per cent of ``amount`` minor units, rounded half up (B-23): ``percent(1050, 2.9)`` is 30."""
    exact = Decimal(amount) * Decimal(str(rate)) / 100
    return int(exact.quantize(Decimal(1), rounding=ROUND_HALF_UP))


def rate_of(part: int, amount: int, rate: float | None) -> float | None:
    """``rate`` (per cent) if ``part`` is that of ``amount``; else None, since the amount was set in another way."""
    return rate if rate and part == percent(amount, rate) else None
