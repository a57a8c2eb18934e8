"""How a language is chosen, and how it writes amounts, in each currency, periods and dates."""

from __future__ import annotations

import re
from decimal import Decimal

import pytest

from emulator.document.iso_codes import currencies
from emulator.presentation.languages.language import Language, language_of, plain_money, preferred

ENGLISH, FRENCH = language_of("en"), language_of("fr")


@pytest.mark.parametrize(
    ("asked", "accepted", "code"),
    [
        *(("fr", "en", "fr"), ("../fr", None, "en"), ("", "", "en"), ("de", "fr", "fr")),
        *((None, accepted, "fr") for accepted in ("de, fr;q=0.5", "fr-CA", "FR", "de, fr;q=0.8, en;q=0.7")),
        *((None, accepted, "en") for accepted in ("de, fr;q=0.8, en;q=0.9", "fr;q=0", "fr;q=nonsense, en;q=0.1")),
    ],
)
def test_the_language_asked_for_wins(asked: str | None, accepted: str | None, code: str) -> None:
    assert preferred(asked, accepted).code == code


def test_each_language_has_its_own_plural_rule_and_a_context_distinguishes_equal_messages() -> None:
    for count, english, french in ((0, "0 events", "0 évènement"), (2, "2 events", "2 évènements")):
        message = ("{count} event", "{count} events", count)
        assert (ENGLISH.ngettext(*message), FRENCH.ngettext(*message)) == (english, french)
    assert (FRENCH.gettext("Open"), FRENCH.pgettext("action", "Open")) == ("À payer", "Ouvrir")
    merchant = "{merchant} %s {0.__class__}"
    assert ENGLISH.gettext("Pay {merchant}", merchant=merchant) == f"Pay {merchant}"


@pytest.mark.parametrize(
    ("amount", "currency", "english", "french", "for_buyers"),
    [
        (15000, "XAF", "15,000 XAF", "15 000 XAF", ("15,000 XAF", "15 000 XAF")),
        (-52122, "EUR", "−521.22 EUR", "−521,22 EUR", ("-€521.22", "-521,22 €")),
        (250, "USD", "2.50 USD", "2,50 USD", ("$2.50", "2,50 $US")),
        (1234, "TND", "1.234 TND", "1,234 TND", ("TND 1.234", "1,234 TND")),
    ],
)
def test_amounts(amount: int, currency: str, english: str, french: str, for_buyers: tuple[str, str]) -> None:
    for language, text, for_buyer in ((ENGLISH, english, for_buyers[0]), (FRENCH, french, for_buyers[1])):
        assert re.sub(r"\s", " ", language.money(amount, currency)) == text
        assert re.sub(r"\s", " ", language.money_with_symbol(amount, currency)) == for_buyer
        assert " " not in language.money(amount, currency), "no line breaks inside of an amount"
    assert plain_money(amount, currency) == english


@pytest.mark.parametrize(
    ("text", "currency", "english", "french"),
    [
        ("5000", "XAF", 5000, 5000),
        ("5,000", "XAF", 5000, 5),
        ("12.50", "EUR", 1250, 1250),
        ("12,50", "EUR", 1250, 1250),
        ("1 000,5", "EUR", 100050, 100050),
        ("1,000.50", "EUR", 100050, None),
        ("1.5", "XAF", None, None),
        ("", "XAF", None, None),
        ("1e3", "XAF", None, None),
        ("9" * 31, "XAF", None, None),
    ],
)
def test_typed_amounts(text: str, currency: str, english: int | None, french: int | None) -> None:
    assert (ENGLISH.parse_amount(text, currency), FRENCH.parse_amount(text, currency)) == (english, french)


def test_periods_and_dates() -> None:
    assert [ENGLISH.every("month", 1), FRENCH.every("year", 2)] == ["every month", "tous les 2 ans"]
    assert [ENGLISH.period("month", 1), FRENCH.period("month", 3)] == ["month", "3\xa0mois"]
    assert FRENCH.day("2026-02-01T00:00:00.000Z") == "1er février 2026"
    assert FRENCH.instant("2026-02-01T08:09:10.000Z") == "1er février 2026, 08:09 UTC"
    assert ENGLISH.time("2026-02-01T08:09:10.000Z") == "08:09:10 UTC"
    assert FRENCH.distance("2026-02-01T00:00:00Z", "2026-01-01T00:00:00Z") == "dans 1 mois"
    assert ENGLISH.distance("2026-02-01T00:00:00Z", "2026-02-01T00:00:00Z") == "now"
    assert (FRENCH.country("GA"), FRENCH.country("ZZZ")) == ("Gabon", "ZZZ")
    assert (ENGLISH.name, FRENCH.name) == ("English", "Français")


# -- every currency of ISO 4217 has the decimals of the standard (B-24)

AMOUNT = 1_234_567

NOT_TWO = {
    0: "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF",
    3: "BHD IQD JOD KWD LYD OMR TND",
    4: "CLF UYW",
}
"""The currencies to which the standard gives another number of decimals than two; of these it gives none a minor unit:"""

NO_UNIT = "XAG XAU XBA XBB XBC XBD XDR XPD XPT XSU XTS XUA XXX"


def test_the_table_is_the_standards() -> None:
    expected = dict.fromkeys(currencies(), 2) | dict.fromkeys(NO_UNIT.split(), 0)
    for places, codes in NOT_TWO.items():
        expected |= dict.fromkeys(codes.split(), places)
    assert currencies() == expected


@pytest.mark.parametrize("language", [ENGLISH, FRENCH], ids=lambda each: each.code)
def test_each_currency_in_words(language: Language) -> None:
    """Amounts are written with the standard's decimals, and read as they are written."""
    for currency, places in currencies().items():
        figure = f"{Decimal(AMOUNT).scaleb(-places):,.{places}f}"
        if language is FRENCH:
            figure = figure.translate({ord(","): " ", ord("."): ","})
        for text in (language.money(AMOUNT, currency), language.money_with_symbol(AMOUNT, currency)):
            assert figure in " ".join(text.split()), currency
        assert language.parse_amount(figure, currency) == AMOUNT
