"""Rates in per cent against exact fractions."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from math import floor

from hypothesis import given
from hypothesis import strategies as st

from emulator.resources.app.amounts import percent

AMOUNTS = st.integers(0, 10**15)
RATES = st.one_of(
    st.decimals(0, 100, places=4).map(float),
    st.floats(0, 100),
    st.sampled_from([0, 2.9, 3.5, 2.4, 1.9, 18, 100]),
)


@given(AMOUNTS, RATES)
def test_a_rate_is_computed_in_decimal_and_rounded_half_up(amount: int, rate: float) -> None:
    """B-23. The rate is the decimal number a reader sees, not the binary one that is nearest to it."""
    exact = amount * Fraction(Decimal(str(rate))) / 100
    assert percent(amount, rate) == floor(exact + Fraction(1, 2))


def test_halves_go_up() -> None:
    """Not to the even neighbour; 11.5 is one that binary arithmetic takes for less."""
    assert [percent(amount, rate) for amount, rate in ((50, 1), (250, 1), (1000, 1.15))] == [1, 3, 12]
