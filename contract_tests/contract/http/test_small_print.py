"""Keys, headers, shapes of errors, filters, search, emails, URLs, metadata: what a sentence each of the assumptions says."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from contract_tests.support.sandbox import Sandbox
from emulator.document import bundles

AWA = {"email": "awa@example.com", "name": "Awa Diop"}
CARD = {"type": "bank_card", "number": "4242424242424242", "exp_month": 12, "exp_year": 2040, "cvc": "123"}


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


@pytest.mark.breaks_the_document  # a forced shape is not the documented one
def test_a_forced_shape_is_that_of_a_public_key_too(sandbox: Sandbox) -> None:
    """B-10: it names the App."""
    sandbox.settings(error_shape="nested")
    public = {"Authorization": f"Bearer pk{sandbox.key[2:]}"}
    assert sandbox.api.http.get("/customers/", headers=public).json()["error"]["code"] == "public_key_not_allowed"


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/products/", {"name": "Basket", "unit_amount": 0, "currency": "GBP"}),
        ("/payment-intents/", {"amount": 0, "currency": "GBP"}),
    ],
)
def test_fields_that_break_rules_together_are_named(sandbox: Sandbox, path: str, body: Any) -> None:
    """B-12."""
    error = sandbox.api.rejected("POST", path, 422, "VALIDATION_ERROR", json=body)
    assert len(error["errors"]) == 2
    assert error["message"] == f"Invalid fields: {', '.join(error['errors'])}."


def test_a_204_has_no_length(sandbox: Sandbox) -> None:
    """RFC 9110, 8.6."""
    customer = sandbox.customer()["id"]
    response = sandbox.api.request("DELETE", f"/customers/{customer}/")
    assert (response.status_code, response.content, "content-length" in response.headers) == (204, b"", False)


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


SESSION = {"currency": "XAF", "line_items": [{"description": "Mat", "unit_amount": 500}]}
LINK = {"currency": "XAF", "amount": 500}
PRODUCT = {"name": "Mat", "unit_amount": 500, "currency": "XAF"}
URLS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "WebhookCreate.url": ("/webhooks/", lambda url: {"name": "Shop", "url": url, "events": ["*"]}),
    "CheckoutSessionCreate.success_url": ("/checkout-sessions/", lambda url: {**SESSION, "success_url": url}),
    "CheckoutSessionCreate.cancel_url": ("/checkout-sessions/", lambda url: {**SESSION, "cancel_url": url}),
    "ProductCreate.images": ("/products/", lambda url: {**PRODUCT, "images": [url]}),
    "RedirectUrlInput.success": ("/payment-links/", lambda url: {**LINK, "redirect_url": {"success": url}}),
    "RedirectUrlInput.cancel": ("/payment-links/", lambda url: {**LINK, "redirect_url": {"cancel": url}}),
}
"""Where a URL is taken: a field of a schema, the path, and the body."""

OF_APPS = ("CheckoutSessionCreate.success_url", "RedirectUrlInput.success", "RedirectUrlInput.cancel")
"""The fields of URLs that may have an app's own scheme."""


GOOD_URLS = ("https://127.0.0.1:9/", "https://127.0.0.1:9", "https://[::1]:9/a?b#c")
BAD_URLS = (
    *("HTTPS://127.0.0.1:9/", "Https://127.0.0.1:9/", "HTTP://127.0.0.1:9/", "ftp://127.0.0.1:9/", "//127.0.0.1:9/"),
    *("https://user@127.0.0.1:9/", "https://boutique-éwé.example/", "https://127.0.0.1:70000/", "https://", "https:"),
    *("https://127.0.0.1:9/a b", " https://127.0.0.1:9/", "https://127.0.0.1:9/\n"),
)


@pytest.mark.parametrize("url", [*GOOD_URLS, *BAD_URLS])
@pytest.mark.parametrize("field", URLS)
def test_urls_have_one_pattern_in_the_document_and_at_work(sandbox: Sandbox, field: str, url: str) -> None:
    """B-82: "of webhooks, pages, pictures, domains alike", they "are written with a lower-case scheme, by one pattern
    that the document shows". Where an app's own scheme is allowed, the server checks which scheme it is. Nothing answers
    at this address, which only a webhook would notice.
    """
    schema, _, name = field.partition(".")
    shown = bundles.load("service-3.0")["components"]["schemas"][schema]["properties"][name]
    is_allowed = re.fullmatch(shown.get("items", shown)["pattern"].removesuffix("$"), url) is not None
    path, body = URLS[field]
    answer = sandbox.api.request("POST", path, json=body(url))
    is_taken = answer.is_success or answer.json()["code"] == "WEBHOOK_ENDPOINT_UNREACHABLE"
    assert is_taken == (url in GOOD_URLS)
    assert is_allowed == (is_taken or (url.startswith("ftp://") and field in OF_APPS))


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
