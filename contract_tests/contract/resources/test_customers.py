"""Customers: identity, search, changes, and the objects that go with them."""

from __future__ import annotations

from typing import Any

import pytest

from contract_tests.support.sandbox import Sandbox

PHONE = "+24177123456"


def methods(sandbox: Sandbox, customer: Any) -> list[Any]:
    """Return a customer's payment methods, newest first."""
    return list(sandbox.api.pages(f"/customers/{customer['id']}/payment-methods/", page_size=1))


def change(sandbox: Sandbox, customer: Any, **fields: Any) -> Any:
    return sandbox.api.patch(f"/customers/{customer['id']}/", fields)


def emails(sandbox: Sandbox, **query: Any) -> list[str]:
    return [customer["email"] for customer in sandbox.api.pages("/customers/", **query)]


def email_taken(sandbox: Sandbox, method: str, path: str, email: str, **fields: Any) -> None:
    """Raise unless the error is 409 customer_email_exists (nested, email) and changes nothing."""
    body = {"email": email, "name": "Another", **fields}
    before = emails(sandbox)
    with sandbox.expect():
        error = sandbox.api.rejected(method, path, 409, "customer_email_exists", json=body)
    assert (error["type"], error["param"], emails(sandbox)) == ("conflict_error", "email", before)


# -- who they are


def test_the_name_is_split_at_its_first_space(sandbox: Sandbox) -> None:
    """Customer fields; B-30: trimmed, one word gives an empty last name."""
    customer = sandbox.customer()
    for name, firstname, lastname in (
        ("Jean Claude Ondo Nguema", "Jean", "Claude Ondo Nguema"),
        ("  Awa   Diop ", "Awa", "Diop"),
        ("Awa", "Awa", ""),
    ):
        for customer_now in (sandbox.customer(name=name), change(sandbox, customer, name=name)):
            assert (customer_now["firstname"], customer_now["lastname"]) == (firstname, lastname)


EMAILS = [
    "a@b",
    "a@localhost",
    ".a@b.co",
    "a..b@b.co",
    "a.@b.co",
    "o'hara+x@b.co",
    "x" * 249 + "@b.co",
]
NO_EMAILS = [
    "é@b.co",
    "a@é.co",
    "a@-b.co",
    "a@b-.co",
    "a\u200b@b.co",
    "x" * 250 + "@b.co",
    "a@b..co",
    "a@b.co\n",
]


def test_emails_are_of_the_form_that_browsers_accept(sandbox: Sandbox) -> None:
    """B-30."""
    for email in EMAILS + NO_EMAILS:
        response = sandbox.api.request(
            "POST", "/customers/", json={"email": email, "name": "Awa Diop"}
        )
        assert response.status_code == (201 if email in EMAILS else 422), email


def test_an_email_is_taken_once(sandbox: Sandbox) -> None:
    """B-30, B-95: in any letter case, on creation and change. Own and given-up ones are free."""
    customer = sandbox.customer(email="awa@example.com")
    other = sandbox.customer(email="other@example.com", phone=PHONE)
    path = f"/customers/{other['id']}/"
    for email in ("awa@example.com", "AWA@Example.COM"):
        email_taken(sandbox, "POST", "/customers/", email)
        email_taken(sandbox, "PATCH", path, email, phone=None)
    assert (sandbox.api.get(path), len(methods(sandbox, other))) == (other, 1)
    assert change(sandbox, customer, email="Awa@Example.com")["email"] == "Awa@Example.com"
    change(sandbox, customer, email="new@example.com")
    sandbox.customer(email="awa@example.com")
    email_taken(sandbox, "POST", "/customers/", "new@example.com")


