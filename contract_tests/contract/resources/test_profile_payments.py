"""Security profiles and payments: the cap on amounts and the methods that are allowed (rules 3 and 4; B-51, B-55)."""

from __future__ import annotations

from typing import Any

import pytest

from contract_tests.support.sandbox import Sandbox


def profile(sandbox: Sandbox, **rules: Any) -> Any:
    return sandbox.api.post("/security-profiles/", {"name": "Strict", **rules})


@pytest.mark.parametrize(("amount", "allowed"), [(4999, True), (5000, True), (5001, False)])
def test_the_cap_is_on_the_raw_amount_before_anything_is_made(sandbox: Sandbox, amount: int, allowed: bool) -> None:
    """Rule 3: below, at and above the lowest ``max_amount`` (B-70); above it is 403 and there is no intent."""
    for cap in (None, 5000, 6000):
        profile(sandbox, max_amount=cap)
    answer = sandbox.api.request("POST", "/payment-intents/", json={"amount": amount, "currency": "XAF"})
    assert answer.status_code == (201 if allowed else 403)
    assert allowed or (answer.json()["code"], "max_amount" in answer.json()["message"]) == ("PERMISSION_DENIED", True)
    assert sandbox.api.get("/payment-intents/")["pagination"]["count"] == int(allowed)


@pytest.mark.parametrize(("amount", "allowed"), [(10_000, True), (10_001, False)])
def test_the_cap_is_before_taxes(sandbox: Sandbox, amount: int, allowed: bool) -> None:
    """Rule 3: "before discounts or taxes", for an invoice, a checkout session and a renewal alike (B-51)."""
    sandbox.settings(tax_rate=18, maximum_amount=99_999_999)
    profile(sandbox, max_amount=10_000)
    lines = [{"description": "Advice", "unit_amount": amount}]
    customer = sandbox.customer(phone="+24177001234")
    invoice = sandbox.api.post("/invoices/", {"customer": customer["id"], "line_items": lines})
    sandbox.api.post(f"/invoices/{invoice['id']}/finalize/")
    session = sandbox.session(mode="subscription", customer=customer["id"], line_items=lines)
    for what, id in (("invoices", invoice["id"]), ("checkout-sessions", session["id"])):
        body = {"method": {"type": "mobile_money", "phone": "+24177001234"}}
        answer = sandbox.control.request("POST", f"/{what}/{id}/pay", json=body)
        assert answer.status_code == (200 if allowed else 403)
    body = {"customer": customer["id"], "unit_amount": amount, "interval": "month"}
    made = sandbox.api.post("/subscriptions/", body)
    status = sandbox.api.get(f"/subscriptions/{made['id']}/")["status"]
    assert status == ("active" if allowed else "past_due")


def test_a_cap_that_came_later_stops_the_confirmation(sandbox: Sandbox) -> None:
    """Rule 6: a profile applies at once."""
    intent = sandbox.intent(sandbox.method())
    made = profile(sandbox, max_amount=4999)
    path = f"/payment-intents/{intent['id']}/confirm/"
    sandbox.api.rejected("POST", path, 403, "PERMISSION_DENIED")
    sandbox.api.delete(f"/security-profiles/{made['id']}/")
    assert sandbox.api.post(path)["status"] == "succeeded"


def test_only_listed_methods_can_be_used(sandbox: Sandbox) -> None:
    """Rule 4: 422 PAYMENT_METHOD_NOT_SUPPORTED, nothing made (B-55). Each profile has to list it (B-70)."""
    card, customer = sandbox.method(), sandbox.customer(phone="+24177000000")
    phone = sandbox.api.get(f"/customers/{customer['id']}/payment-methods/")["data"][0]
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

REFUSED = "the security profile 'Second' (allowed_payment_methods) does not allow bank_transfer"


