"""Forced answers: ``Emulator-Answer: CODE`` has any error of the model answered, and nothing is done (B-94)."""

from __future__ import annotations

import re
from itertools import chain

import httpx
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


PLACEHOLDER = re.compile(r"None|[(){}\[\]]")


def assert_complete(response: httpx.Response) -> None:
    """The error says all that a real one says, and nothing that is only to be filled in."""
    body = response.json()
    error = body.get("error", body)
    assert error["message"]
    assert not PLACEHOLDER.search(error["message"]), error["message"]
    if "errors" in error:
        assert not PLACEHOLDER.search(" ".join(chain(*error["errors"].values()))), error["errors"]
    if "param" in error and "error" not in body:
        assert set(error["errors"]) == {error["param"]}
    if error["code"] == "VALIDATION_ERROR":
        assert len(error["errors"]) > 1
    if response.status_code == 429:
        assert response.headers["retry-after"] == str(error["retry_after"])


@pytest.mark.breaks_the_document  # a code may be forced where it could not arise
@pytest.mark.parametrize("code", CODES)
def test_every_operation_answers_every_code_completely(sandbox: Sandbox, code: str) -> None:
    """B-94: and as the operation's documented answers are, wherever the document has an answer of this status."""
    headers, status = {"Emulator-Answer": code}, ERRORS[code].status
    for operation in sandbox.api.contract.operations:
        path = re.sub(r"\{\w+\}", "x", operation.path)
        documented = str(status) in operation.node["responses"]
        send = sandbox.api.request if documented else sandbox.api.http.request
        response = send(operation.method, path, headers=headers)
        assert response.status_code == status
        assert_complete(response)


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
            assert_complete(answer)


@pytest.mark.breaks_the_document  # a code may be forced where it could not arise
@pytest.mark.parametrize("code", CODES)
def test_an_arranged_code_is_answered_as_completely(sandbox: Sandbox, code: str) -> None:
    sandbox.control.post("/faults", {"then": {"code": code}})
    arranged = sandbox.api.http.post("/products/", json=BASKET)
    forced = sandbox.api.http.post("/products/", json=BASKET, headers={"Emulator-Answer": code})
    assert_complete(arranged)
    assert {**arranged.json(), "request_id": None} == {**forced.json(), "request_id": None}


BASKET = {"name": "Basket", "unit_amount": 500, "currency": "XAF", "metadata": {"sku": "B1"}}


FIELDS_OF_A_PRODUCT = {
    "DUPLICATE_SKU": ("metadata.sku", "is the sku of {other} already"),
    "CURRENCY_NOT_IN_PLAN": ("currency", "XAF is not enabled"),
    "INVALID_CURRENCY": ("currency", "must be an ISO 4217 code in upper case"),
    "AMOUNT_TOO_SMALL": ("unit_amount", "must be at least 100"),
    "AMOUNT_TOO_LARGE": ("unit_amount", "must be at most 99999999"),
    "MISSING_FIELD": ("name", "is required"),
    "INVALID_FIELD": ("name", "must be a string"),
    "INVALID_FILTER_PARAM": ("unknown", "unknown parameter"),
}


@pytest.mark.parametrize("code", FIELDS_OF_A_PRODUCT)
def test_an_error_about_a_field_names_one_of_the_operation(sandbox: Sandbox, code: str) -> None:
    other = sandbox.product()["id"]
    field, message = FIELDS_OF_A_PRODUCT[code]
    status = ERRORS[code].status
    answer = sandbox.api.rejected("POST", "/products/", status, code, json=BASKET, headers={"Emulator-Answer": code})
    assert answer["param"] == field
    assert answer["errors"] == {field: [message.format(other=other)]}


def test_a_duplicate_sku_is_that_of_the_product_that_has_it(sandbox: Sandbox) -> None:
    skus = {sku: sandbox.product(metadata={"sku": sku})["id"] for sku in ("A1", "B1", "C1")}
    headers = {"Emulator-Answer": "DUPLICATE_SKU"}
    answer = sandbox.api.rejected("POST", "/products/", 409, "DUPLICATE_SKU", json=BASKET, headers=headers)
    assert answer["errors"] == {"metadata.sku": [f"is the sku of {skus['B1']} already"]}


def test_an_error_about_a_state_of_what_is_not_there_yet_names_its_kind(sandbox: Sandbox) -> None:
    headers = {"Emulator-Answer": "INVALID_STATUS_TRANSITION"}
    answer = sandbox.api.rejected("POST", "/products/", 422, "INVALID_STATUS_TRANSITION", json=BASKET, headers=headers)
    assert answer["message"] == "This product is canceled: it cannot change."


