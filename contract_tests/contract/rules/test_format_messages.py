"""What the API says of a value in the wrong format: how a right one is written."""

from __future__ import annotations

from typing import Any

import pytest

from contract_tests.support.sandbox import Sandbox

URL = "must be an http:// or https:// URL"
PHONE = "must be a phone number in E.164 form: + and 7 to 15 digits, no spaces or dashes"
EMAIL = "must be an email address of at most 254 characters, such as name@example.com"
INSTANT = "must be an ISO 8601 date or instant, such as 2026-01-31 or 2026-01-31T09:30:00Z"
DOMAIN = "must be a bare domain name: no protocol, port, path or wildcard"
COUNTRY = "must be an ISO 3166-1 alpha-2 code in upper case"
NO_COUNTRIES = ("AC", "CP", "CQ", "DG", "EA", "EU", "EZ", "IC", "QO", "TA", "UN", "XA", "XB", "XK", "ZZ")
"""Codes that the CLDR knows and ISO 3166-1 does not assign to a country."""
NETWORK = "must be an IPv4 address or a CIDR range without host bits"


@pytest.mark.parametrize(
    ("path", "field", "value", "message"),
    [
        ("/customers/", "email", "awa", EMAIL),
        ("/customers/", "name", " ", "must not be blank"),
        ("/customers/", "phone", "077 12 34 56", PHONE),
        ("/checkout-sessions/", "success_url", "shop.example.com", URL),
        ("/checkout-sessions/", "cancel_url", "http://shop.example.com", "must be an https:// URL"),
        ("/invoices/", "due_date", "31/01/2026", "must be a date YYYY-MM-DD"),
        ("/payment-intents/", "currency", "xaf", "must be an ISO 4217 code in upper case"),
        ("/payment-links/", "expires_at", "2026-01-31 09:30:00Z", INSTANT),
        ("/customers/", "name", 7, "must be a string"),
        ("/invoices/", "customer", {}, "must be a string"),
        ("/invoices/", "line_items", {}, "must be an array"),
        ("/invoices/", "metadata", [], "must be an object"),
        ("/payment-intents/", "amount", "5000", "must be an integer"),
        ("/subscription-plans/", "interval", "decade", "must be one of day, week, month, year"),
        ("/security-profiles/", "allowed_domains", ["https://shop.example.com"], DOMAIN),
        ("/security-profiles/", "allowed_ips", ["10.0.0.1/8"], NETWORK),
        ("/security-profiles/", "blocked_countries", ["kp"], COUNTRY),
        *(("/security-profiles/", "blocked_countries", [region], COUNTRY) for region in NO_COUNTRIES),
    ],
)
def test_a_message_says_how_a_value_is_written(
    sandbox: Sandbox, path: str, field: str, value: Any, message: str
) -> None:
    error = sandbox.api.rejected("POST", path, 422, "VALIDATION_ERROR", json={field: value})
    [said] = [
        messages for name, messages in error["errors"].items() if name.partition("[")[0].partition(".")[0] == field
    ]
    assert message in said
