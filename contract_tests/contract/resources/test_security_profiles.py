"""Security profiles as they are stored: their fields, their forms, and which pricing plans have them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from contract_tests.support.sandbox import Sandbox

EVERYWHERE = "0.0.0.0/0"
"""A range that blocks no address, these tests' least of all."""


def make(sandbox: Sandbox, **fields: Any) -> Any:
    return sandbox.api.post("/security-profiles/", {"name": "Shop servers", **fields})


def path_of(profile: Any) -> str:
    return f"/security-profiles/{profile['id']}/"


@pytest.mark.parametrize("left_out", [{}, {"max_amount": None}])
def test_a_name_is_enough_and_restricts_nothing(sandbox: Sandbox, left_out: dict[str, None]) -> None:
    profile = make(sandbox, **left_out)
    assert profile["max_amount"] is None
    for field in ("allowed_ips", "allowed_domains", "allowed_payment_methods", "blocked_countries"):
        assert profile[field] == []


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("allowed_ips", [EVERYWHERE, "203.0.113.0/24", "203.0.113.7/32", "255.255.255.255"]),
        ("allowed_domains", ["example.com", "a.b.c.example.com", "localhost", "x-1.example"]),
        ("max_amount", 0),
        ("max_amount", 10**12),
        ("allowed_payment_methods", ["bank_transfer"]),
        ("blocked_countries", ["KP"]),
    ],
)
def test_a_right_field(sandbox: Sandbox, field: str, value: Any) -> None:
    assert make(sandbox, **{field: value})[field] == value
    assert sandbox.api.patch(path_of(make(sandbox)), {field: value})[field] == value


def test_domains_are_put_into_lower_case(sandbox: Sandbox) -> None:
    """B-71."""
    profile = make(sandbox, allowed_domains=["Shop.Example.COM"])
    assert profile["allowed_domains"] == ["shop.example.com"]
    changed = sandbox.api.patch(path_of(profile), {"allowed_domains": ["WWW.example.com"]})
    assert changed["allowed_domains"] == ["www.example.com"]


def test_lists_are_replaced_and_nulls_remove(sandbox: Sandbox) -> None:
    """PATCH: no merge of lists; [] removes the restriction, max_amount null removes the cap."""
    profile = make(sandbox, allowed_ips=[EVERYWHERE], blocked_countries=["KP"], max_amount=500)
    sandbox.advance("1h")
    changed = sandbox.api.patch(path_of(profile), {"blocked_countries": ["US"], "name": "Renamed"})
    assert changed == {**profile, "blocked_countries": ["US"], "name": "Renamed", "updated_at": sandbox.now}
    freed = sandbox.api.patch(path_of(profile), {"allowed_ips": [], "blocked_countries": [], "max_amount": None})
    assert (freed["allowed_ips"], freed["blocked_countries"], freed["max_amount"]) == ([], [], None)
    assert sandbox.api.get(path_of(profile)) == freed


@pytest.mark.parametrize("pricing_plan", ["growth", "business", "enterprise"])
def test_plans_with_profiles(with_settings: Callable[..., Sandbox], pricing_plan: str) -> None:
    """Enforcement rule 7."""
    assert make(with_settings(pricing_plan=pricing_plan))["object"] == "security_profile"


def test_the_starter_plan_has_no_profiles(with_settings: Callable[..., Sandbox]) -> None:
    """Enforcement rule 7; B-70."""
    sandbox = with_settings(pricing_plan="starter")
    body = {"name": "Shop servers"}
    error = sandbox.api.rejected("POST", "/security-profiles/", 403, "INSUFFICIENT_PERMISSIONS", json=body)
    assert error["message"] == "The Starter plan has no security profiles."
    assert sandbox.api.get("/security-profiles/")["data"] == []
