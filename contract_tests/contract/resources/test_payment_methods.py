"""Payment methods: checked when given, and stored without anything that could be stolen (B-52)."""

from __future__ import annotations

import logging
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from stdnum import iban as theirs
from stdnum import luhn, numdb

from contract_tests.support.sandbox import RunningServer, Sandbox
from emulator.resources.app.clients import Key
from emulator.resources.customers import payment_details

CARD = {"number": "4242 4242 4242 4242", "exp_month": 12, "exp_year": 2030, "cvc": "123"}
IBAN = "FR14 2004 1010 0505 0001 3M02 606"


@pytest.mark.parametrize(
    ("type", "fields", "details"),
    [
        ("bank_card", CARD, {"brand": "visa", "last4": "4242", "exp_month": 12, "exp_year": 2030}),
        ("bank_transfer", {"iban": IBAN}, {"bank": "20041", "last4": "2606"}),
        ("bank_transfer", {"iban": "gb29nwbk60161331926819"}, {"bank": "NWBK", "last4": "6819"}),
        ("bank_transfer", {"iban": "GA2140021010032001890020126"}, {"bank": None, "last4": "0126"}),
        ("paypal", {"email": "awa@example.com"}, {"email": "awa@example.com"}),
        (
            "mobile_money",
            {"phone": "+24177123456"},
            {"operator": "Airtel", "phone": "+24177123456", "country": "GA"},
        ),
    ],
    ids=str,
)
def test_each_type_has_its_own_details(sandbox: Sandbox, type: str, fields: Any, details: Any) -> None:
    """B-52."""
    customer = sandbox.customer()
    method = sandbox.method(customer, type, **fields, metadata={"wallet": "main"})
    assert (method["type"], method["status"], method["is_default"]) == (type, "active", True)
    assert (method["customer"], method["metadata"]) == (customer["id"], {"wallet": "main"})
    assert method["details"] == details
    assert sandbox.api.get(f"/payment-methods/{method['id']}/") == method


@pytest.mark.parametrize(
    ("number", "brand"),
    [
        ("4012888888881881", "visa"),
        ("5555555555554444", "mastercard"),
        ("2223003122003222", "mastercard"),
        ("2720990000000007", "mastercard"),
        ("378282246310005", "amex"),
        ("6011111111111117", "discover"),
        ("30569309025904", "diners"),
        ("3566002020360505", "jcb"),
        ("6200000000000005", "unionpay"),
        ("9000000000000001", "unknown"),
    ],
)
def test_the_brand_follows_the_number(sandbox: Sandbox, number: str, brand: str) -> None:
    assert sandbox.method(number=number)["details"]["brand"] == brand


@pytest.mark.parametrize(
    ("type", "fields", "param"),
    [
        ("bank_card", {**CARD, "number": "4242 4242 4242 4241"}, "number"),
        ("bank_card", {**CARD, "number": "4242-4242-4242-4242"}, "number"),
        ("bank_card", {**CARD, "number": "42424242424"}, "number"),
        ("bank_card", {**CARD, "exp_month": 13}, "exp_month"),
        ("bank_card", {**CARD, "exp_year": 2025}, "exp_year"),
        ("bank_card", {**CARD, "cvc": "12"}, "cvc"),
        ("bank_card", {**CARD, "iban": IBAN}, "iban"),
        ("bank_transfer", {"iban": "FR14 2004 1010 0505 0001 3M02 607"}, "iban"),
        ("bank_transfer", {"iban": "FR14 2004 1010 0505 0001 3M02 60"}, "iban"),
        ("bank_transfer", {"iban": "my account"}, "iban"),
        ("bank_transfer", {"iban": "¹²³"}, "iban"),
        ("mobile_money", {"phone": "077123456"}, "phone"),
        ("paypal", {"email": "awa"}, "email"),
        ("paypal", {"email": "awa@example.com", "phone": "+24177123456"}, "phone"),
    ],
    ids=str,
)
def test_what_is_wrong_is_rejected(sandbox: Sandbox, type: str, fields: Any, param: str) -> None:
    """B-52, B-95: 422 ``INVALID_FIELD``, and the answer does not repeat what was sent."""
    body = {"customer": sandbox.customer()["id"], "type": type, **fields}
    error = sandbox.api.rejected("POST", "/payment-methods/", 422, "INVALID_FIELD", json=body)
    assert error["param"] == param
    assert not [value for name, value in fields.items() if name in ("number", "iban") and value in str(error)]


@pytest.mark.parametrize(
    ("type", "fields", "param"),
    [
        ("bank_transfer", {}, "iban"),
        ("mobile_money", {}, "phone"),
        ("paypal", {}, "email"),
        *[("bank_card", {key: CARD[key] for key in CARD if key != name}, name) for name in CARD],
    ],
    ids=str,
)
def test_what_is_missing_is_named(sandbox: Sandbox, type: str, fields: Any, param: str) -> None:
    """B-12."""
    body = {"customer": sandbox.customer()["id"], "type": type, **fields}
    error = sandbox.api.rejected("POST", "/payment-methods/", 422, "MISSING_FIELD", json=body)
    assert error["param"] == param