def test_inactive_is_for_filters_only(sandbox: Sandbox) -> None:
    """B-32: it is subscribed and charged like an active one, and is nowhere called blocked."""
    customer = sandbox.customer(phone="+24177000000")
    sandbox.control.patch(f"/objects/{customer['id']}", {"status": "inactive"})
    sandbox.api.post(
        "/subscriptions/", {"customer": customer["id"], "unit_amount": 500, "interval": "month"}
    )
    assert sandbox.api.get("/transactions/")["pagination"]["count"] == 1
    assert emails(sandbox, status="inactive") == [customer["email"]]
    assert "Blocked" not in sandbox.control.get(f"/explain/{customer['id']}")["summary"]


def test_only_money_of_the_customers_currency_counts_as_spent(sandbox: Sandbox) -> None:
    """B-30: ``transactions_count`` counts every deposit."""
    customer = sandbox.customer()
    sandbox.pay(sandbox.method(customer), currency="EUR")
    paid = sandbox.shown(customer)
    assert (paid["transactions_count"], paid["total_spent"]) == (1, 0)


# -- the phone and its payment method (B-31, B-35)


@pytest.mark.parametrize(
    ("phone", "operator", "country"),
    [
        ("+24177123456", "Airtel", "GA"),
        ("+221771234567", "Orange", "SN"),
        ("+14155550123", None, "US"),
        ("+1234567", None, None),  # too short for its country
        ("+999123456789012", None, None),  # no country has this code
        ("+80012345678", None, None),  # freephone: a network of no country
        ("+24740123", "Sure South Atlantic", None),  # Ascension, which has no ISO 3166-1 code
    ],
)
def test_a_phone_brings_a_mobile_money_method(
    sandbox: Sandbox, phone: str, operator: str | None, country: str | None
) -> None:
    """B-31, B-35: made with the customer, or later, and its default; 7 to 15 digits."""
    later = sandbox.customer(phone=None)
    change(sandbox, later, phone=phone)
    for customer in (sandbox.customer(phone=phone), later):
        [method] = methods(sandbox, customer)
        assert (method["type"], method["status"], method["is_default"]) == (
            "mobile_money",
            "active",
            True,
        )
        assert method["details"] == {"operator": operator, "phone": phone, "country": country}


def test_the_method_follows_the_phone(sandbox: Sandbox) -> None:
    """B-31: a new number keeps the method's id, the same one changes nothing, null removes both."""
    customer = sandbox.customer(phone=PHONE)
    [before] = methods(sandbox, customer)
    sandbox.advance("1h")
    change(sandbox, customer, phone=PHONE)
    assert methods(sandbox, customer) == [before]
    assert change(sandbox, customer, phone="+221771234567")["phone"] == "+221771234567"
    details = {"operator": "Orange", "phone": "+221771234567", "country": "SN"}
    assert methods(sandbox, customer) == [{**before, "details": details, "updated_at": sandbox.now}]
    for _ in range(2):
        assert change(sandbox, customer, phone=None)["phone"] is None
        assert methods(sandbox, customer) == []


# -- DELETE /customers/{id}/


def test_a_deleted_customer_is_gone(sandbox: Sandbox) -> None:
    """A hard delete: customer.deleted shows it as it was, with metadata. Methods go, too (B-32)."""
    customer = sandbox.customer(phone=PHONE, metadata={"loyalty": "gold"})
    path = f"/customers/{customer['id']}/"
    sandbox.method(customer)
    sandbox.api.post(
        f"{path}addresses/", {"line1": "1", "city": "Oyem", "country": "GA", "is_default": True}
    )
    customer = sandbox.api.get(path)
    body = {"customer": sandbox.customer()["id"], "unit_amount": 500, "interval": "month"}
    body["payment_method"] = methods(sandbox, customer)[0]["id"]
    assert (
        sandbox.api.rejected("POST", "/subscriptions/", 422, "INVALID_FIELD", json=body)["param"]
        == "payment_method"
    )
    with sandbox.expect("customer.deleted"):
        sandbox.api.delete(path)
    assert sandbox.events()[-1]["data"] == {"object": customer}
    assert [
        event["type"]
        for event in sandbox.events()
        if event["data"]["object"]["id"] == customer["id"]
    ] == ["customer.created", "customer.deleted"], "its events stay readable (B-86)"
    for inner in ("addresses/", "transactions/"):
        sandbox.api.rejected("GET", f"{path}{inner}", 404, "CUSTOMER_NOT_FOUND")
    sandbox.api.rejected("POST", "/subscriptions/", 404, "PAYMENT_METHOD_NOT_FOUND", json=body)
    assert sandbox.control.get("/schedule")["data"] == [], "nothing stays planned for its cards"
    assert sandbox.customer(email=customer["email"])["id"] != customer["id"]


