"""The App and its settings through the control API (B-90)."""

from __future__ import annotations

from typing import Any

import pytest

from contract_tests.support.client import Client
from contract_tests.support.sandbox import Sandbox
from contract_tests.support.settings import OF_SETTINGS, SHOWN

OTHERS: dict[str, Any] = {
    "main_currency": "EUR",
    "currencies": ["XAF", "GBP"],
    "countries": ["FR"],
    "pricing_plan": "enterprise",
    "commission_rate": 1.5,
    "tax_rate": 19.25,
    "minimum_amount": 0,
    "maximum_amount": 1000,
    "error_shape": "flat",
    "unknown_fields": "ignore",
    "rate_limit": {"per_second": 0.5, "burst": 1},
    "concurrency_limit": 1,
    "renewal_retry_days": [],
    "reactivation_days": 0,
    "operator_delay": 2.5,
    "confirmation_timeout": 86400,
    "mobile_money": "handset",
    "refund_timing": "instant",
    "refund_review": True,
    "refund_expiry_days": 1,
    "webhook_http": "never",
    "trusted_proxies": [],
    "merchant": {
        "name": "Okoumé",
        "address": ["BP 7", "Libreville"],
        "tax_number": "GA-1",
        "email": None,
        "phone": None,
        "logo": None,
    },
    "assumptions": {
        "search_nothing_found": "error",
        "metadata_values": "any",
        "webhook_success": "2xx",
        "webhook_retry": "all",
        "cors_without_domains": "any",
        "unknown_fields": "reject",
        "error_shape": "documented",
        "refund_timing": "documented",
        "renewal_without_method": "fail",
        "past_due_periods": "charged",
        "success_url": "required",
        "anonymous_customer": "none",
        "payment_received": "transaction",
    },
}

WRONG: list[tuple[str, Any]] = [
    ("main_currency", "xaf"),
    ("main_currency", "GBP"),
    ("currencies", []),
    ("currencies", ["XAF", "ABC"]),
    ("countries", ["Gabon"]),
    ("pricing_plan", "free"),
    ("commission_rate", -1),
    ("tax_rate", 101),
    ("minimum_amount", -1),
    ("minimum_amount", 1.5),
    ("maximum_amount", "1000"),
    ("error_shape", "round"),
    ("unknown_fields", True),
    ("rate_limit", {"per_second": 0, "burst": 1}),
    ("rate_limit", {"per_second": 1}),
    ("concurrency_limit", 0),
    ("renewal_retry_days", [0]),
    ("reactivation_days", None),
    ("operator_delay", -0.1),
    ("confirmation_timeout", 0),
    ("confirmation_timeout", 86401),
    ("refund_review", "yes"),
    ("webhook_http", "https"),
    ("assumptions", {"payment_received": "never"}),
    ("assumptions", {"no_such_assumption": "any"}),
    ("no_such_setting", 1),
    ("merchant", {"no_such_field": 1}),
]

NESTED = [
    ({"merchant": {"address": "BP 7"}}, "settings.merchant.address: must be an array"),
    ({"rate_limit": {"per_second": "a", "burst": 1}}, "settings.rate_limit.per_second: must be a number"),
    ({"rate_limit": "50, 100"}, "settings.rate_limit: must be null or an object"),
]
"""Wrong values within settings that may also be null, and their messages."""


def settings(sandbox: Sandbox) -> Any:
    return sandbox.control.get("/app")["settings"]


def test_an_app_starts_with_the_documented_settings(sandbox: Sandbox) -> None:
    app = sandbox.control.get("/app")
    assert app["settings"] == SHOWN
    assert app["settings"].keys() == OTHERS.keys(), "each is changed in a test below"
    assert (app["key"], app["livemode"]) == (sandbox.key, False)
    assert app["id"] == sandbox.customer()["app"]


