"""IBANs and card numbers, held against python-stdnum."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stdnum import iban as theirs
from stdnum import luhn, numdb

from emulator.resources.customers import payment_details

ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
REGISTRY = numdb.get("iban")


def registered(country: str) -> str | None:
    (_, format), *_ = REGISTRY.info(country)
    return str(format["bban"]) if format else None


COUNTRIES = [country for a in ALPHABET[:26] for b in ALPHABET[:26] if registered(country := a + b)]


def account(structure: str, character: str) -> str:
    """A number of this structure, made of one character where letters and digits may stand."""
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
