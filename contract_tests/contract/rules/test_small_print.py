"""Keys, headers, shapes of errors, filters, search, emails, metadata: what a sentence each of the assumptions says."""

from __future__ import annotations

from typing import Any

import pytest

from contract_tests.support.sandbox import Sandbox

AWA = {"email": "awa@example.com", "name": "Awa Diop"}
CARD = {"type": "bank_card", "number": "4242424242424242", "exp_month": 12, "exp_year": 2040, "cvc": "123"}


def test_the_error_for_a_malformed_key_names_the_form(sandbox: Sandbox) -> None:
    """B-02."""
    for key in ("sk_test_", "sk_test_" + "x" * 65, "sk_test_ä", "key"):
        answer = sandbox.api.rejected(
            "GET", "/customers/", 401, "INVALID_TOKEN", headers={"Authorization": f"Bearer {key}".encode()}
        )
        assert "1 to 64 characters" in answer["message"]
    for key in ("sk_test_x", "sk_test_" + "x" * 64):
        assert sandbox.api.request("GET", "/customers/", headers={"Authorization": f"Bearer {key}"}).status_code == 200


@pytest.mark.parametrize("name", ["Idempotency-Key", "Origin"])
def test_a_header_that_may_be_sent_once_is_rejected_when_sent_twice(sandbox: Sandbox, name: str) -> None:
    """B-05."""
    headers = [(name, "https://a.example"), (name, "https://b.example"), ("Authorization", f"Bearer {sandbox.key}")]
    answer = sandbox.api.rejected("POST", "/customers/", 400, "VALIDATION_ERROR", json=AWA, headers=headers)
    assert answer["param"] == name


@pytest.mark.breaks_the_document  # a forced shape is not the documented one
@pytest.mark.parametrize(
    ("method", "path", "code"), [("GET", "/nowhere/", "not_found"), ("PUT", "/customers/", "method_not_allowed")]
)
def test_a_forced_shape_is_that_of_unknown_routes_and_methods(
    sandbox: Sandbox, method: str, path: str, code: str
) -> None:
    """B-10."""
    sandbox.settings(error_shape="nested")
    assert sandbox.api.http.request(method, path).json()["error"]["code"] == code


@pytest.mark.parametrize(("text", "found"), [
    ("2026-01-01", 1), ("9998-01-01", 0), ("2026-01-01T00:00:00", 1), ("2026-01-01T00:00:00+01:00", 1), ("20260101", 1),
])  # fmt: skip
def test_filters_take_dates_and_instants(sandbox: Sandbox, text: str, found: int) -> None:
    """B-17."""
    sandbox.api.post("/payment-links/", {"payment_link_type": "donation", "currency": "XAF"})
    assert sandbox.api.get("/payment-links/", created_after=text)["pagination"]["count"] == found


def test_a_plus_that_became_a_space_is_explained(sandbox: Sandbox) -> None:
    """B-17."""
    url = "/payment-links/?created_after=2026-01-01T00:00:00+01:00"
    answer = sandbox.api.rejected("GET", url, 422, "INVALID_FILTER_PARAM")
    assert "%2B" in answer["message"]


def test_search_finds_an_id_as_a_whole_only(sandbox: Sandbox) -> None:
    """B-20."""
    customer = sandbox.api.post("/customers/", {"email": "q@zz.co", "name": "Q"})["id"]
    for text, count in ((customer, 1), (customer[:-1], 0), ("cu", 0), ("_", 0), ("zz.co", 1)):
        assert sandbox.api.get("/customers/", search=text)["pagination"]["count"] == count, text


@pytest.mark.parametrize("email", [
    "a@b", "a@localhost", ".a@b.co", "a..b@b.co", "a.@b.co", "o'hara+x@b.co", "x" * 249 + "@b.co", "x" * 65 + "@b.co",
])  # fmt: skip
def test_emails_are_of_the_form_that_browsers_accept(sandbox: Sandbox, email: str) -> None:
    """B-30."""
    assert sandbox.api.post("/customers/", {**AWA, "email": email})["email"] == email


@pytest.mark.parametrize(
    "email",
    ["é@b.co", "a@é.co", "a@-b.co", "a@b-.co", "a\u200b@b.co", "x" * 250 + "@b.co", "a@b..co", "a b@c.co", "a@b.co\n"],
)
def test_other_emails_are_not(sandbox: Sandbox, email: str) -> None:
    """B-30."""
    sandbox.api.rejected("POST", "/customers/", 422, "INVALID_FIELD", json={**AWA, "email": email})


def test_keys_of_metadata_have_no_maximum(sandbox: Sandbox) -> None:
    """B-22."""
    metadata = {"k" * 400: "v", "x": "y"}
    assert sandbox.api.post("/customers/", {**AWA, "metadata": metadata})["metadata"] == metadata
    sandbox.api.rejected("POST", "/customers/", 422, "INVALID_FIELD", json={**AWA, "metadata": {"": "v"}})


@pytest.fixture
def payer(sandbox: Sandbox) -> dict[str, Any]:
    """A customer with a card."""
    customer = sandbox.api.post("/customers/", AWA)["id"]
    method = sandbox.api.post("/payment-methods/", {**CARD, "customer": customer})["id"]
    return {"customer": customer, "payment_method": method}


def test_an_intent_outlives_its_customer_with_its_method(sandbox: Sandbox, payer: dict[str, Any]) -> None:
    """B-32."""
    intent = sandbox.api.post("/payment-intents/", {"amount": 5000, "currency": "XAF", **payer})
    sandbox.api.delete(f"/customers/{payer['customer']}/")
    answer = sandbox.api.post(f"/payment-intents/{intent['id']}/confirm/")
    assert (answer["status"], answer["payment_method"], answer["customer"]) == (
        "succeeded", payer["payment_method"], None,
    )  # fmt: skip


def test_nothing_is_planned_for_the_cards_of_a_deleted_customer(sandbox: Sandbox, payer: dict[str, Any]) -> None:
    """B-32."""
    sandbox.api.delete(f"/customers/{payer['customer']}/")
    assert [job for job in sandbox.control.get("/schedule")["data"] if job["kind"] == "payment_method.expire"] == []


def test_a_session_does_not_make_its_deleted_customer_again(sandbox: Sandbox, payer: dict[str, Any]) -> None:
    """B-32."""
    line = {"description": "x", "unit_amount": 5000}
    session = sandbox.api.post(
        "/checkout-sessions/",
        {"customer": payer["customer"], "currency": "XAF", "line_items": [line], "success_url": "https://s.example/"},
    )
    sandbox.api.delete(f"/customers/{payer['customer']}/")
    sandbox.control.post(f"/checkout-sessions/{session['id']}/pay", {"method": CARD})
    assert sandbox.api.get("/customers/", search=AWA["email"])["data"] == []