@pytest.mark.parametrize("name", OTHERS)
def test_each_setting_can_be_changed_alone(sandbox: Sandbox, name: str) -> None:
    before = settings(sandbox)
    assert before[name] != OTHERS[name]
    changed = sandbox.control.patch("/app", {"settings": {name: OTHERS[name]}})
    expected = {**before, name: OTHERS[name]}
    if name in OF_SETTINGS:
        expected["assumptions"] = {**before["assumptions"], name: OTHERS[name]}
    assert changed["settings"] == expected == settings(sandbox)


@pytest.mark.parametrize(("name", "value"), WRONG, ids=lambda value: str(value)[:30])
def test_a_wrong_name_or_value_is_rejected_and_nothing_changes(sandbox: Sandbox, name: str, value: Any) -> None:
    before = settings(sandbox)
    body = {"settings": {name: value, "tax_rate": 18} if name != "tax_rate" else {name: value}}
    answer = sandbox.control.request("PATCH", "/app", json=body)
    assert answer.status_code == 422
    assert name in answer.text
    assert settings(sandbox) == before


@pytest.mark.parametrize(("value", "message"), NESTED, ids=str)
def test_the_field_that_is_wrong_within_a_setting_is_named(sandbox: Sandbox, value: Any, message: str) -> None:
    assert (
        sandbox.control.rejected("PATCH", "/app", 422, "INVALID_FIELD", json={"settings": value})["message"] == message
    )


def test_what_is_not_sent_stays_as_it_is(sandbox: Sandbox, live: Sandbox) -> None:
    """B-99: a change of one assumption is merged with the others. B-02, B-07, B-21: the live side has settings of its
    own, and they survive a reset of the data.
    """
    before = settings(sandbox)
    own = {"payment_received": "transaction", "success_url": "required"}
    for name, value in own.items():
        sandbox.settings(assumptions={name: value})
    sandbox.api.post("/reset")
    assert sandbox.control.patch("/app", {})["settings"] == settings(sandbox)
    assert settings(sandbox) == {**before, "assumptions": {**before["assumptions"], **own}}
    assert (live.control.get("/app")["livemode"], settings(live)) == (True, before)


def test_the_app_is_found_by_name_and_demo_without_one(sandbox: Sandbox) -> None:
    """A control call acts on the world of the key, or of ``app=NAME``, or of ``demo``."""
    keyless = Client(sandbox.url, sandbox.control.contract, None)
    name = sandbox.key.removeprefix("sk_test_")
    sandbox.control.patch("/app", {"settings": {"tax_rate": 18}})
    assert keyless.get("/app", app=name)["settings"]["tax_rate"] == 18
    assert keyless.get("/app")["name"] == "demo"
    keyless.rejected("GET", "/app", 422, "INVALID_FILTER_PARAM", params={"app": "a b"})
    keyless.close()


def test_the_shape_of_errors_is_a_setting(sandbox: Sandbox) -> None:
    """B-10: flat, ``customer_email_exists`` reads ``DUPLICATE_EMAIL``; nested, all are in lower case, and the message
    names all faults (B-12), though the shape has no ``errors``.
    """
    body = {"email": "a@example.com", "name": "A"}
    sandbox.api.post("/customers/", body)
    sandbox.settings(error_shape="flat")
    error = sandbox.api.rejected("POST", "/customers/", 409, "DUPLICATE_EMAIL", json=body)
    assert (error["type"], error["status"], error["param"]) == ("CONFLICT_ERROR", 409, "email")
    assert set(error["errors"]) == {"email"}
    sandbox.settings(error_shape="nested")
    answer = sandbox.api.request("GET", "/customers/cust_x/")
    error = answer.json()["error"]
    assert (answer.status_code, error["type"], error["code"]) == (404, "not_found_error", "customer_not_found")
    error = sandbox.api.request("POST", "/customers/", json={"name": 5}).json()["error"]
    assert error["code"] == "validation_error"
    assert sorted(error["message"].split("; ")) == ["email: is required", "name: must be a string"]
