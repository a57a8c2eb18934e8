"""Customers: who they are, what they are found by, how they change and what goes with them when they go."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from contract_tests.support.sandbox import START, Sandbox

PHONE = "+24177123456"


def methods(sandbox: Sandbox, customer: Any) -> list[Any]:
    """Return a customer's payment methods, newest first."""
    return list(sandbox.api.pages(f"/customers/{customer['id']}/payment-methods/", page_size=1))


def emails(sandbox: Sandbox, **query: Any) -> list[str]:
    return [customer["email"] for customer in sandbox.api.pages("/customers/", **query)]


# POST /customers/


def test_a_customer_is_made_with_everything_given(sandbox: Sandbox) -> None:
    """Customer fields; B-30: no address yet, the App's main currency, nothing spent."""
    body = {"email": "ondo@example.com", "name": "Jean-Claude Ondo", "phone": PHONE, "metadata": {"loyalty": "gold"}}
    with sandbox.expect("customer.created"):
        customer = sandbox.api.post("/customers/", body)
    assert customer == {
        "id": customer["id"],
        "object": "customer",
        "app": customer["app"],
        "email": "ondo@example.com",
        "firstname": "Jean-Claude",
        "lastname": "Ondo",
        "phone": PHONE,
        "address": None,
        "status": "active",
        "is_blacklisted": False,
        "transactions_count": 0,
        "total_spent": 0,
        "currency": "XAF",
        "metadata": {"loyalty": "gold"},
        "created_at": START,
        "updated_at": START,
    }
    assert sandbox.api.get(f"/customers/{customer['id']}/") == customer
    assert sandbox.events()[0]["data"] == {"object": customer}


def test_the_currency_is_the_apps_main_one(with_settings: Callable[..., Sandbox]) -> None:
    """B-30."""
    assert with_settings(main_currency="EUR").customer()["currency"] == "EUR"


@pytest.mark.parametrize(
    ("name", "firstname", "lastname"),
    [
        ("Jean-Claude Ondo", "Jean-Claude", "Ondo"),
        ("Jean Claude Ondo Nguema", "Jean", "Claude Ondo Nguema"),
        ("  Awa   Diop ", "Awa", "Diop"),
        ("Awa", "Awa", ""),
    ],
)
def test_the_name_is_split_at_its_first_space(sandbox: Sandbox, name: str, firstname: str, lastname: str) -> None:
    """Customer fields; B-30: trimmed, one word gives an empty last name."""
    made = sandbox.customer(name=name)
    changed = sandbox.api.patch(f"/customers/{sandbox.customer()['id']}/", {"name": name})
    for customer in (made, changed):
        assert (customer["firstname"], customer["lastname"]) == (firstname, lastname)


@pytest.mark.parametrize("email", ["awa@example.com", "AWA@Example.COM"])
def test_an_email_is_taken_once(sandbox: Sandbox, email: str) -> None:
    """409 customer_email_exists, nested, param email; no duplicate is created; letter case aside (B-30)."""
    sandbox.customer(email="awa@example.com")
    body = {"email": email, "name": "Another"}
    with sandbox.expect():
        error = sandbox.api.rejected("POST", "/customers/", 409, "customer_email_exists", json=body)
    assert (error["type"], error["param"]) == ("conflict_error", "email")
    assert emails(sandbox) == ["awa@example.com"]


@pytest.mark.parametrize("phone", ["+1234567", "+123456789012345"])
def test_the_shortest_and_the_longest_phone(sandbox: Sandbox, phone: str) -> None:
    """B-35: 7 to 15 digits."""
    assert sandbox.customer(phone=phone)["phone"] == phone


# the phone and its payment method


@pytest.mark.parametrize(
    ("phone", "operator", "country"),
    [
        ("+24177123456", "Airtel", "GA"),
        ("+221771234567", "Orange", "SN"),
        ("+14155550123", None, "US"),
        ("+999123456789", None, None),  # no country has this code
        ("+80012345678", None, None),  # freephone: a network of no country
        ("+24740123", "Sure South Atlantic", None),  # Ascension, which has no ISO 3166-1 code
    ],
)
def test_a_phone_brings_a_mobile_money_method(
    sandbox: Sandbox, phone: str, operator: str | None, country: str | None
) -> None:
    """B-31, B-35: made with the customer and its default."""
    customer = sandbox.customer(phone=phone)
    [method] = methods(sandbox, customer)
    assert (method["type"], method["status"], method["is_default"]) == ("mobile_money", "active", True)
    assert method["details"] == {"operator": operator, "phone": phone, "country": country}
    assert method["customer"] == customer["id"]