# -- expiry


def test_a_card_of_this_month_is_good_and_one_of_last_month_is_not(sandbox: Sandbox) -> None:
    sandbox.method(exp_month=1, exp_year=2026)
    sandbox.advance("31d")
    body = {"customer": sandbox.customer()["id"], "type": "bank_card", **CARD, "exp_month": 1, "exp_year": 2026}
    assert sandbox.api.rejected("POST", "/payment-methods/", 422, "INVALID_FIELD", json=body)["param"] == "exp_month"


def test_a_card_expires_when_its_month_is_over(sandbox: Sandbox) -> None:
    """B-52: ``expired``; it can be charged no longer."""
    method = sandbox.method(exp_month=2, exp_year=2026)
    sandbox.control.post("/clock/advance", {"to": "2026-02-28T23:59:59.999Z"})
    assert sandbox.pay(method)["status"] == "succeeded"
    waiting = sandbox.intent(method)
    sandbox.control.post("/clock/advance", {"to": "2026-03-01T00:00:00.000Z"})
    assert sandbox.api.get(f"/payment-methods/{method['id']}/")["status"] == "expired"
    path = f"/payment-intents/{waiting['id']}/confirm/"
    assert sandbox.api.rejected("POST", path, 422, "INVALID_FIELD")["param"] == "payment_method"
    body = {"amount": 5000, "currency": "XAF", "payment_method": method["id"]}
    sandbox.api.rejected("POST", "/payment-intents/", 422, "INVALID_FIELD", json=body)


# -- the default


def default_of(sandbox: Sandbox, *methods: Any) -> list[bool]:
    return [sandbox.api.get(f"/payment-methods/{method['id']}/")["is_default"] for method in methods]


def test_a_customer_has_one_default_at_most(sandbox: Sandbox) -> None:
    """B-52."""
    customer = sandbox.customer()
    first = sandbox.method(customer, is_default=True)
    second = sandbox.method(customer, is_default=True)
    assert default_of(sandbox, first, second) == [False, True]
    chosen = sandbox.api.post(f"/payment-methods/{first['id']}/set-default/")
    assert chosen["is_default"] is True
    assert default_of(sandbox, first, second) == [True, False]
    again = sandbox.api.post(f"/payment-methods/{first['id']}/set-default/")
    assert again == chosen


def test_the_first_method_is_the_default_unless_it_is_said_not_to_be(sandbox: Sandbox) -> None:
    """B-52; and a phone that comes later takes nothing from it (B-31)."""
    customer = sandbox.customer()
    assert sandbox.method(customer, is_default=False)["is_default"] is False
    assert sandbox.method(customer)["is_default"] is True
    assert sandbox.method(customer)["is_default"] is False
    sandbox.api.patch(f"/customers/{customer['id']}/", {"phone": "+24177000000"})
    path = f"/customers/{customer['id']}/payment-methods/"
    assert [each["type"] for each in sandbox.api.pages(path) if each["is_default"]] == ["bank_card"]
    other = sandbox.customer()
    sandbox.api.patch(f"/customers/{other['id']}/", {"phone": "+24177000000"})
    assert [each["is_default"] for each in sandbox.api.pages(f"/customers/{other['id']}/payment-methods/")] == [True]
    subscriber = sandbox.customer()
    sandbox.method(subscriber)
    terms = {"customer": subscriber["id"], "unit_amount": 500, "interval": "month"}
    assert sandbox.status(sandbox.api.post("/subscriptions/", terms)) == "active"
    assert sandbox.invoices("status") == ["paid"]


def test_a_removed_default_is_not_replaced(sandbox: Sandbox) -> None:
    """B-52: 204, no other default is promoted."""
    customer = sandbox.customer()
    first, second = sandbox.method(customer, is_default=True), sandbox.method(customer)
    assert sandbox.api.delete(f"/payment-methods/{first['id']}/") is None
    sandbox.api.rejected("GET", f"/payment-methods/{first['id']}/", 404, "PAYMENT_METHOD_NOT_FOUND")
    assert default_of(sandbox, second) == [False]
    assert sandbox.control.get("/clock")["pending"] == 1, "only the other card's expiry is planned"


# -- nothing that could be stolen


NUMBERS = ["4242 4242 4242 4242", "4000000000003220", "4000 0000 0000 0002", "5555555555554444"]
STOLEN = [IBAN, *NUMBERS]
BAD = ["4242 4242 4242 4241", "FR14 2004 1010 0505 0001 3M02 607"]


