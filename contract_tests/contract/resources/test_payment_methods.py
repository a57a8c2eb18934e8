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
        (
            "bank_transfer",
            {"iban": " gb29\u00a0nwbk-6016.1331 9268\u201319"},
            {"bank": "NWBK", "last4": "6819"},
        ),
        (
            "bank_transfer",
            {"iban": "ＧＢ２９NWBK60161331926819"},
            {"bank": "NWBK", "last4": "6819"},
        ),
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
def test_each_type_has_its_own_details(
    sandbox: Sandbox, type: str, fields: Any, details: Any
) -> None:
    """B-52."""
    method = sandbox.method(None, type, **fields)
    assert (method["type"], method["status"], method["details"]) == (type, "active", details)


def test_the_brand_follows_the_number(sandbox: Sandbox) -> None:
    for number, brand in (
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
    ):
        assert sandbox.method(number=number)["details"]["brand"] == brand


def test_a_number_that_is_none_is_rejected(sandbox: Sandbox) -> None:
    """B-52, B-95: 422 ``INVALID_FIELD``, and the answer does not repeat what was sent."""
    customer = sandbox.customer()["id"]
    for field, value in (
        ("number", "4242 4242 4242 4241"),
        ("number", "4242-4242-4242-4242"),
        ("number", "42424242424"),
        ("iban", "FR14 2004 1010 0505 0001 3M02 607"),
        ("iban", "FR14 2004 1010 0505 0001 3M02 60"),
        ("iban", "GA2240021010032001890020126"),  # a country without a registered format
        ("iban", "my account"),
        ("iban", "FR14 2004 1010 0505 0001 3M02 606!"),
        ("iban", "¹²³"),
    ):
        own = {"type": "bank_card", **CARD} if field == "number" else {"type": "bank_transfer"}
        body = {"customer": customer, **own, field: value}
        error = sandbox.api.rejected("POST", "/payment-methods/", 422, "INVALID_FIELD", json=body)
        assert (error["param"], value in str(error)) == (field, False)


def test_a_card_expires_when_its_month_is_over(sandbox: Sandbox) -> None:
    """B-52: ``expired``; it can be charged no longer, nor can one of last month be stored."""
    method = sandbox.method(exp_month=2, exp_year=2026)
    sandbox.advance_to("2026-02-28T23:59:59.999Z")
    assert sandbox.pay(method)["status"] == "succeeded"
    waiting = sandbox.intent(method)
    sandbox.advance_to("2026-03-01")
    assert sandbox.status(method) == "expired"
    card = {
        "customer": method["customer"],
        "type": "bank_card",
        **CARD,
        "exp_month": 2,
        "exp_year": 2026,
    }
    renewing = {
        "customer": method["customer"],
        "unit_amount": 500,
        "interval": "month",
        "payment_method": method["id"],
    }
    for path, body, param in (
        (f"/payment-intents/{waiting['id']}/confirm/", {}, "payment_method"),
        (
            "/payment-intents/",
            {"amount": 5, "currency": "EUR", "payment_method": method["id"]},
            "payment_method",
        ),
        ("/subscriptions/", renewing, "payment_method"),
        ("/payment-methods/", card, "exp_month"),
    ):
        assert sandbox.api.rejected("POST", path, 422, "INVALID_FIELD", json=body)["param"] == param


# -- the default


def test_a_customer_has_one_default_at_most(sandbox: Sandbox) -> None:
    """B-52: the first method unless refused; none follows it when it goes, nor a phone (B-31)."""
    customer = sandbox.customer()
    defaults: tuple[dict[str, Any], ...] = ({"is_default": False}, {}, {}, {"is_default": True})
    made = [sandbox.method(customer, **fields) for fields in defaults]
    assert [method["is_default"] for method in made] == [False, True, False, True]

    def default() -> list[int]:
        now = [sandbox.shown(method) for method in made]
        return [index for index, method in enumerate(now) if method["is_default"]]

    assert default() == [3]
    path = f"/payment-methods/{made[0]['id']}/"
    chosen = sandbox.api.post(f"{path}set-default/")
    assert (chosen["is_default"], sandbox.api.post(f"{path}set-default/"), default()) == (
        True,
        chosen,
        [0],
    )
    sandbox.api.patch(f"/customers/{customer['id']}/", {"phone": "+24177000000"})
    assert default() == [0]
    assert sandbox.control.get("/clock")["pending"] == 4, "the expiry of each card"
    sandbox.api.delete(path)
    assert sandbox.control.get("/clock")["pending"] == 3
    listed = sandbox.api.get(f"/customers/{customer['id']}/payment-methods/")["data"]
    assert [method["is_default"] for method in listed] == [False] * 4
    subscriber = sandbox.method()["customer"]
    terms = {"customer": subscriber, "unit_amount": 500, "interval": "month"}
    assert sandbox.status(sandbox.api.post("/subscriptions/", terms)) == "active"
    assert sandbox.api.get("/transactions/")["pagination"]["count"] == 1


@pytest.mark.parametrize("mode", ["setup", "subscription"])
def test_a_phone_that_is_saved_but_inactive_is_saved_again(sandbox: Sandbox, mode: str) -> None:
    """B-58: the method that the buyer has just used can pay."""
    customer = sandbox.customer(phone="+24177000000")
    [old] = sandbox.api.get(f"/customers/{customer['id']}/payment-methods/")["data"]
    sandbox.control.patch(f"/objects/{old['id']}", {"status": "inactive"})
    period = {"subscription_data": {"interval": "month"}} if mode == "subscription" else {}
    lines = {"line_items": []} if mode == "setup" else {}
    for _ in range(2):
        made = sandbox.session(mode=mode, customer=customer["id"], **period, **lines)
        sandbox.buy(made, {"type": "mobile_money", "phone": "+24177000000"})
        assert sandbox.status(made) == "complete"
    methods = sandbox.api.get(f"/customers/{customer['id']}/payment-methods/")["data"]
    assert sorted(method["status"] for method in methods) == ["active", "inactive"]
    sandbox.advance("40d")
    for subscription in sandbox.api.get("/subscriptions/")["data"]:
        assert subscription["status"] == "active"