@pytest.mark.parametrize("path", MAKERS)
def test_methods_are_stored_as_far_as_profiles_allow_them(sandbox: Sandbox, path: str) -> None:
    """B-58: left out or empty all that they allow; of those given the ones that they allow; none left is a 422."""
    profile(sandbox, allowed_payment_methods=["mobile_money", "bank_transfer", "bank_card"])
    profile(sandbox, name="Second", allowed_payment_methods=["bank_card", "mobile_money"])
    cases = {
        None: ["mobile_money", "bank_card"],
        (): ["mobile_money", "bank_card"],
        ("bank_transfer", "bank_card"): ["bank_card"],
    }
    for given, stored in cases.items():
        body = MAKERS[path](sandbox, **({} if given is None else {"payment_method_types": given}))
        assert sandbox.api.post(f"/{path}/", body)["payment_method_types"] == stored
    body = MAKERS[path](sandbox, payment_method_types=["bank_transfer", "paypal"])
    error = sandbox.api.rejected("POST", f"/{path}/", 422, "PAYMENT_METHOD_NOT_SUPPORTED", json=body)
    assert error["param"] == "payment_method_types"
    assert error["errors"] == {"payment_method_types": [REFUSED]}


def test_a_links_methods_change_within_what_profiles_allow(sandbox: Sandbox) -> None:
    """B-58; what is stored before a profile is created stays as it is, and its page offers what is allowed now."""
    link = sandbox.link()
    profile(sandbox, allowed_payment_methods=["bank_card"])
    path = f"/payment-links/{link['id']}/"
    assert len(sandbox.api.get(path)["payment_method_types"]) == 4
    refused = {"payment_method_types": ["bank_transfer"], "name": "Other"}
    error = sandbox.api.rejected("PATCH", path, 422, "PAYMENT_METHOD_NOT_SUPPORTED", json=refused)
    assert (error["param"], sandbox.api.get(path)["name"]) == ("payment_method_types", link["name"])
    for given in ([], ["bank_card", "paypal"]):
        assert sandbox.api.patch(path, {"payment_method_types": given})["payment_method_types"] == ["bank_card"]


def test_a_buyer_is_held_to_them_as_well(sandbox: Sandbox) -> None:
    """B-70: also a payment that the control API makes."""
    session = sandbox.api.post("/checkout-sessions/", SESSION)
    path = f"/checkout-sessions/{session['id']}/pay"
    made = profile(sandbox, allowed_payment_methods=["bank_card"])
    body = {"method": {"type": "mobile_money", "phone": "+24177000000"}}
    sandbox.control.rejected("POST", path, 422, "PAYMENT_METHOD_NOT_SUPPORTED", json=body)
    sandbox.api.patch(f"/security-profiles/{made['id']}/", {"allowed_payment_methods": [], "max_amount": 4999})
    sandbox.control.rejected("POST", path, 403, "PERMISSION_DENIED", json=body)
    assert sandbox.api.get(f"/checkout-sessions/{session['id']}/") == session


SESSION = {
    "success_url": "https://shop.example.com/thanks",
    "currency": "XAF",
    "line_items": [{"description": "Advice", "unit_amount": 5000}],
}


@pytest.mark.parametrize("rules", [{"max_amount": 4999}, {"allowed_payment_methods": ["bank_card"]}], ids=str)
def test_a_renewal_that_a_profile_forbids_is_a_failed_attempt(sandbox: Sandbox, rules: dict[str, Any]) -> None:
    """No intent is made for it, and the retries go on (B-45); once the profile is gone the next one succeeds."""
    subscription = sandbox.subscribe()
    profile(sandbox, max_amount=6000)
    made = profile(sandbox, **rules)
    with sandbox.expect("subscription.payment_failed"):
        sandbox.advance("31d")
    assert sandbox.subscription(subscription["id"])["status"] == "past_due"
    sandbox.api.delete(f"/security-profiles/{made['id']}/")
    with sandbox.expect("payment_intent.succeeded", "transaction.succeeded", "invoice.paid"):
        sandbox.advance("1d")
    assert sandbox.subscription(subscription["id"])["status"] == "active"


def test_on_the_starter_plan_profiles_filter_nothing(sandbox: Sandbox) -> None:
    """Rule 7."""
    profile(sandbox, max_amount=100)
    sandbox.settings(pricing_plan="starter")
    assert sandbox.pay(amount=5000)["status"] == "succeeded"
