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