def test_a_refund_names_the_rest_of_its_transaction_and_a_capture_what_was_authorised(sandbox: Sandbox) -> None:
    """Less than is asked for, since what is left is enough for this request."""
    deposit = sandbox.deposit()
    for amount, left in ((6000, 5000), (700, 699)):
        answer = sandbox.api.rejected(
            "POST",
            "/refunds/",
            400,
            "refund_amount_exceeds_available",
            json={"transaction": deposit["id"], "amount": amount},
            headers={"Emulator-Answer": "refund_amount_exceeds_available"},
        )
        assert answer == {
            "type": "validation_error",
            "code": "refund_amount_exceeds_available",
            "message": f"The amount exceeds the refundable balance of {left}.",
            "param": "amount",
        }
    intent = sandbox.pay(capture_method="manual")
    code = "CAPTURE_AMOUNT_EXCEEDS_ORIGINAL"
    path = f"/payment-intents/{intent['id']}/capture/"
    captured = sandbox.api.rejected("POST", path, 422, code, json={"amount": 9000}, headers={"Emulator-Answer": code})
    assert captured["errors"] == {"amount": ["must be at most 5000"]}


def test_an_error_about_a_state_says_one_that_does_not_allow_the_request(sandbox: Sandbox) -> None:
    subscription = sandbox.subscribe()
    headers = {"Emulator-Answer": "INVALID_STATUS_TRANSITION"}
    path = f"/subscriptions/{subscription['id']}/resume/"
    answer = sandbox.api.rejected("POST", path, 422, "INVALID_STATUS_TRANSITION", headers=headers)
    assert answer["message"] == "This subscription is active: it cannot resume."
    intent = sandbox.intent()
    headers = {"Emulator-Answer": "PAYMENT_INTENT_UNCANCELABLE"}
    path = f"/payment-intents/{intent['id']}/cancel/"
    answer = sandbox.api.rejected("POST", path, 422, "PAYMENT_INTENT_UNCANCELABLE", headers=headers)
    assert answer["message"] == "A payment intent that is succeeded cannot be canceled."


@pytest.mark.parametrize(
    ("code", "path", "body", "param"),
    [
        ("PRODUCT_NOT_FOUND", "/payment-links/", {"currency": "XAF", "products": ["prod_gone"]}, "products.0"),
        ("PRODUCT_NOT_FOUND", "/invoices/", {"line_items": [{}, {"product": "prod_gone"}]}, "line_items.1.product"),
        ("PAYMENT_METHOD_NOT_FOUND", "/payment-intents/", {"payment_method": "meth_gone"}, "payment_method"),
        ("TRANSACTION_NOT_FOUND", "/refunds/", {"transaction": "anything"}, "transaction"),
    ],
)
def test_a_forced_404_names_the_field_that_has_the_id(
    sandbox: Sandbox, code: str, path: str, body: dict[str, object], param: str
) -> None:
    answer = sandbox.api.rejected("POST", path, 404, code, json=body, headers={"Emulator-Answer": code})
    assert answer["param"] == param
    assert answer["message"].split()[-1].rstrip(".") in str(body)


def test_a_forced_404_names_the_id_of_the_path_where_it_is_of_that_kind(sandbox: Sandbox) -> None:
    customer = sandbox.customer()["id"]
    for code, id in (("CUSTOMER_NOT_FOUND", customer), ("INVOICE_NOT_FOUND", "inv_" + "0" * 24)):
        answer = sandbox.api.rejected("GET", f"/customers/{customer}/", 404, code, headers={"Emulator-Answer": code})
        assert answer["message"].endswith(f" {id}.")


def test_a_forced_404_names_the_id_of_the_body(sandbox: Sandbox) -> None:
    """As the service does: param, errors and the id that was sent (B-15)."""
    body = {"customer": "cust_gone", "line_items": []}
    headers = {"Emulator-Answer": "CUSTOMER_NOT_FOUND"}
    answer = sandbox.api.rejected("POST", "/invoices/", 404, "CUSTOMER_NOT_FOUND", json=body, headers=headers)
    assert answer["message"] == "There is no customer cust_gone."
    assert (answer["param"], answer["errors"]) == ("customer", {"customer": ["there is no cust_gone"]})


def test_a_forced_validation_error_names_the_fields_of_the_operation(sandbox: Sandbox) -> None:
    headers = {"Emulator-Answer": "VALIDATION_ERROR"}
    answer = sandbox.api.rejected("POST", "/customers/", 422, "VALIDATION_ERROR", json=AWA, headers=headers)
    assert set(answer["errors"]) == {"email", "name"}


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