def test_a_payment_under_way_stays_valid_but_loses_its_customer(sandbox: Sandbox) -> None:
    """B-32: this buyer confirms after a minute (B-54); an intent keeps its method and works on."""
    customer = sandbox.customer(phone="+24177000006")
    sandbox.api.post(
        "/subscriptions/", {"customer": customer["id"], "unit_amount": 500, "interval": "month"}
    )
    method = sandbox.method(customer)
    kept, done = sandbox.intent(method), sandbox.pay(method)
    sandbox.settle()
    [intent] = sandbox.api.get("/payment-intents/", status="requires_action")["data"]
    assert intent["customer"] == customer["id"]
    sandbox.api.delete(f"/customers/{customer['id']}/")
    assert sandbox.shown(intent) == {**intent, "customer": None}
    sandbox.advance("60s")
    assert sandbox.status(intent) == "succeeded"
    assert [item["customer"] for item in sandbox.api.get("/transactions/")["data"]] == [
        None,
        customer["id"],
    ]
    assert sandbox.shown(done) == done, "what is past is retained, with its customer"
    paid = sandbox.act(kept, "confirm")
    assert (paid["status"], paid["payment_method"], paid["customer"]) == (
        "succeeded",
        method["id"],
        None,
    )


def test_a_deposit_whose_money_is_to_come_loses_its_customer(sandbox: Sandbox) -> None:
    """B-32: the funds of a bank transfer arrive after a day (B-54)."""
    customer = sandbox.customer()
    method = sandbox.method(customer, "bank_transfer", iban="FR7630006000011234567890189")
    deposit = sandbox.deposit(method)
    assert (deposit["status"], deposit["customer"]) == ("pending", customer["id"])
    sandbox.api.delete(f"/customers/{customer['id']}/")
    assert sandbox.shown(deposit)["customer"] is None
    sandbox.advance("1d")
    arrived = sandbox.shown(deposit)
    assert (arrived["status"], arrived["customer"]) == ("completed", None)


# -- GET /customers/


@pytest.fixture
def searched(sandbox: Sandbox) -> str:
    """The id of a customer to search for, beside another one."""
    customer = sandbox.customer(
        email="awa@example.com", name="Awa Diop", phone=PHONE, metadata={"loyalty": "gold"}
    )
    sandbox.customer(email="other@shop.test", name="Jean Ondo", phone="+33612345678")
    return str(customer["id"])


@pytest.mark.usefixtures("searched")
@pytest.mark.parametrize(
    "text", ["AWA@exam", "diop", "AWA", "wa Dio", "Awa Diop", "+2417712", "7712345", " awa "]
)
def test_search_finds_parts_of_a_buyers_fields(sandbox: Sandbox, text: str) -> None:
    """B-20: of email, name and phone, in any case of the letters."""
    assert emails(sandbox, search=text) == ["awa@example.com"]


def test_search_finds_only_a_whole_id(sandbox: Sandbox, searched: str) -> None:
    """B-20."""
    for text in (searched, searched.upper()):
        assert emails(sandbox, search=text) == ["awa@example.com"], text
    for text in (searched[:-1], "cu", "_"):
        assert emails(sandbox, search=text) == [], text