def test_a_changed_phone_changes_the_number_on_the_method(sandbox: Sandbox) -> None:
    """B-31: which keeps its id."""
    customer = sandbox.customer(phone=PHONE)
    [before] = methods(sandbox, customer)
    sandbox.advance("1h")
    assert sandbox.api.patch(f"/customers/{customer['id']}/", {"phone": "+221771234567"})["phone"] == "+221771234567"
    [after] = methods(sandbox, customer)
    details = {"operator": "Orange", "phone": "+221771234567", "country": "SN"}
    assert after == {**before, "details": details, "updated_at": sandbox.now}


def test_the_same_phone_again_changes_no_method(sandbox: Sandbox) -> None:
    customer = sandbox.customer(phone=PHONE)
    before = methods(sandbox, customer)
    sandbox.advance("1h")
    sandbox.api.patch(f"/customers/{customer['id']}/", {"phone": PHONE})
    assert methods(sandbox, customer) == before


def test_phone_null_removes_number_and_method(sandbox: Sandbox) -> None:
    """B-31."""
    customer = sandbox.customer(phone=PHONE)
    assert sandbox.api.patch(f"/customers/{customer['id']}/", {"phone": None})["phone"] is None
    assert methods(sandbox, customer) == []
    assert sandbox.api.patch(f"/customers/{customer['id']}/", {"phone": None})["phone"] is None


def test_a_phone_given_later_makes_the_method(sandbox: Sandbox) -> None:
    """B-31."""
    customer = sandbox.customer(phone=None)
    sandbox.api.patch(f"/customers/{customer['id']}/", {"phone": PHONE})
    [method] = methods(sandbox, customer)
    assert (method["details"]["phone"], method["is_default"]) == (PHONE, True)


# PATCH /customers/{id}/


def test_a_taken_email_is_rejected_and_nothing_changes(sandbox: Sandbox) -> None:
    """B-95: as the POST does; B-30."""
    sandbox.customer(email="awa@example.com")
    other = sandbox.customer(email="other@example.com", phone=PHONE)
    path, body = f"/customers/{other['id']}/", {"email": "Awa@example.com", "name": "X", "phone": None}
    error = sandbox.api.rejected("PATCH", path, 409, "customer_email_exists", json=body)
    assert error["param"] == "email"
    assert sandbox.api.get(path) == other
    assert len(methods(sandbox, other)) == 1


def test_a_change_that_is_rejected_for_one_field_changes_no_other(sandbox: Sandbox) -> None:
    """B-22: too many keys would be left, so the phone and its payment method stay as they are."""
    customer = sandbox.customer(phone=PHONE, metadata={f"key{number}": number for number in range(50)})
    before = methods(sandbox, customer)
    path, body = f"/customers/{customer['id']}/", {"phone": "+24177999999", "metadata": {"one more": True}}
    sandbox.api.rejected("PATCH", path, 422, "INVALID_FIELD", json=body)
    assert sandbox.api.get(path) == customer
    assert methods(sandbox, customer) == before


def test_ones_own_email_in_other_letters_is_free(sandbox: Sandbox) -> None:
    customer = sandbox.customer(email="awa@example.com")
    changed = sandbox.api.patch(f"/customers/{customer['id']}/", {"email": "Awa@Example.com"})
    assert changed["email"] == "Awa@Example.com"


def test_an_email_given_up_is_free_for_others(sandbox: Sandbox) -> None:
    customer = sandbox.customer(email="awa@example.com")
    sandbox.api.patch(f"/customers/{customer['id']}/", {"email": "new@example.com"})
    sandbox.customer(email="awa@example.com")
    body = {"email": "new@example.com", "name": "Another"}
    sandbox.api.rejected("POST", "/customers/", 409, "customer_email_exists", json=body)


