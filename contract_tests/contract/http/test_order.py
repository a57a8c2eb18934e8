"""The order of checks, pair by pair: of two errors of a request the one that comes first is answered (B-05)."""

from __future__ import annotations

from typing import Any

import pytest

from contract_tests.support.sandbox import Sandbox

NO_KEY = {"Authorization": ""}
PUBLIC = {"Authorization": "Bearer pk_test_demo"}
EXPIRED = {"Authorization": "Bearer sk_test_expired"}
DISABLED = {"Authorization": "Bearer sk_test_disabled"}
FORCED = {"Emulator-Answer": "RATE_LIMIT_EXCEEDED"}
JSON = {"Content-Type": "application/json"}
NOT_JSON = {"content": b"{", "headers": JSON}
EMPTY: dict[str, Any] = {"json": {}}


@pytest.mark.parametrize(
    ("method", "path", "options", "status", "code"),
    [
        # The route comes before the key, and the path before the method.
        ("POST", "/nothing/", NOT_JSON | {"headers": NO_KEY}, 404, "NOT_FOUND"),
        ("PUT", "/nothing/", {}, 404, "NOT_FOUND"),
        ("PUT", "/customers", {}, 404, "NOT_FOUND"),
        ("PUT", "/customers/", NOT_JSON | {"headers": NO_KEY}, 405, "METHOD_NOT_ALLOWED"),
        ("PUT", "/customers/?x=1", {"headers": FORCED}, 405, "METHOD_NOT_ALLOWED"),
        # The key comes before everything that the request says.
        ("POST", "/customers/?x=1", NOT_JSON | {"headers": JSON | NO_KEY}, 401, "AUTHENTICATION_FAILED"),
        ("POST", "/customers/?x=1", NOT_JSON | {"headers": JSON | PUBLIC}, 403, "PUBLIC_KEY_NOT_ALLOWED"),
        ("POST", "/customers/", NOT_JSON | {"headers": JSON | EXPIRED}, 401, "EXPIRED_API_KEY"),
        ("POST", "/customers/", EMPTY | {"headers": FORCED | EXPIRED}, 401, "EXPIRED_API_KEY"),
        ("GET", "/customers/x/", {"headers": NO_KEY}, 401, "AUTHENTICATION_FAILED"),
        # Then the state of App and company, then the forced answer.
        ("POST", "/customers/?x=1", NOT_JSON | {"headers": JSON | DISABLED}, 403, "APP_DISABLED"),
        ("POST", "/customers/", NOT_JSON | {"headers": JSON | FORCED | DISABLED}, 403, "APP_DISABLED"),
        ("POST", "/customers/?x=1", NOT_JSON | {"headers": JSON | FORCED}, 429, "RATE_LIMIT_EXCEEDED"),
        # The form of the body comes before parameters and fields.
        ("POST", "/customers/?x=1", NOT_JSON, 400, "VALIDATION_ERROR"),
        ("POST", "/customers/?" + "x=1&" * 200, NOT_JSON, 400, "VALIDATION_ERROR"),
        ("POST", "/customers/?x=1", {"content": b"{}"}, 400, "VALIDATION_ERROR"),
        ("POST", "/subscriptions/x/pause/?x=1", NOT_JSON, 400, "VALIDATION_ERROR"),
        # Parameters and fields come before the objects.
        ("GET", "/customers/x/?x=1", {}, 422, "INVALID_FILTER_PARAM"),
        ("GET", "/customers/?page=0", {}, 422, "INVALID_FILTER_PARAM"),
        ("POST", "/subscriptions/", {"json": {"customer": "c", "plan": "p", "interval": 1}}, 422, "INVALID_FIELD"),
        ("POST", "/subscriptions/x/pause/", {"json": {"x": 1}}, 422, "INVALID_FIELD"),
        ("POST", "/subscriptions/x/cancel/", {"json": {"x": 1}}, 422, "INVALID_FIELD"),
    ],
)
def test_the_first_fault_decides(
    sandbox: Sandbox, method: str, path: str, options: dict[str, Any], status: int, code: str
) -> None:
    sandbox.api.rejected(method, path, status, code, **options)


def test_fields_come_before_a_conflict(sandbox: Sandbox) -> None:
    """422 before 409."""
    taken = sandbox.customer()["email"]
    body = {"email": taken, "name": "Awa", "phone": "12"}
    sandbox.api.rejected("POST", "/customers/", 422, "INVALID_FIELD", json=body)
    sandbox.api.rejected("POST", "/customers/", 409, "customer_email_exists", json={"email": taken, "name": "Awa"})


def test_idempotency_comes_after_the_fields_and_before_the_objects(sandbox: Sandbox) -> None:
    """A used key: wrong fields are 422 still, a missing customer is answered with a conflict."""
    headers = {"Idempotency-Key": "k"}
    body = {"customer": "cust_x", "unit_amount": 500, "interval": "month"}
    sandbox.api.rejected("POST", "/subscriptions/", 404, "CUSTOMER_NOT_FOUND", json=body, headers=headers)
    wrong = {**body, "interval": "age"}
    sandbox.api.rejected("POST", "/subscriptions/", 422, "INVALID_FIELD", json=wrong, headers=headers)
    other = {**body, "unit_amount": 600}
    sandbox.api.rejected("POST", "/subscriptions/", 409, "IDEMPOTENCY_CONFLICT", json=other, headers=headers)


@pytest.mark.parametrize("name", ["Idempotency-Key", "Origin"])
def test_a_header_that_may_be_sent_once_is_rejected_when_sent_twice(sandbox: Sandbox, name: str) -> None:
    """B-05."""
    headers = [(name, "https://a.example"), (name, "https://b.example"), ("Authorization", f"Bearer {sandbox.key}")]
    answer = sandbox.api.rejected("POST", "/customers/", 400, "VALIDATION_ERROR", json={}, headers=headers)
    assert answer["param"] == name
