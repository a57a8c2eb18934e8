"""Forced answers: ``Emulator-Answer: CODE`` has any error of the model answered, and nothing is done (B-94)."""

from __future__ import annotations

import re

import pytest

from contract_tests.sandbox import Sandbox
from emulator.errors import CODES, ERRORS

AWA = {"email": "awa@example.com", "name": "Awa Diop"}


@pytest.mark.breaks_the_document  # a code may be forced where it could not arise
@pytest.mark.parametrize("code", CODES)
def test_every_code_is_answered_with_its_status_and_shape(sandbox: Sandbox, code: str) -> None:
    """Business codes of the specification, in the shape the document shows for each (B-10)."""
    response = sandbox.api.http.post("/customers/", json=AWA, headers={"Emulator-Answer": code})
    row, body = ERRORS[code], response.json()
    assert response.status_code == row.status
    if row.flat:
        assert body["error"]["type"] == row.category.lower()
        assert body["error"]["code"] == code
    else:
        assert (body["type"], body["code"], body["status"]) == (row.category, code, row.status)
        assert body["doc_url"] == f"{sandbox.url}/docs/errors#{code}"
        assert body["request_id"] == response.headers["request-id"]
    if row.status == 429:
        assert response.headers["retry-after"] == str(body["retry_after"]) == "1"
    if row.status == 405:
        assert response.headers["allow"]
    assert sandbox.api.get("/customers/")["pagination"]["count"] == 0


WITH_PARAM = {
    "customer_email_exists": "email",
    "DUPLICATE_EMAIL": "email",
    "DUPLICATE_SKU": "metadata.sku",
    "refund_amount_exceeds_available": "amount",
    "CAPTURE_AMOUNT_EXCEEDS_ORIGINAL": "amount",
    "CURRENCY_NOT_IN_PLAN": "currency",
    "INVALID_CURRENCY": "currency",
    "AMOUNT_TOO_SMALL": "unit_amount",
    "AMOUNT_TOO_LARGE": "unit_amount",
    "MISSING_FIELD": "name",
    "INVALID_FIELD": "name",
    "WEBHOOK_ENDPOINT_UNREACHABLE": "url",
}


@pytest.mark.breaks_the_document  # a code may be forced where it could not arise
@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/customers/"),
        ("GET", "/customers/{id}/"),
        ("POST", "/products/"),
        ("POST", "/subscriptions/{id}/cancel/"),
    ],
)
@pytest.mark.parametrize("arranged", [False, True])
def test_no_message_shows_a_placeholder(sandbox: Sandbox, method: str, path: str, code: str, arranged: bool) -> None:
    customer = sandbox.customer()["id"]
    if arranged:
        sandbox.control.post("/faults", {"then": {"code": code}})
    headers = {} if arranged else {"Emulator-Answer": code}
    response = sandbox.api.http.request(method, path.format(id=customer), headers=headers)
    body = response.json()
    error = body.get("error", body)
    assert not re.search(r"None|[(){}]", error["message"]), error["message"]
    assert not re.search(r"None|[(){}]", str(list(error.get("errors", {}).values())))
    if path == "/products/" and code in WITH_PARAM:
        assert error["param"] == WITH_PARAM[code]
        assert "error" in body or set(error["errors"]) == {error["param"]}
    if code == "VALIDATION_ERROR":
        assert len(error["errors"]) >= 1
    if code == "CUSTOMER_NOT_FOUND" and "{id}" in path:
        assert customer in error["message"]
    if response.status_code == 429:
        assert response.headers["retry-after"] == str(error["retry_after"])


def test_a_forced_404_names_the_id_of_the_body(sandbox: Sandbox) -> None:
    """As the service does: param, errors and the id that was sent (B-15)."""
    body = {"customer": "cust_gone", "line_items": []}
    headers = {"Emulator-Answer": "CUSTOMER_NOT_FOUND"}
    answer = sandbox.api.refused("POST", "/invoices/", 404, "CUSTOMER_NOT_FOUND", json=body, headers=headers)
    assert answer["message"] == "There is no customer cust_gone."
    assert (answer["param"], answer["errors"]) == ("customer", {"customer": ["there is no cust_gone"]})


def test_a_forced_validation_error_names_the_fields_of_the_operation(sandbox: Sandbox) -> None:
    headers = {"Emulator-Answer": "VALIDATION_ERROR"}
    answer = sandbox.api.refused("POST", "/customers/", 422, "VALIDATION_ERROR", json=AWA, headers=headers)
    assert set(answer["errors"]) == {"email", "name"}


@pytest.mark.breaks_the_document  # the tester's own body
def test_every_429_says_when_to_come_back(sandbox: Sandbox) -> None:
    """Errors: Retry-After is present on every 429, one of the tester's own included."""
    sandbox.control.post("/faults", {"then": {"status": 429, "body": {"busy": True}}})
    assert sandbox.api.http.get("/customers/").headers["retry-after"] == "1"


OF_STATUS = {
    "400": "refund_amount_exceeds_available",
    "401": "INVALID_API_KEY",
    "403": "PERMISSION_DENIED",
    "404": "NOT_FOUND",
    "409": "IDEMPOTENCY_CONFLICT",
    "422": "VALIDATION_ERROR",
    "429": "RATE_LIMIT_EXCEEDED",
    "500": "INTERNAL_ERROR",
}


def test_every_operation_can_be_told_to_fail_in_each_documented_way(sandbox: Sandbox) -> None:
    """B-94: the client holds each answer against what the operation's own document says of that status."""
    contract = sandbox.api.contract
    for operation in contract.operations:
        path = re.sub(r"\{\w+\}", "x", operation.path)
        for status in operation.node["responses"].keys() & OF_STATUS.keys():
            headers = {"Emulator-Answer": OF_STATUS[status]}
            assert sandbox.api.request(operation.method, path, headers=headers).status_code == int(status)


def test_an_unknown_code_is_itself_refused(sandbox: Sandbox) -> None:
    """B-95: 422 INVALID_FIELD."""
    told = sandbox.api.refused("GET", "/customers/", 422, "INVALID_FIELD", headers={"Emulator-Answer": "OOPS"})
    assert told["param"] == "Emulator-Answer"


def test_it_comes_after_the_key_and_before_the_body(sandbox: Sandbox) -> None:
    """B-05: key, state of App and company, forced answer, form of the body."""
    forced = {"Emulator-Answer": "DATABASE_ERROR"}
    sandbox.api.refused("POST", "/customers/", 500, "DATABASE_ERROR", content=b"{", headers=forced)
    wrong_key = {**forced, "Authorization": "Bearer nonsense"}
    sandbox.api.refused("POST", "/customers/", 401, "INVALID_TOKEN", json=AWA, headers=wrong_key)
