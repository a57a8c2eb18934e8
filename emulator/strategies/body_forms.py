"""What the rules ask of valid bodies beyond the schema: fields that go together, and values of single fields.

Amounts, currencies and countries are those of an App with the default settings.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from hypothesis import strategies as st

from emulator.event_types import EVENTS
from emulator.strategies import format_texts
from emulator.strategies.body_operations import BodyOperation
from emulator.strategies.schema_values import SHORT, Overrides, Values

CURRENCIES = st.sampled_from(["XAF", "XOF", "EUR", "USD"])
COUNTRIES = st.sampled_from(["GA", "CM", "CI", "SN", "CG", "TD", "BJ", "TG", "BF", "ML", "FR", "US"])
AMOUNTS = st.integers(100, 1_000_000)
"""Minor units: no smaller than the least amount of the main currency, and far from the largest with tax (B-23)."""

PRODUCT_CURRENCY = "XAF"
"""The currency of a product or plan whose id is given."""

LINES = st.fixed_dictionaries(
    {"description": format_texts.VALID["not-blank"], "unit_amount": AMOUNTS}, optional={"quantity": st.integers(1, 5)}
)
"""Lines that name no product: a description with a price."""

CARD_NUMBERS = st.sampled_from(["4242424242424242", "4242 4242 4242 4242", "5555555555554444"])
IBANS = st.sampled_from(["FR14 2004 1010 0505 0001 3M02 606", "FR7630006000011234567890189"])

SELECTED_EVENTS = st.just(["*"]) | st.lists(st.sampled_from([*EVENTS]), min_size=1, max_size=SHORT, unique=True)
"""Events of a webhook endpoint: all, or some types without ``*``."""

REFERENCES = frozenset(["customer", "payment_method", "plan", "product", "products", "transaction", "url"])
"""Fields that name something that must exist; ``url`` is a receiver that answers the ping of a webhook endpoint."""

ANY: Overrides = {
    "amount": AMOUNTS,
    "country": COUNTRIES,
    "currency": CURRENCIES,
    "events": SELECTED_EVENTS,
    "exp_year": st.integers(2090, 2098),
    "iban": IBANS,
    "line_items[]": LINES,
    "number": CARD_NUMBERS,
    "unit_amount": AMOUNTS,
}
"""Valid values of fields of any operation, where the rules ask more than the schema."""

OF_OPERATION: Mapping[str, Overrides] = {
    # Every test captures or refunds a payment of its own size; one minor unit is always left of it.
    "capturePaymentIntent": {"amount": st.just(1)},
    "createRefund": {"amount": st.just(1)},
    "createCheckoutSession": {"line_items": st.lists(LINES, min_size=1, max_size=3)},
    "createInvoice": {"line_items": st.lists(LINES, min_size=1, max_size=3)},
}
"""The same, of one operation."""


class BodyForm(NamedTuple):
    """Fields that go together: a body has all of ``required`` and any of ``optional``; ``fixed`` are their values."""

    required: tuple[str, ...]
    optional: tuple[str, ...]
    fixed: Overrides = MappingProxyType({})

    def missing(self, references: Iterable[str]) -> list[str]:
        """The required fields for which an id must be given and is not."""
        return [name for name in self.required if name in REFERENCES and name not in references]

    def fields(self, references: Iterable[str]) -> list[str]:
        """The fields that its bodies can have, with the ids that are given."""
        names = dict.fromkeys((*self.required, *self.optional))
        return [name for name in names if name not in REFERENCES or name in references]


def overrides(spec: BodyOperation, form: BodyForm, references: Mapping[str, str]) -> dict[str, Values]:
    """The values of fields that are not any of their schema."""
    ids: dict[str, Values] = {name: st.just(id) for name, id in references.items()}
    if "product" in references:
        ids["products"] = st.just([references["product"]])
    return {**ANY, **OF_OPERATION.get(spec.name, {}), **ids, **form.fixed}


class _Variant(NamedTuple):
    """What makes one form differ from the plain body of an operation."""

    required: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    fixed: Mapping[str, Any] = MappingProxyType({})


_INSTRUMENTS: Mapping[str, tuple[str, ...]] = {
    "mobile_money": ("phone",),
    "bank_card": ("number", "exp_month", "exp_year", "cvc"),
    "bank_transfer": ("iban",),
    "paypal": ("email",),
}
"""The fields of each type of payment method (B-52)."""


def _instrument(type: str) -> _Variant:
    others = tuple(name for own in _INSTRUMENTS.values() for name in own if name not in _INSTRUMENTS[type])
    return _Variant(_INSTRUMENTS[type], others, {"type": type})


_IN_PRODUCT_CURRENCY = {"currency": PRODUCT_CURRENCY}
_DONATION = {"payment_link_type": "donation"}
_SUBSCRIBES = ("unit_amount", "interval")

_VARIANTS: Mapping[str, tuple[_Variant, ...]] = {
    "createSubscription": (  # B-40
        _Variant(("plan",), ("unit_amount", "interval", "interval_count", "currency", "product")),
        _Variant(_SUBSCRIBES, ("plan", "product")),
        _Variant((*_SUBSCRIBES, "product"), ("plan",), _IN_PRODUCT_CURRENCY),
    ),
    "createCheckoutSession": (  # B-58
        _Variant((), ("customer_email", "subscription_data"), {"mode": "payment"}),
        _Variant((), ("customer", "subscription_data"), {"mode": "payment"}),
        _Variant(("mode",), ("customer",), {"mode": "subscription"}),
        _Variant(("mode",), ("customer", "subscription_data"), {"mode": "setup"}),
    ),
    "createPaymentLink": (  # B-59
        _Variant(("products",), ("amount", "max_usage", "expires_at"), _IN_PRODUCT_CURRENCY),
        _Variant(("amount",), ("products", "max_usage", "expires_at"), {"payment_link_type": "custom"}),
        _Variant(("amount", "validity_type"), ("products", "payment_link_type"), {"validity_type": "limited"}),
        _Variant(("payment_link_type",), ("products", "amount", "max_usage", "expires_at"), _DONATION),
    ),
    "createPaymentIntent": (  # B-51: the method given must be of an allowed type
        _Variant((), ("payment_method",)),
        _Variant((), ("payment_method_types",)),
    ),
    "createPaymentMethod": tuple(map(_instrument, _INSTRUMENTS)),  # B-52
}
"""The forms of the operations whose fields depend on each other; every other operation has one."""


def forms(spec: BodyOperation) -> list[BodyForm]:
    """The forms of an operation's bodies."""
    return [_form(spec, each) for each in _VARIANTS.get(spec.name, (_Variant(),))]


def _form(spec: BodyOperation, variant: _Variant) -> BodyForm:
    required = (*spec.schema.get("required", ()), *variant.required)
    optional = [name for name in spec.schema["properties"] if name not in (*required, *variant.without)]
    return BodyForm(required, tuple(optional), {name: st.just(value) for name, value in variant.fixed.items()})
