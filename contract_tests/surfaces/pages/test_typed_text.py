"""Text as people type and paste it, in the forms of buyers' pages and of the console, and in the
console's search (B-35).
"""

from __future__ import annotations

import pytest

from contract_tests.support.sandbox import Sandbox
from contract_tests.surfaces.console.visitor import visiting
from contract_tests.surfaces.pages.buyer import (
    CARD,
    PAYPAL,
    PHONE,
    TRANSFER,
    WHO,
    Buyer,
    buyer,
    session,
)

PHONES = {
    "blanks": "+241 77 00 00 00",
    "no-break blanks": "+241\N{NO-BREAK SPACE}77\N{NARROW NO-BREAK SPACE}000000",
    "dashes": "+241-77\N{EN DASH}00\N{NON-BREAKING HYPHEN}00\N{MINUS SIGN}00",
    "dots and parentheses": "(+241) 77.00.00.00",
    "two noughts": "00241 77000000",
    "an embedding": "\u202a+24177000000\u202c",
    "an override": "\u202d+24177000000\u202c",
    "isolates": "\u2066+241\u206977000000",
    "marks of direction": "\u200e+24177\u200f000000",
    "blanks without width": "\ufeff+241\u200b77\u200c000\u200d000\u2060",
    "Arabic-Indic digits": "+٢٤١ ٧٧ ٠٠ ٠٠ ٠٠",
    "Persian digits": "+۲۴۱۷۷۰۰۰۰۰۰",
    "Devanagari digits": "+२४१७७००००००",
    "full width": "＋２４１（７７）０００．０００",
}
"""The same number, by how it is written."""

CARDS = {
    "blanks": "4242 4242 4242 4242",
    "dashes": "4242-4242\N{FIGURE DASH}4242-4242",
    "dots": "4242.4242.4242.4242",
    "no-break blanks": "4242\N{NO-BREAK SPACE}4242\N{NO-BREAK SPACE}4242\N{NO-BREAK SPACE}4242",
    "marks of direction": "\u202a4242\u200e424242424242\u202c",
    "Arabic-Indic digits": "٤٢٤٢ ٤٢٤٢ ٤٢٤٢ ٤٢٤٢",
    "full width": "４２４２　４２４２　４２４２　４２４２",
}

FORMS = {
    **{f"phone: {name}": {**PHONE, "phone": text} for name, text in PHONES.items()},
    **{f"card: {name}": {**CARD, "number": text} for name, text in CARDS.items()},
    "expiry: full width": {**CARD, "expiry": "１２／３０"},
    "expiry: Arabic-Indic digits": {**CARD, "expiry": "\u200f١٢/٣٠"},
    "expiry: blanks and a dash": {**CARD, "expiry": "\N{NO-BREAK SPACE}12 \N{EN DASH} 2030 "},
    "cvc: full width": {**CARD, "cvc": " １２３"},
    "cvc: marks of direction": {**CARD, "cvc": "\u202a123\u202c"},
    "IBAN: blanks and marks": {
        **TRANSFER,
        "iban": "\u2066FR14\N{NO-BREAK SPACE}2004 1010-0505.0001 3M02 606\u2069",
    },
    "IBAN: full width": {
        **TRANSFER,
        "iban": "ＦＲ１４２００４１０１００５０５０００１３Ｍ０２６０６",
    },
    "PayPal: blanks and marks": {
        **PAYPAL,
        "paypal_email": "\N{NO-BREAK SPACE}\u200bawa@example.com\u200e ",
    },
}


def pay(visitor: Buyer, form: dict[str, str]) -> int:
    who = {"name": "\u200f Awa Diop ", "email": "\u202aawa@example.com\u202c\N{NO-BREAK SPACE}"}
    return visitor.pay(**{**form, **who}).status_code


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
def test_a_buyer_pays_with_what_was_typed_or_pasted(sandbox: Sandbox, form: dict[str, str]) -> None:
    with buyer(sandbox, session(sandbox)) as visitor:
        assert pay(visitor, form) == 303
    [intent] = sandbox.api.get("/payment-intents/")["data"]
    assert intent["status"] in ("succeeded", "processing")
    [customer] = sandbox.api.get("/customers/")["data"]
    assert (customer["firstname"], customer["lastname"], customer["email"]) == (
        "Awa",
        "Diop",
        WHO["email"],
    )


WRONG = {
    "letters": {**PHONE, "phone": "+241 77 00 00 OO"},
    "superscripts": {**PHONE, "phone": "+241 77 00 00 0²"},
    "a dash too many": {**PAYPAL, "paypal_email": "awa\u2013@example"},
    "a blank within": {**PAYPAL, "paypal_email": "awa diop@example.com"},
    "a wrong check digit": {**CARD, "number": "٤٢٤٢ ٤٢٤٢ ٤٢٤٢ ٤٢٤٣"},
}


@pytest.mark.parametrize("form", WRONG.values(), ids=WRONG.keys())
def test_what_means_no_number_stays_wrong(sandbox: Sandbox, form: dict[str, str]) -> None:
    with buyer(sandbox, session(sandbox)) as visitor:
        assert pay(visitor, form) == 422


@pytest.mark.parametrize("phone", [text for name, text in PHONES.items() if name != "two noughts"])
def test_the_api_takes_a_number_in_e164_alone(sandbox: Sandbox, phone: str) -> None:
    body = {"email": "awa@example.com", "name": "Awa Diop", "phone": phone}
    error = sandbox.api.rejected("POST", "/customers/", 422, "INVALID_FIELD", json=body)
    assert error["param"] == "phone"


WAYS_TO_SEARCH = [*PHONES.values(), "77 00 00 00", "٧٧٠٠٠٠٠٠", "\u202a77-000-000\u202c"]


@pytest.mark.parametrize("text", WAYS_TO_SEARCH)
def test_the_console_finds_a_phone_by_its_digits(sandbox: Sandbox, text: str) -> None:
    customer = sandbox.customer(phone="+24177000000")
    sandbox.api.post(
        "/customers/", {"email": "moussa@example.com", "name": "Moussa Ba", "phone": "+24177000001"}
    )
    with visiting(sandbox) as visitor:
        assert "Nothing matches" not in visitor.open("search", q=text).text
        page = visitor.open("objects", kind="customer", query=text)
        assert customer["id"] in page.html
        assert "Moussa" not in page.text


def test_the_console_reads_numbers_of_any_script(sandbox: Sandbox) -> None:
    with visiting(sandbox) as visitor:
        visitor.do("run", **{"rate:number": "\u200f٦٠"})
        assert sandbox.control.get("/clock")["rate"] == 60
        visitor.do("freeze")
        assert "+241" in visitor.open("/_emulator/phones/＋٢٤١ 77-00.00 00").text


def test_the_console_removes_marks_around_a_text(sandbox: Sandbox) -> None:
    with visiting(sandbox) as visitor:
        visitor.do("save", name="\u202abefore\u202c\N{NO-BREAK SPACE}")
    snapshots = sandbox.control.get("/snapshots")["data"]
    assert [snapshot["name"] for snapshot in snapshots] == ["before"]
