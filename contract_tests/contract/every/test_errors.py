"""Errors: ``Emulator-Answer: CODE`` forces any one without effect (B-94); recipes lead to them."""

from __future__ import annotations

import re
from contextlib import closing
from typing import Any

import pytest

from contract_tests.support.client import Client
from contract_tests.support.sandbox import Sandbox
from emulator.core.errors import CODES, ERRORS
from emulator.document.references import filled, value_at
from emulator.engine.reference_data import error_examples

AWA = {"email": "awa@example.com", "name": "Awa Diop"}

ONE_OF_EACH_STATUS = {ERRORS[code].status: code for code in CODES}


@pytest.mark.breaks_the_document  # a code may be forced where it could not arise
@pytest.mark.parametrize("code", CODES)
def test_every_code_can_be_forced(sandbox: Sandbox, code: str) -> None:
    """The specification's codes in the document's shape for each (B-10)."""
    response = sandbox.api.http.post("/customers/", json=AWA, headers={"Emulator-Answer": code})
    row, body = ERRORS[code], response.json()
    message = body.get("error", body)["message"]
    assert message.endswith(".")
    assert not re.search(r"[(){}]", message), "a whole sentence, without a placeholder"
    assert response.status_code == row.status
    if row.flat:
        assert (body["error"]["type"], body["error"]["code"]) == (row.category.lower(), code)
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
@pytest.mark.parametrize(
    "code",
    [
        pytest.param(code, marks=() if code in ONE_OF_EACH_STATUS.values() else pytest.mark.long)
        for code in CODES
    ],
)
def test_an_arranged_code_is_as_a_forced_one(sandbox: Sandbox, code: str) -> None:
    forced = sandbox.api.http.post("/customers/", json=AWA, headers={"Emulator-Answer": code})
    sandbox.control.post("/faults", {"then": {"code": code}})
    arranged = sandbox.api.http.post("/customers/", json=AWA)
    assert arranged.status_code == forced.status_code
    assert {**arranged.json(), "request_id": None} == {**forced.json(), "request_id": None}
    assert sandbox.api.get("/customers/")["pagination"]["count"] == 0


def test_no_operation_succeeds_for_an_id_that_a_client_made_up(sandbox: Sandbox) -> None:
    """So the lines that ``serve`` prints show the path of a success as it is: it has no secret."""
    for operation in sandbox.api.contract.operations:
        if "{" not in operation.path:
            continue
        path = re.sub(r"\{\w+\}", "4242424242424242", operation.path)
        [content] = operation.node.get("requestBody", {}).get("content", {"": {}}).values()
        for body in (None, {}, content.get("example", {})):
            response = sandbox.api.http.request(operation.method, path, json=body)
            assert response.status_code >= 400, operation.name


@pytest.mark.breaks_the_document  # a code may be forced where it could not arise
@pytest.mark.parametrize("code", ONE_OF_EACH_STATUS.values())
def test_every_operation_responds_with_a_forced_code_whatever_it_is_sent(
    sandbox: Sandbox, code: str, thorough: bool
) -> None:
    """B-94: as documented, wherever a response has this status; B-05: before the body's form.

    A plain run tries a third of the pairs, of each code and of each operation.
    """
    headers, status = {"Emulator-Answer": code}, ERRORS[code].status
    first, step = (0, 1) if thorough else ([*ONE_OF_EACH_STATUS].index(status) % 3, 3)
    for operation in sandbox.api.contract.operations[first::step]:
        path = re.sub(r"\{\w+\}", "x", operation.path)
        send = (
            sandbox.api.request
            if str(status) in operation.node["responses"]
            else sandbox.api.http.request
        )
        assert send(operation.method, path, headers=headers).status_code == status
    names = ("amount", "currency", "transaction", "payment_method", "metadata")
    for path in ("/refunds/", "/payment-intents/x/capture/", "/products/"):
        for body in (
            *(dict.fromkeys(names, value) for value in ([], {}, -1, [{}], None)),
            [],
            None,
        ):
            assert sandbox.api.http.post(path, json=body, headers=headers).status_code == status