@pytest.mark.usefixtures("searched")
@pytest.mark.parametrize("text", ["gold", "loyalty", "active", "nobody"])
def test_search_looks_at_nothing_else(sandbox: Sandbox, text: str) -> None:
    """B-20: neither at metadata nor at the status; no match is an empty 200."""
    assert emails(sandbox, search=text) == []


@pytest.mark.parametrize("stored", ["\u00c9lise", "E\u0301lise"])
@pytest.mark.parametrize("typed", ["\u00e9li", "e\u0301li"])
def test_search_is_blind_to_the_unicode_form(sandbox: Sandbox, stored: str, typed: str) -> None:
    """B-20: é may be two characters (NFD, a Mac) or one (NFC); without the accent it is another."""
    sandbox.customer(email="elise@example.com", name=f"{stored} Ntsama")
    assert (
        emails(sandbox, search=typed)
        == emails(sandbox, search=f"  {typed}")
        == ["elise@example.com"]
    )
    assert emails(sandbox, search="Elise N") == []
    assert [hit["kind"] for hit in sandbox.control.get("/search", query=typed)["data"]] == [
        "customer"
    ]


# -- addresses: where a customer lives, and which of them is the default


HOME = {"line1": "14 Boulevard Triomphal", "city": "Libreville", "country": "GA"}


def addresses_of(customer: Any) -> str:
    return f"/customers/{customer['id']}/addresses/"


def add(sandbox: Sandbox, customer: Any, **fields: Any) -> Any:
    return sandbox.api.post(addresses_of(customer), {**HOME, **fields})


def defaults(sandbox: Sandbox, customer: Any) -> list[str]:
    return [
        address["id"]
        for address in sandbox.api.get(addresses_of(customer))["data"]
        if address["is_default"]
    ]


def test_the_currency_of_a_customer_is_the_apps(sandbox: Sandbox) -> None:
    """B-30, B-90."""
    sandbox.settings(main_currency="EUR")
    assert sandbox.customer()["currency"] == "EUR"


def test_the_countries_of_addresses_are_the_apps(sandbox: Sandbox) -> None:
    """B-30, B-90."""
    sandbox.settings(countries=["JP"])
    customer = sandbox.customer()
    assert add(sandbox, customer, country="JP")["country"] == "JP"
    sandbox.api.rejected("POST", addresses_of(customer), 422, "INVALID_FIELD", json=HOME)


def test_the_customer_shows_the_default_as_it_is_now(sandbox: Sandbox) -> None:
    """B-30: a customer has one default and changes with it, but not with another address."""
    customer, other = sandbox.customer(), sandbox.customer()
    first, theirs = add(sandbox, customer, is_default=True), add(sandbox, other, is_default=True)
    sandbox.advance("1h")
    second = add(sandbox, customer, is_default=True)
    listed = sandbox.api.get(addresses_of(customer))["data"]
    assert listed == [second, {**first, "is_default": False, "updated_at": sandbox.now}]
    assert sandbox.shown(other)["address"] == theirs
    sandbox.advance("1h")
    changed = sandbox.api.patch(f"{addresses_of(customer)}{second['id']}/", {"city": "Oyem"})
    customer_now = sandbox.shown(customer)
    assert (customer_now["address"], customer_now["updated_at"]) == (changed, sandbox.now)
    assert customer_now in sandbox.api.get("/customers/")["data"]
    sandbox.advance("1h")
    sandbox.api.delete(f"{addresses_of(customer)}{add(sandbox, customer)['id']}/")
    assert sandbox.shown(customer) == customer_now
    path = f"{addresses_of(customer)}{first['id']}/"
    for default, id in ((True, first["id"]), (True, first["id"]), (False, None)):
        sandbox.api.patch(path, {"is_default": default})
        assert defaults(sandbox, customer) == ([id] if id else [])
    sandbox.api.patch(path, {"is_default": True})
    sandbox.api.delete(path)
    assert defaults(sandbox, customer) == []
    assert sandbox.shown(customer)["address"] is None