def test_no_full_number_is_stored_sent_or_logged(
    sandbox: Sandbox, server: RunningServer, caplog: pytest.LogCaptureFixture
) -> None:
    """B-52: neither in a record, an event, a remembered answer or a job, nor in an answer, nor in the log."""
    sent = []
    with caplog.at_level(logging.DEBUG):
        customer = sandbox.customer()
        for number in NUMBERS:
            body = {"customer": customer["id"], "type": "bank_card", **CARD, "number": number}
            headers = {"Idempotency-Key": number[-4:]}
            method = sandbox.api.request("POST", "/payment-methods/", json=body, headers=headers)
            sent += [method.text, str(sandbox.pay(method.json()))]
        sent.append(str(sandbox.pay(sandbox.method(customer, "bank_transfer", iban=IBAN))))
        wrong = [{"type": "bank_card", **CARD, "number": BAD[0]}, {"type": "bank_transfer", "iban": BAD[1]}]
        for fields in [*wrong, {"type": "paypal", **CARD}, {"type": "bank_card", **CARD, "exp_year": BAD[0]}]:
            answer = sandbox.api.request("POST", "/payment-methods/", json={"customer": customer["id"], **fields})
            assert answer.status_code == 422
            sent.append(answer.text)
        sandbox.advance("2d")
    world = server.server.sandbox.engine.runtimes[Key(sandbox.key.removeprefix("sk_test_"), livemode=False)].world
    kept = [msgspec.json.encode(record).decode() for table in world.tables() for record in table]
    assert any('"last4":"4242"' in record for record in kept), "the grep looks where the cards are"
    assert any("three_step" in record for record in kept), "hidden fields included"
    everything = "\n".join([*kept, *sent, caplog.text]).replace(" ", "")
    for number in [*STOLEN, *BAD]:
        assert number.replace(" ", "") not in everything


# -- IBANs and card numbers, held against python-stdnum


ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
REGISTRY = numdb.get("iban")


def registered(country: str) -> str | None:
    (_, format), *_ = REGISTRY.info(country)
    return str(format["bban"]) if format else None


COUNTRIES = [country for a in ALPHABET[:26] for b in ALPHABET[:26] if registered(country := a + b)]


def account(structure: str, character: str) -> str:
    """Return a number of this structure, made of one character where letters and digits may stand."""
    kinds = {"n": "7", "a": "Q", "c": character}
    parts = structure.replace("!", "")
    made, length = "", ""
    for each in parts:
        length, made = (length + each, made) if each.isdigit() else ("", made + kinds[each] * int(length))
    return made


def test_the_countries_are_many() -> None:
    assert len(COUNTRIES) > 80
    assert {"FR", "DE", "GB", "ST"} <= set(COUNTRIES)
    assert not {"GA", "CM"} & set(COUNTRIES)


@pytest.mark.parametrize("country", COUNTRIES)
def test_each_country_has_the_registered_format(country: str) -> None:
    structure = registered(country)
    assert structure
    for bban in (account(structure, "Z"), account(structure, "4")):
        number = country + theirs.calc_check_digits(f"{country}00{bban}") + bban
        assert payment_details.has_iban_form(number)
        assert payment_details.is_iban(number)
        assert payment_details.iban_length(country) == len(number)
        assert payment_details.bank(number) == bban[: int(structure.split("!")[0])]
        longer = country + theirs.calc_check_digits(f"{country}00{bban}4") + bban + "4"
        assert not payment_details.is_iban(longer)


@given(st.sampled_from(COUNTRIES), st.text(ALPHABET, min_size=11, max_size=30), st.booleans())
def test_verdicts_are_those_of_the_library(country: str, bban: str, right: bool) -> None:
    digits = theirs.calc_check_digits(f"{country}00{bban}") if right else "42"
    number = country + digits + bban
    assert payment_details.is_iban(number) == theirs.is_valid(number, check_country=False)


def test_a_country_without_a_registered_format_has_check_digits_only() -> None:
    assert payment_details.is_iban("GA2140021010032001890020126")
    assert payment_details.iban_length("GA") == len("GA2140021010032001890020126")
    assert payment_details.iban_length("US") == 0
    assert payment_details.bank("GA2140021010032001890020126") is None
    assert not payment_details.is_iban("GA2240021010032001890020126")


@pytest.mark.parametrize(
    "written", ["fr76 3000-6000", " FR76\u00a03000.6000 ", "ＦＲ７６３０００６０００", "FR76\u20133000 6000\n"]
)
def test_numbers_are_read_as_people_write_them(written: str) -> None:
    assert payment_details.compact_iban(written) == "FR7630006000"


@given(st.text("0123456789", min_size=1, max_size=30))
def test_check_digits_of_cards_are_those_of_the_library(number: str) -> None:
    assert payment_details.is_card_number(number) == luhn.is_valid(number)