FORCED_ERROR = {"Emulator-Answer": "DATABASE_ERROR"}


def test_a_forced_code_comes_before_the_body(sandbox: Sandbox) -> None:
    """B-05: key, state of App and company, forced code, body's form."""
    sandbox.api.rejected(
        "POST", "/customers/", 500, "DATABASE_ERROR", content=b"{", headers=FORCED_ERROR
    )


def test_a_forced_code_comes_after_the_key(sandbox: Sandbox) -> None:
    """B-05."""
    wrong_key = {**FORCED_ERROR, "Authorization": "Bearer nonsense"}
    sandbox.api.rejected("POST", "/customers/", 401, "INVALID_TOKEN", json=AWA, headers=wrong_key)


@pytest.mark.parametrize("code", ["OOPS", *sorted(ERRORS.keys() - {*CODES})])
def test_a_code_that_is_not_documented_cannot_be_forced(sandbox: Sandbox, code: str) -> None:
    """B-95."""
    error = sandbox.api.rejected(
        "GET", "/customers/", 422, "INVALID_FIELD", headers={"Emulator-Answer": code}
    )
    assert error["param"] == "Emulator-Answer"


# -- recipes: the requests that the error pages give for a code really lead to that code


RECIPES = error_examples()

FORCED = {
    *("WEBHOOK_SIGNATURE_INVALID", "TERMINAL_OFFLINE", "RATE_LIMIT_EXCEEDED", "TOO_MANY_REQUESTS"),
    *("INTERNAL_ERROR", "DATABASE_ERROR"),
}
"""Codes of ``Emulator-Answer`` alone: the API has no way to cause them."""

PAYMENT_OUTCOMES = {
    *(
        "INSUFFICIENT_FUNDS",
        "PAYMENT_METHOD_NOT_SUPPORTED",
        "MOBILE_MONEY_TIMEOUT",
        "MOBILE_MONEY_REJECTED",
    ),
    *(
        "MOBILE_MONEY_NUMBER_INVALID",
        "MOBILE_MONEY_LIMIT_REACHED",
        "CUSTOMER_BLACKLISTED",
        "UPSTREAM_ERROR",
    ),
}
"""Codes of a made and failed payment: 200, the canceled intent and its ``last_error`` (B-14)."""


def test_every_code_has_a_recipe_or_a_reason_why_not() -> None:
    assert set(RECIPES) == set(CODES)
    assert {code for code, recipe in RECIPES.items() if not recipe.steps} == FORCED


@pytest.mark.parametrize("code", [code for code, recipe in RECIPES.items() if recipe.steps])
def test_the_recipe_leads_to_its_code(sandbox: Sandbox, code: str) -> None:
    responses: dict[str, Any] = {}

    def fill(value: Any) -> Any:
        return filled(value, lambda path: value_at(responses, path))

    for step in RECIPES[code].steps:
        if step.advance:
            sandbox.advance(step.advance)
            continue
        method, path = fill(step.request).split(" ")
        client = sandbox.control if path.startswith("/_emulator") else sandbox.api
        with closing(
            Client(
                sandbox.url, client.contract, sandbox.key if step.key is None else step.key or None
            )
        ) as own:
            inner = path.removeprefix(client.contract.base_path)
            last = own.request(method, inner, json=fill(step.body), headers=step.headers)
        if step.name:
            assert last.is_success, last.text
            responses[step.name] = last.json()
    body = last.json()
    if code in PAYMENT_OUTCOMES and last.status_code == 200:
        assert (body["status"], body["last_error"]["code"]) == ("canceled", code)
    else:
        assert (last.status_code, body.get("error", body)["code"]) == (ERRORS[code].status, code), (
            last.text
        )