# -- nothing that could be stolen


NUMBERS = ["4242 4242 4242 4242", "4000000000003220", "4000 0000 0000 0002", "5555555555554444"]
BAD = ["4242 4242 4242 4241", "FR14 2004 1010 0505 0001 3M02 607"]


def test_no_full_number_is_stored_sent_or_logged(
    sandbox: Sandbox, server: RunningServer, caplog: pytest.LogCaptureFixture
) -> None:
    """B-52: in no record, event, remembered response or job, no response, and not in the log."""
    sent = []
    with caplog.at_level(logging.DEBUG):
        customer = sandbox.customer()
        for number in NUMBERS:
            body = {"customer": customer["id"], "type": "bank_card", **CARD, "number": number}
            headers = {"Idempotency-Key": number[-4:]}
            method = sandbox.api.request("POST", "/payment-methods/", json=body, headers=headers)
            sent += [method.text, str(sandbox.pay(method.json()))]
        sent.append(str(sandbox.pay(sandbox.method(customer, "bank_transfer", iban=IBAN))))
        wrong = [
            {"type": "bank_card", **CARD, "number": BAD[0]},
            {"type": "bank_transfer", "iban": BAD[1]},
        ]
        for fields in [
            *wrong,
            {"type": "paypal", **CARD},
            {"type": "bank_card", **CARD, "exp_year": BAD[0]},
        ]:
            response = sandbox.api.request(
                "POST", "/payment-methods/", json={"customer": customer["id"], **fields}
            )
            assert response.status_code == 422
            sent.append(response.text)
        sandbox.advance("2d")
    world = server.server.sandbox.engine.runtimes[
        Key(sandbox.key.removeprefix("sk_test_"), livemode=False)
    ].world
    kept = [msgspec.json.encode(record).decode() for table in world.tables() for record in table]
    assert any('"last4":"4242"' in record for record in kept), "the grep looks where the cards are"
    assert any("three_step" in record for record in kept), "hidden fields included"
    everything = "\n".join([*kept, *sent, caplog.text]).replace(" ", "")
    for number in [IBAN, *NUMBERS, *BAD]:
        assert number.replace(" ", "") not in everything


# -- IBANs and card numbers, held against python-stdnum


ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
REGISTRY = numdb.get("iban")


def registered(country: str) -> str | None:
    (_, format), *_ = REGISTRY.info(country)
    return str(format["bban"]) if format else None


COUNTRIES = [country for a in ALPHABET[:26] for b in ALPHABET[:26] if registered(country := a + b)]


def account(structure: str, character: str) -> str:
    """Return a number of this structure, with one character for all letters and digits."""
    kinds = {"n": "7", "a": "Q", "c": character}
    made, length = "", ""
    for symbol in structure.replace("!", ""):
        length, made = (
            (length + symbol, made)
            if symbol.isdigit()
            else ("", made + kinds[symbol] * int(length))
        )
    return made


def test_an_intent_that_waits_for_confirmation_follows_its_deleted_method(sandbox: Sandbox) -> None:
    """B-52: it waits for another one. The intent of a deleted customer keeps its method (B-32), and
    its subscription does not (B-41).
    """
    method, other = sandbox.method(), sandbox.method()
    intent, kept = sandbox.intent(method), sandbox.intent(other)
    sandbox.api.delete(f"/payment-methods/{method['id']}/")
    waiting = sandbox.shown(intent)
    assert (waiting["status"], waiting["payment_method"]) == ("requires_payment_method", None)
    path = f"/payment-intents/{intent['id']}/confirm/"
    error = sandbox.api.rejected("POST", path, 422, "PAYMENT_INTENT_NOT_CONFIRMABLE", json={})
    assert error.get("param") is None
    again = sandbox.method({"id": method["customer"]})
    assert sandbox.act(intent, "confirm", payment_method=again["id"])["status"] == "succeeded"
    terms = {"customer": other["customer"], "payment_method": other["id"], "unit_amount": 500}
    subscription = sandbox.api.post("/subscriptions/", {**terms, "interval": "month"})
    sandbox.api.delete(f"/customers/{other['customer']}/")
    left = [sandbox.shown(thing)["payment_method"] for thing in (kept, subscription)]
    assert left == [other["id"], None]
    assert sandbox.act(kept, "confirm")["status"] == "succeeded"


def test_each_country_has_the_registered_format() -> None:
    assert len(COUNTRIES) > 80
    for country in COUNTRIES:
        structure = registered(country)
        assert structure
        for bban in (account(structure, "Z"), account(structure, "4")):
            number = country + theirs.calc_check_digits(f"{country}00{bban}") + bban
            assert payment_details.is_iban(number)
            assert payment_details.bank(number) == bban[: int(structure.split("!")[0])]
            assert not payment_details.is_iban(
                country + theirs.calc_check_digits(f"{country}00{bban}4") + bban + "4"
            )


@given(st.text("0123456789", min_size=1, max_size=30))
def test_check_digits_of_cards_are_those_of_the_library(number: str) -> None:
    assert payment_details.is_card_number(number) == luhn.is_valid(number)
