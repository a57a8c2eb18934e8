"""Security profiles: their forms, who has them, and how they hold payments (rules 3, 4, 6 and 7; B-51, B-55, B-70)."""

from __future__ import annotations

from typing import Any

import pytest

from contract_tests.support.sandbox import Sandbox

PHONE = {"type": "mobile_money", "phone": "+24177001234"}


def profile(sandbox: Sandbox, **rules: Any) -> Any:
    return sandbox.api.post("/security-profiles/", {"name": "Strict", **rules})


def path_of(profile: Any) -> str:
    return f"/security-profiles/{profile['id']}/"


# -- as they are stored


def test_the_starter_plan_has_no_profiles(sandbox: Sandbox) -> None:
    """Enforcement rule 7; B-70."""
    for plan in ("growth", "business", "enterprise"):
        sandbox.settings(pricing_plan=plan)
        profile(sandbox)
    sandbox.settings(pricing_plan="starter")
    body = {"name": "Shop servers"}
    error = sandbox.api.rejected("POST", "/security-profiles/", 403, "INSUFFICIENT_PERMISSIONS", json=body)
    assert error["message"] == "The Starter plan has no security profiles."


# -- payments: the cap on amounts


def test_the_cap_is_on_the_raw_amount_before_anything_is_made(sandbox: Sandbox) -> None:
    """Rule 3: below, at and above the lowest ``max_amount`` (B-70); above it is 403 and there is no intent."""
    for cap in (None, 5000, 6000):
        profile(sandbox, max_amount=cap)
    for amount in (4999, 5000):
        sandbox.intent(amount=amount)
    body = {"amount": 5001, "currency": "XAF"}
    error = sandbox.api.rejected("POST", "/payment-intents/", 403, "PERMISSION_DENIED", json=body)
    assert "max_amount" in error["message"]
    assert sandbox.api.get("/payment-intents/")["pagination"]["count"] == 2


@pytest.mark.parametrize(("amount", "allowed"), [(10_000, True), (10_001, False)])
def test_the_cap_is_before_taxes(sandbox: Sandbox, amount: int, allowed: bool) -> None:
    """Rule 3: "before discounts or taxes", for an invoice, a checkout session and a renewal alike (B-51)."""
    sandbox.settings(tax_rate=18)
    profile(sandbox, max_amount=10_000)
    lines = [{"description": "Advice", "unit_amount": amount}]
    customer = sandbox.customer(phone=PHONE["phone"])
    invoice = sandbox.invoice(customer, line_items=lines)
    session = sandbox.session(mode="subscription", customer=customer["id"], line_items=lines)
    for what, id in (("invoices", invoice["id"]), ("checkout-sessions", session["id"])):
        answer = sandbox.control.request("POST", f"/{what}/{id}/pay", json={"method": PHONE})
        assert answer.status_code == (200 if allowed else 403)
    body = {"customer": customer["id"], "unit_amount": amount, "interval": "month"}
    made = sandbox.api.post("/subscriptions/", body)
    assert sandbox.status(made) == ("active" if allowed else "past_due")


def test_a_cap_that_came_later_stops_the_confirmation(sandbox: Sandbox) -> None:
    """Rule 6: a profile applies at once."""
    intent = sandbox.intent(sandbox.method())
    made = profile(sandbox, max_amount=4999)
    path = f"/payment-intents/{intent['id']}/confirm/"
    sandbox.api.rejected("POST", path, 403, "PERMISSION_DENIED")
    sandbox.api.delete(path_of(made))
    assert sandbox.api.post(path)["status"] == "succeeded"


# -- payments: the methods that are allowed


def test_only_listed_methods_can_be_used(sandbox: Sandbox) -> None:
    """Rule 4: 422 PAYMENT_METHOD_NOT_SUPPORTED, nothing made (B-55). Each profile has to list it (B-70)."""
    card, phone = sandbox.method(), sandbox.method(**PHONE)
    for types in ([], ["mobile_money", "bank_card"], ["mobile_money", "bank_transfer"]):
        profile(sandbox, allowed_payment_methods=types)
    body = {"amount": 5000, "currency": "XAF", "payment_method": card["id"]}
    error = sandbox.api.rejected("POST", "/payment-intents/", 422, "PAYMENT_METHOD_NOT_SUPPORTED", json=body)
    assert error["param"] == "payment_method"
    assert sandbox.pay(phone)["status"] == "succeeded"


MAKERS = {
    "checkout-sessions": lambda sandbox, **types: sandbox.session_body(**types),
    "payment-links": lambda sandbox, **types: sandbox.link_body(**types),
    "payment-intents": lambda _, **types: {"amount": 5000, "currency": "XAF", **types},
}
"""What is made with ``payment_method_types``."""


@pytest.mark.parametrize("path", MAKERS)
def test_methods_are_stored_as_far_as_profiles_allow_them(sandbox: Sandbox, path: str) -> None:
    """B-58: left out or empty all that they allow; of those given the ones that they allow; none left is a 422."""
    profile(sandbox, allowed_payment_methods=["mobile_money", "bank_transfer", "bank_card"])
    profile(sandbox, name="Second", allowed_payment_methods=["bank_card", "mobile_money"])
    both = ["mobile_money", "bank_card"]
    for given, stored in ((None, both), ([], both), (["bank_transfer", "bank_card"], ["bank_card"])):
        body = MAKERS[path](sandbox, **({} if given is None else {"payment_method_types": given}))
        assert sandbox.api.post(f"/{path}/", body)["payment_method_types"] == stored
    body = MAKERS[path](sandbox, payment_method_types=["bank_transfer", "paypal"])
    error = sandbox.api.rejected("POST", f"/{path}/", 422, "PAYMENT_METHOD_NOT_SUPPORTED", json=body)
    refused = "the security profile 'Second' (allowed_payment_methods) does not allow bank_transfer"
    assert error["errors"] == {"payment_method_types": [refused]}


def test_a_links_methods_change_within_what_profiles_allow(sandbox: Sandbox) -> None:
    """B-58; what is stored before a profile is created stays as it is, and its page offers what is allowed now."""
    link = sandbox.link()
    profile(sandbox, allowed_payment_methods=["bank_card"])
    path = f"/payment-links/{link['id']}/"
    refused = {"payment_method_types": ["bank_transfer"], "name": "Other"}
    error = sandbox.api.rejected("PATCH", path, 422, "PAYMENT_METHOD_NOT_SUPPORTED", json=refused)
    assert (error["param"], sandbox.api.get(path)) == ("payment_method_types", link)
    for given in ([], ["bank_card", "paypal"]):
        assert sandbox.api.patch(path, {"payment_method_types": given})["payment_method_types"] == ["bank_card"]


def test_a_buyer_is_held_to_them_as_well(sandbox: Sandbox) -> None:
    """B-70: also a payment that the control API makes."""
    session = sandbox.session()
    path, body = f"/checkout-sessions/{session['id']}/pay", {"method": PHONE}
    made = profile(sandbox, allowed_payment_methods=["bank_card"])
    sandbox.control.rejected("POST", path, 422, "PAYMENT_METHOD_NOT_SUPPORTED", json=body)
    sandbox.api.patch(path_of(made), {"allowed_payment_methods": [], "max_amount": 4999})
    sandbox.control.rejected("POST", path, 403, "PERMISSION_DENIED", json=body)
    assert sandbox.api.get(f"/checkout-sessions/{session['id']}/") == session