# DELETE /customers/{id}/


def test_a_deleted_customer_is_gone(sandbox: Sandbox) -> None:
    """204 without a body, hard delete; customer.deleted shows the customer as it was, metadata included."""
    customer = sandbox.customer(phone=PHONE, metadata={"loyalty": "gold"})
    path = f"/customers/{customer['id']}/"
    sandbox.api.post(f"{path}addresses/", {"line1": "1", "city": "Oyem", "country": "GA", "is_default": True})
    customer = sandbox.api.get(path)
    with sandbox.expect("customer.deleted"):
        response = sandbox.api.request("DELETE", path)
    assert (response.status_code, response.content) == (204, b"")
    assert sandbox.events()[-1]["data"] == {"object": customer}
    for method, gone in (
        ("GET", path),
        ("DELETE", path),
        ("GET", f"{path}addresses/"),
        ("GET", f"{path}transactions/"),
    ):
        sandbox.api.rejected(method, gone, 404, "CUSTOMER_NOT_FOUND")
    assert emails(sandbox) == []
    assert sandbox.customer(email=customer["email"])["id"] != customer["id"]


def test_payment_methods_go_with_their_customer(sandbox: Sandbox) -> None:
    """B-32: they cannot be named any more."""
    customer, other = sandbox.customer(phone=PHONE), sandbox.customer(email="other@example.com")
    [method] = methods(sandbox, customer)
    body = {"customer": other["id"], "unit_amount": 500, "interval": "month", "payment_method": method["id"]}
    assert sandbox.api.rejected("POST", "/subscriptions/", 422, "INVALID_FIELD", json=body)["param"] == "payment_method"
    sandbox.api.delete(f"/customers/{customer['id']}/")
    sandbox.api.rejected("POST", "/subscriptions/", 404, "PAYMENT_METHOD_NOT_FOUND", json=body)


def test_past_transactions_and_payments_are_retained(sandbox: Sandbox) -> None:
    """With their customer."""
    customer = sandbox.subscribe()["customer"]
    before = [sandbox.api.get(path)["data"] for path in ("/transactions/", "/payment-intents/")]
    assert [[each["customer"] for each in kind] for kind in before] == [[customer], [customer]]
    sandbox.api.delete(f"/customers/{customer}/")
    assert [sandbox.api.get(path)["data"] for path in ("/transactions/", "/payment-intents/")] == before


def test_a_payment_under_way_stays_valid_but_loses_its_customer(sandbox: Sandbox) -> None:
    """DELETE /customers/{id}/; this buyer confirms after a minute (B-54)."""
    customer = sandbox.customer(phone="+24177000006")
    sandbox.api.post("/subscriptions/", {"customer": customer["id"], "unit_amount": 500, "interval": "month"})
    [intent] = sandbox.api.get("/payment-intents/")["data"]
    assert (intent["status"], intent["customer"]) == ("requires_action", customer["id"])
    sandbox.api.delete(f"/customers/{customer['id']}/")
    released = sandbox.api.get(f"/payment-intents/{intent['id']}/")
    assert released == {**intent, "customer": None}
    sandbox.advance("60s")
    assert sandbox.api.get(f"/payment-intents/{intent['id']}/")["status"] == "succeeded"
    assert [item["customer"] for item in sandbox.api.get("/transactions/")["data"]] == [None]


# GET /customers/


@pytest.mark.parametrize(
    "text", ["AWA@exam", "diop", "AWA", "wa Dio", "Awa Diop", "+2417712", "7712345", " awa ", "{id}", "{ID}"]
)
def test_search_finds_parts_of_email_name_phone_and_id(sandbox: Sandbox, text: str) -> None:
    """B-20: a case-blind substring."""
    customer = sandbox.customer(email="awa@example.com", name="Awa Diop", phone=PHONE)
    sandbox.customer(email="other@shop.test", name="Jean Ondo", phone="+33612345678")
    sought = text.format(id=customer["id"], ID=customer["id"].upper())
    assert emails(sandbox, search=sought) == ["awa@example.com"]


