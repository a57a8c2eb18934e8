"""Rules that no schema holds, each with values that break it, by operation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from hypothesis import strategies as st

from emulator.strategies.schema_values import Values


class BusinessRule(NamedTuple):
    """A field of the body, the decision behind the rule, and values of the field that break it."""

    field: str
    decision: str
    values: Values


_TOO_LARGE = st.integers(100_000_000, 10**12)
_AMOUNTS = st.integers(-1000, 0) | _TOO_LARGE
_NOT_ENABLED = st.sampled_from(["GBP", "JPY", "TND"])
_PAST = st.sampled_from(["2000-01-01T00:00:00Z", "2019-12-31T23:59:59+01:00"])
_PAST_DAYS = st.sampled_from(["2000-01-01", "2019-12-31"])
_NOT_COVERED = st.sampled_from(["GB", "JP", "KP"])
_CURRENCY = BusinessRule("currency", "B-24", _NOT_ENABLED)

RULES: Mapping[str, tuple[BusinessRule, ...]] = {
    "createAddress": (BusinessRule("country", "B-15", _NOT_COVERED),),
    "updateAddress": (BusinessRule("country", "B-15", _NOT_COVERED),),
    "createProduct": (BusinessRule("unit_amount", "B-23", st.integers(-1000, -1) | _TOO_LARGE), _CURRENCY),
    "createSubscriptionPlan": (BusinessRule("amount", "B-23", _AMOUNTS), _CURRENCY),
    "createSubscription": (
        BusinessRule("unit_amount", "B-23", _AMOUNTS),
        BusinessRule("ends_at", "B-40", _PAST),
    ),
    "createInvoice": (BusinessRule("due_date", "B-65", _PAST_DAYS), _CURRENCY),
    "updateInvoice": (BusinessRule("due_date", "B-65", _PAST_DAYS),),
    "createCheckoutSession": (_CURRENCY,),
    "createPaymentLink": (BusinessRule("expires_at", "B-59", _PAST), _CURRENCY),
    "createPaymentIntent": (BusinessRule("amount", "B-23", _AMOUNTS), _CURRENCY),
    "createPaymentMethod": (
        BusinessRule("number", "B-52", st.sampled_from(["4242 4242 4242 4241", "5555555555554440"])),
        BusinessRule("exp_year", "B-52", st.integers(2000, 2019)),
        BusinessRule("iban", "B-52", st.sampled_from(["FR1420041010050500013M02607", "GA00", "nope"])),
    ),
}
