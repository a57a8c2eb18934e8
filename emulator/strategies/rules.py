"""Rules that no schema holds, each with values that break it, by operation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from hypothesis import strategies as st

from emulator.strategies.schema_values import Values


class Rule(NamedTuple):
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
_CURRENCY = Rule("currency", "B-24", _NOT_ENABLED)

RULES: Mapping[str, tuple[Rule, ...]] = {
    "createAddress": (Rule("country", "B-15", _NOT_COVERED),),
    "updateAddress": (Rule("country", "B-15", _NOT_COVERED),),
    "createProduct": (Rule("unit_amount", "B-23", st.integers(-1000, -1) | _TOO_LARGE), _CURRENCY),
    "createSubscriptionPlan": (Rule("amount", "B-23", _AMOUNTS), _CURRENCY),
    "createSubscription": (
        Rule("unit_amount", "B-23", _AMOUNTS),
        Rule("ends_at", "B-40", _PAST),
    ),
    "createInvoice": (Rule("due_date", "B-65", _PAST_DAYS), _CURRENCY),
    "updateInvoice": (Rule("due_date", "B-65", _PAST_DAYS),),
    "createCheckoutSession": (_CURRENCY,),
    "createPaymentLink": (Rule("expires_at", "B-59", _PAST), _CURRENCY),
    "createPaymentIntent": (Rule("amount", "B-23", _AMOUNTS), _CURRENCY),
    "createPaymentMethod": (
        Rule("number", "B-52", st.sampled_from(["4242 4242 4242 4241", "5555555555554440"])),
        Rule("exp_year", "B-52", st.integers(2000, 2019)),
        Rule("iban", "B-52", st.sampled_from(["FR1420041010050500013M02607", "GA00", "nope"])),
    ),
}
