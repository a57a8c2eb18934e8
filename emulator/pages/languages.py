"""A language: the words of a page, and how amounts and dates are written in it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from functools import cache
from typing import Any

from emulator.pages.texts import LANGUAGES, MAGIC_IN_FRENCH, WORDS
from emulator.resources.customers.magic_values import MagicValue

_PLACE = re.compile(r"\{(\w+)\}")


class Language:
    """One of :data:`LANGUAGES` and what is said in it. Babel writes amounts and dates; it is loaded when the first page
    is asked for.
    """

    def __init__(self, code: str, words: Mapping[str, tuple[str, str]] = WORDS) -> None:
        self.code = code
        self._words = words
        self._column = LANGUAGES.index(code)

    def __call__(self, key: str, **values: object) -> str:
        """The words for a key, its places filled; a value is put in as it is, whatever it holds."""
        return _PLACE.sub(lambda place: str(values[place[1]]), self._words[key][self._column])

    def has(self, key: str) -> bool:
        """Whether there are words for a key."""
        return key in self._words

    def failure(self, code: str, merchant: str) -> str:
        """Why a payment failed, for a code of the error table."""
        return self(code if code in WORDS else "other_failure", merchant=merchant)

    def magic(self, type: str, value: MagicValue) -> str:
        """What a magic value does."""
        if not value.name:
            return self("magic.ordinary")
        return value.meaning if self.code == "en" else MAGIC_IN_FRENCH.get(f"{type}.{value.name}", value.meaning)

    def money(self, amount: int, currency: str) -> str:
        """An amount of minor units."""
        from babel.numbers import format_currency

        text = str(format_currency(Decimal(amount).scaleb(-decimals(currency)), currency, locale=self.code))
        # A currency written in letters stands apart from the number; Babel leaves out that rule of CLDR.
        return re.sub(r"(?<=[A-Z])(?=[0-9])", "\N{NO-BREAK SPACE}", text)

    def day(self, day: str) -> str:
        """``YYYY-MM-DD`` as people write it."""
        from babel.dates import format_date

        return str(format_date(date.fromisoformat(day[:10]), "long", locale=self.code))

    def instant(self, at: str) -> str:
        """An instant, in UTC: the page cannot know where its reader is."""
        from babel.dates import format_datetime

        return f"{format_datetime(_parsed(at), 'd MMMM y HH:mm', locale=self.code)} UTC"

    def time(self, at: str) -> str:
        """The time of day of an instant, in UTC."""
        from babel.dates import format_datetime

        return f"{format_datetime(_parsed(at), 'HH:mm:ss', locale=self.code)} UTC"

    def country(self, code: str) -> str:
        """The name of a country."""
        return str(_territories(self.code).get(code, code))

    def period(self, interval: str, count: int) -> str:
        """How often a subscription charges."""
        return self(f"every_{interval}") if count == 1 else self(f"every_n_{interval}", count=count)

    def amount(self, text: str, currency: str) -> int | None:
        """Minor units from what a buyer typed, with the separators of this language or a plain point; else None."""
        from babel.numbers import NumberFormatError, parse_decimal

        if not re.fullmatch(r"[0-9.,\s]{1,30}", text.strip()):
            return None
        compact = re.sub(r"\s", "", text)
        form = re.fullmatch(r"[0-9]{1,15}(?:[.,]([0-9]+))?", compact)
        if form and len(form[1] or "") <= decimals(currency):
            return int(Decimal(compact.replace(",", ".")).scaleb(decimals(currency)))
        try:
            minor = parse_decimal(text.strip(), locale=self.code, strict=True).scaleb(decimals(currency))
        except NumberFormatError:
            return None
        return int(minor) if minor == minor.to_integral_value() else None


def _parsed(at: str) -> datetime:
    return datetime.fromisoformat(at)


@cache
def _territories(code: str) -> Mapping[str, str]:
    from babel import Locale

    return dict(Locale.parse(code).territories)


def decimals(currency: str) -> int:
    """How many decimals a currency has: an amount of 100 is 1.00 with two, and 100 with none."""
    from babel.numbers import get_currency_precision

    return int(get_currency_precision(currency))


KNOWN = {code: Language(code) for code in LANGUAGES}


def chosen(asked: str | None, accepted: str | None) -> Language:
    """The language of ``?lang=``, else the best of ``Accept-Language``, else English."""
    if asked in KNOWN:
        return KNOWN[asked]
    wishes = sorted(map(_wish, (accepted or "").split(",")[:50]), key=lambda wish: -wish[1])
    return next((KNOWN[code] for code, weight in wishes if code in KNOWN and weight > 0), KNOWN[LANGUAGES[0]])


def _wish(item: str) -> tuple[str, float]:
    """``fr-CA;q=0.8`` as a language and how much it is wanted."""
    tag, _, rest = item.strip().partition(";")
    weight = re.fullmatch(r"\s*q\s*=\s*([01](?:\.[0-9]{0,3})?)\s*", rest)
    return tag.split("-")[0].lower(), float(weight[1]) if weight else float(not rest)


def facts(language: Language) -> dict[str, Any]:
    """What every template is given of a language."""
    return {"t": language, "lang": language.code, "others": [code for code in LANGUAGES if code != language.code]}
