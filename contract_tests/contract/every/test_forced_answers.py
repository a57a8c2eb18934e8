"""Forced answers: ``Emulator-Answer: CODE`` has any error of the model answered, and nothing is done (B-94)."""

from __future__ import annotations

import re

import pytest

from contract_tests.support.sandbox import Sandbox
from emulator.core.errors import CODES, ERRORS

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


@pytest.mark.breaks_the_document  # a code may be forced where it could not arise
@pytest.mark.parametrize("code", CODES)
def test_every_operation_answers_every_code(sandbox: Sandbox, code: str) -> None:
    """B-94: and as the operation's documented answers are, wherever the document has an answer of this status."""
    headers, status = {"Emulator-Answer": code}, ERRORS[code].status
    for operation in sandbox.api.contract.operations:
        path = re.sub(r"\{\w+\}", "x", operation.path)
        documented = str(status) in operation.node["responses"]
        send = sandbox.api.request if documented else sandbox.api.http.request
        response = send(operation.method, path, headers=headers)
        assert response.status_code == status


@pytest.mark.breaks_the_document  # a code may be forced where it could not arise
@pytest.mark.parametrize("code", CODES)
def test_a_body_of_any_form_gets_the_code(sandbox: Sandbox, code: str) -> None:
    """B-05: forced answers come before the form of the body."""
    names = ("amount", "currency", "transaction", "payment_method", "metadata")
    bodies = [*(dict.fromkeys(names, value) for value in ([], {}, -1, [{}], None)), [], None]
    for path in ("/refunds/", "/payment-intents/x/capture/", "/products/"):
        for body in bodies:
            answer = sandbox.api.http.post(path, json=body, headers={"Emulator-Answer": code})
            assert answer.status_code == ERRORS[code].status


@pytest.mark.breaks_the_document  # a code may be forced where it could not arise
@pytest.mark.parametrize("code", CODES)
def test_an_arranged_code_is_answered_as_the_header_is(sandbox: Sandbox, code: str) -> None:
    sandbox.control.post("/faults", {"then": {"code": code}})
    arranged = sandbox.api.http.post("/customers/", json=AWA)
    forced = sandbox.api.http.post("/customers/", json=AWA, headers={"Emulator-Answer": code})
    assert {**arranged.json(), "request_id": None} == {**forced.json(), "request_id": None}


def test_the_message_is_that_of_the_table(sandbox: Sandbox) -> None:
    """A forced error is about no field and no record: what a real one says of them is in brackets."""
    headers = {"Emulator-Answer": "CUSTOMER_NOT_FOUND"}
    answer = sandbox.api.rejected("GET", "/customers/cus_1/", 404, "CUSTOMER_NOT_FOUND", headers=headers)
    assert answer["message"] == "There is no customer (id)."
    assert answer.keys().isdisjoint(("param", "errors"))


def test_an_unknown_code_is_itself_rejected(sandbox: Sandbox) -> None:
    """B-95: 422 INVALID_FIELD."""
    error = sandbox.api.rejected("GET", "/customers/", 422, "INVALID_FIELD", headers={"Emulator-Answer": "OOPS"})
    assert error["param"] == "Emulator-Answer"


def test_it_comes_after_the_key_and_before_the_body(sandbox: Sandbox) -> None:
    """B-05: key, state of App and company, forced answer, form of the body."""
    forced = {"Emulator-Answer": "DATABASE_ERROR"}
    sandbox.api.rejected("POST", "/customers/", 500, "DATABASE_ERROR", content=b"{", headers=forced)
    wrong_key = {**forced, "Authorization": "Bearer nonsense"}
    sandbox.api.rejected("POST", "/customers/", 401, "INVALID_TOKEN", json=AWA, headers=wrong_key)
