"""Settings ↔ B-90: the names and defaults that the assumption lists."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from emulator.resources.app.settings import FEE_RATES, Settings, changed

DEFAULTS: dict[str, Any] = {
    "main_currency": "XAF",
    "currencies": ["XAF", "XOF", "EUR", "USD"],
    "countries": ["GA", "CM", "CI", "SN", "CG", "TD", "BJ", "TG", "BF", "ML", "FR", "US"],
    "pricing_plan": "growth",
    "commission_rate": 0,
    "tax_rate": 0,
    "minimum_amount": 100,
    "maximum_amount": 99999999,
    "error_shape": "documented",
    "unknown_fields": "reject",
    "rate_limit": None,
    "concurrency_limit": None,
    "renewal_retry_days": [1, 3, 5, 7],
    "reactivation_days": 30,
    "operator_delay": 0,
    "mobile_money": "auto",
    "refund_timing": "documented",
    "refund_review": False,
    "refund_expiry_days": 30,
    "webhook_http": "loopback",
    "trusted_proxies": ["127.0.0.0/8", "::1/128"],
    "merchant": None,
    "assumptions": {
        "search_nothing_found": "empty",
        "metadata_values": "scalars",
        "renewal_without_method": "invoice",
        "past_due_periods": "skipped",
        "success_url": "optional",
        "anonymous_customer": "made",
        "payment_received": "intent",
        "webhook_success": "200",
        "webhook_retry": "faults",
        "cors_without_domains": "none",
    },
}


def test_names_and_defaults_are_those_of_the_assumption() -> None:
    settings = msgspec.json.decode(msgspec.json.encode(Settings()))
    assert settings.pop("id") == "settings"
    assert settings == DEFAULTS
    assert list(settings) == list(DEFAULTS)


def test_fees_are_those_of_the_assumption() -> None:
    """B-56."""
    assert FEE_RATES == {"starter": 3.5, "growth": 2.9, "business": 2.4, "enterprise": 1.9}


@pytest.mark.parametrize("name", DEFAULTS)
def test_every_setting_can_be_set_to_what_it_is_and_not_to_nonsense(name: str) -> None:
    assert changed(Settings(), {name: DEFAULTS[name]}) == Settings()
    with pytest.raises(ValueError, match=rf"{name}|Invalid|Expected"):
        changed(Settings(), {name: {"of": "course not"}})


@pytest.mark.parametrize("name", ["colour", "id", ""])
def test_a_wrong_name_is_rejected_and_the_right_ones_are_named(name: str) -> None:
    with pytest.raises(ValueError, match="is no setting; there are main_currency, "):
        changed(Settings(), {name: 1})
