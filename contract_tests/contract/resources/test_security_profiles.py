"""Security profiles as they are stored: their fields, their forms, and which pricing plans have them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from contract_tests.support.sandbox import START, Sandbox

EVERYWHERE = "0.0.0.0/0"
"""A range that blocks no address, these tests' least of all."""


def make(sandbox: Sandbox, **fields: Any) -> Any:
    return sandbox.api.post("/security-profiles/", {"name": "Shop servers", **fields})


def path_of(profile: Any) -> str:
    return f"/security-profiles/{profile['id']}/"


def test_a_profile_is_made_with_everything_given(sandbox: Sandbox) -> None:
    """SecurityProfile fields."""
    fields = {
        "name": "Shop servers",
        "allowed_ips": [EVERYWHERE, "203.0.113.7"],
        "allowed_domains": ["shop.example.com", "example.com"],
        "max_amount": 500000,
        "allowed_payment_methods": ["mobile_money", "bank_card", "bank_transfer"],
        "blocked_countries": ["KP", "US"],
    }
    with sandbox.expect():
        profile = sandbox.api.post("/security-profiles/", fields)
    assert profile == {
        "id": profile["id"],
        "object": "security_profile",
        **fields,
        "livemode": False,
        "created_at": START,
        "updated_at": START,
    }
    assert sandbox.api.get(path_of(profile)) == profile


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


@pytest.mark.parametrize(
    ("field", "value", "param"),
    [
        ("name", "", "name"),
        ("name", " ", "name"),
        ("name", None, "name"),
        ("allowed_ips", EVERYWHERE, "allowed_ips"),
        ("allowed_ips", [EVERYWHERE, "203.0.113.7/24"], "allowed_ips.1"),
        ("allowed_ips", ["203.0.113.0/33"], "allowed_ips.0"),
        ("allowed_ips", ["203.0.113.0/255.255.255.0"], "allowed_ips.0"),
        ("allowed_ips", ["203.0.113.256"], "allowed_ips.0"),
        ("allowed_ips", ["203.0.113"], "allowed_ips.0"),
        ("allowed_ips", ["203.0.113.*"], "allowed_ips.0"),
        ("allowed_ips", ["::1"], "allowed_ips.0"),
        ("allowed_ips", ["2001:db8::/32"], "allowed_ips.0"),
        ("allowed_ips", ["localhost"], "allowed_ips.0"),
        ("allowed_ips", [""], "allowed_ips.0"),
        ("allowed_domains", ["https://example.com"], "allowed_domains.0"),
        ("allowed_domains", ["example.com/"], "allowed_domains.0"),
        ("allowed_domains", ["example.com/shop"], "allowed_domains.0"),
        ("allowed_domains", ["example.com:443"], "allowed_domains.0"),
        ("allowed_domains", ["*.example.com"], "allowed_domains.0"),
        ("allowed_domains", ["example.com", ""], "allowed_domains.1"),
        ("max_amount", -1, "max_amount"),
        ("max_amount", "500", "max_amount"),
        ("max_amount", 5.0, "max_amount"),
        ("allowed_payment_methods", ["paypal"], "allowed_payment_methods.0"),
        ("allowed_payment_methods", "bank_card", "allowed_payment_methods"),
        ("blocked_countries", ["North Korea"], "blocked_countries.0"),
        ("blocked_countries", ["kp"], "blocked_countries.0"),
        ("blocked_countries", ["US", "ZZ"], "blocked_countries.1"),
    ],
)
def test_a_wrong_field(sandbox: Sandbox, field: str, value: Any, param: str) -> None:
    """B-71: IPv4 only, no host bits; bare domains without scheme, port, path or wildcard."""
    profile = make(sandbox)
    body = {"name": "Another", field: value}
    error = sandbox.api.rejected("POST", "/security-profiles/", 422, "INVALID_FIELD", json=body)
    assert (error["param"], set(error["errors"])) == (param, {param})
    error = sandbox.api.rejected("PATCH", path_of(profile), 422, "INVALID_FIELD", json={field: value})
    assert error["param"] == param
    assert sandbox.api.get("/security-profiles/")["data"] == [profile]


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


def test_a_deleted_profile_is_gone(sandbox: Sandbox) -> None:
    """204, permanent."""
    path = path_of(make(sandbox))
    response = sandbox.api.request("DELETE", path)
    assert (response.status_code, response.content) == (204, b"")
    for method in ("GET", "PATCH", "DELETE"):
        sandbox.api.rejected(method, path, 404, "NOT_FOUND")


def test_profiles_are_listed_newest_first(sandbox: Sandbox) -> None:
    for name in ("a", "b", "c"):
        make(sandbox, name=name)
    listed = [profile["name"] for profile in sandbox.api.pages("/security-profiles/", page_size=1)]
    assert listed == ["c", "b", "a"]


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