@pytest.mark.parametrize("stored", ["\u00c9lise", "E\u0301lise"])
@pytest.mark.parametrize("typed", ["\u00e9li", "e\u0301li"])
def test_search_is_blind_to_the_unicode_form(sandbox: Sandbox, stored: str, typed: str) -> None:
    """B-20: a Mac may send é as two characters (NFD), keyboards give one (NFC); without its accent it is another letter."""
    sandbox.customer(email="elise@example.com", name=f"{stored} Ntsama")
    assert emails(sandbox, search=typed) == emails(sandbox, search=f"  {typed}") == ["elise@example.com"]
    assert emails(sandbox, search="Elise N") == []
    hits = sandbox.control.get("/search", query=typed)["data"]
    assert [hit["kind"] for hit in hits] == ["customer"]


@pytest.mark.parametrize("text", ["gold", "loyalty", "active", "nobody"])
def test_search_looks_nowhere_else(sandbox: Sandbox, text: str) -> None:
    """Metadata is not searchable; nothing found is an empty 200 list (B-20)."""
    sandbox.customer(metadata={"loyalty": "gold"})
    assert sandbox.api.get("/customers/", search=text)["pagination"]["count"] == 0


# sub-lists


def test_inactive_is_for_filters_only(sandbox: Sandbox) -> None:
    """B-32: the customer is subscribed and charged like an active one, and nothing says that it is blocked."""
    customer = sandbox.customer(phone="+24177000000")
    sandbox.control.patch(f"/objects/{customer['id']}", {"status": "inactive"})
    terms = {"customer": customer["id"], "unit_amount": 500, "interval": "month"}
    sandbox.api.post("/subscriptions/", terms)
    assert sandbox.invoices("status") == ["paid"]
    assert [each["id"] for each in sandbox.api.get("/customers/", status="inactive")["data"]] == [customer["id"]]
    assert "Blocked" not in sandbox.control.get(f"/explain/{customer['id']}")["summary"]


EMAILS = [
    "a@b",
    "a@localhost",
    ".a@b.co",
    "a..b@b.co",
    "a.@b.co",
    "o'hara+x@b.co",
    "x" * 249 + "@b.co",
    "x" * 65 + "@b.co",
]
NO_EMAILS = [
    "é@b.co",
    "a@é.co",
    "a@-b.co",
    "a@b-.co",
    "a\u200b@b.co",
    "x" * 250 + "@b.co",
    "a@b..co",
    "a b@c.co",
    "a@b.co\n",
]


@pytest.mark.parametrize("email", EMAILS + NO_EMAILS)
def test_emails_are_of_the_form_that_browsers_accept(sandbox: Sandbox, email: str) -> None:
    """B-30."""
    answer = sandbox.api.request("POST", "/customers/", json={"email": email, "name": "Awa Diop"})
    assert answer.status_code == (201 if email in EMAILS else 422)


def test_search_finds_an_id_as_a_whole_only(sandbox: Sandbox) -> None:
    """B-20."""
    customer = sandbox.api.post("/customers/", {"email": "q@zz.co", "name": "Q"})["id"]
    for text, count in ((customer, 1), (customer[:-1], 0), ("cu", 0), ("_", 0), ("zz.co", 1)):
        assert sandbox.api.get("/customers/", search=text)["pagination"]["count"] == count, text


def test_an_intent_outlives_its_customer_with_its_method(sandbox: Sandbox) -> None:
    """B-32."""
    method = sandbox.method()
    intent = sandbox.intent(method)
    sandbox.api.delete(f"/customers/{method['customer']}/")
    paid = sandbox.api.post(f"/payment-intents/{intent['id']}/confirm/")
    assert (paid["status"], paid["payment_method"], paid["customer"]) == ("succeeded", method["id"], None)


def test_a_session_does_not_make_its_deleted_customer_again(sandbox: Sandbox) -> None:
    """B-32."""
    customer = sandbox.customer()
    session = sandbox.session(customer=customer["id"])
    sandbox.api.delete(f"/customers/{customer['id']}/")
    sandbox.buy(session)
    assert sandbox.api.get("/customers/", search=customer["email"])["data"] == []
