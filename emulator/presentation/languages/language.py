"""A language: its messages, and its form of amounts, dates, periods and country names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date, datetime, timedelta
from decimal import Decimal, localcontext
from functools import cache, cached_property
from typing import TYPE_CHECKING

from emulator.core.vendored import library
from emulator.document.iso_codes import currencies
from emulator.presentation.languages import catalogs

if TYPE_CHECKING:
    from babel import Locale

FRANCS_CFA = frozenset({"XAF", "XOF"})
"""Francs of Central and West Africa: CLDR's FCFA differ only by a thin space that nobody sees."""

# Babel is loaded on first use in each of these: its locale data take longer to load than most
# servers run.


class Language:
    """One of :func:`catalogs.languages`. Placeholders of messages are in braces: ``{amount}``."""

    def __init__(self, code: str) -> None:
        self.code = code

    # -- messages

    def gettext(self, message: str, /, **values: object) -> str:
        return _filled(catalogs.translations(self.code).gettext(message), values)

    def pgettext(self, context: str, message: str, /, **values: object) -> str:
        """Return a message whose translation depends on the context, its placeholders replaced."""
        return _filled(catalogs.translations(self.code).pgettext(context, message), values)

    def ngettext(self, singular: str, plural: str, count: int, /, **values: object) -> str:
        """Return the form of a message that fits a number, which replaces ``{count}``."""
        form = catalogs.translations(self.code).ngettext(singular, plural, count)
        return _filled(form, {"count": count, **values})

    @property
    def name(self) -> str:
        return (self._locale.display_name or self.code).capitalize()

    def listed(self, parts: Sequence[str]) -> str:
        """Return parts as one enumeration: ``A, B, and C``."""
        return str(library("babel.lists").format_list(parts, locale=self._locale))

    # -- amounts

    def money(self, amount: int, currency: str) -> str:
        """Return minor units as number and ISO code: ``−521.22 EUR``, in French ``−521,22 EUR``."""
        return self._money(amount, currency, "#,##0.00\N{NO-BREAK SPACE}¤¤").replace(
            "-", "\N{MINUS SIGN}"
        )

    def money_with_symbol(self, amount: int, currency: str) -> str:
        """Return minor units with a symbol: English ``€19.99``. Francs CFA keep their codes."""
        if currency in FRANCS_CFA:
            return self.money(amount, currency)
        text = self._money(amount, currency, self._locale.currency_formats["standard"].pattern)
        # A currency sign made of letters is set apart from the number; Babel leaves this rule of
        # CLDR out.
        return re.sub(r"(?<=[^\W\d])(?=\d)", "\N{NO-BREAK SPACE}", text)

    def _money(self, amount: int, currency: str, pattern: str) -> str:
        places = decimals(currency)
        own = pattern.replace("0.00", f"0.{'0' * places}" if places else "0")
        with _precision_for(amount):
            exact, numbers = Decimal(amount).scaleb(-places), library("babel.numbers")
            return str(
                numbers.format_currency(
                    exact, currency, own, locale=self._locale, currency_digits=False
                )
            )

    def number(self, value: int) -> str:
        with _precision_for(value):
            return str(library("babel.numbers").format_decimal(value, locale=self._locale))

    def decimal(self, value: float) -> str:
        """Return a number with as many decimals as it needs: ``19.25``."""
        exact, numbers = Decimal(str(value)), library("babel.numbers")
        return str(numbers.format_decimal(exact, locale=self._locale, decimal_quantization=False))

    def tax(self, rate: float | None) -> str:
        """Return an invoice's tax label: ``Tax (18%)``, or without an unknown rate (per cent)."""
        return (
            self.gettext("Tax ({rate}%)", rate=self.decimal(rate)) if rate else self.gettext("Tax")
        )

    def parse_amount(self, text: str, currency: str) -> int | None:
        """Return typed text's minor units (this language's separators or plain point), or None."""
        if not re.fullmatch(r"[0-9.,\s]{1,30}", text.strip()):
            return None
        compact = re.sub(r"\s", "", text)
        plain = re.fullmatch(r"[0-9]{1,15}(?:[.,]([0-9]+))?", compact)
        if plain and len(plain[1] or "") <= decimals(currency):
            return int(Decimal(compact.replace(",", ".")).scaleb(decimals(currency)))
        numbers = library("babel.numbers")
        try:
            minor = numbers.parse_decimal(text.strip(), locale=self._locale, strict=True).scaleb(
                decimals(currency)
            )
        except numbers.NumberFormatError:
            return None
        return int(minor) if minor == minor.to_integral_value() else None

    # -- dates

    def day(self, instant: str) -> str:
        """Return an instant's day, or a day (``YYYY-MM-DD``), in full: ``1er février 2026``."""
        dates = library("babel.dates")
        return self._with_ordinal(
            dates.format_date(date.fromisoformat(instant[:10]), "long", locale=self._locale)
        )

    def short_day(self, instant: str) -> str:
        """Return the day of an instant, or a day, with a short month: ``1er févr. 2026``."""
        return self._with_ordinal(self.instant(instant[:10], "d MMM y"))

    def instant(self, instant: str, pattern: str | None = None) -> str:
        """Return an instant in UTC: pages do not know readers' zones. ``pattern`` is CLDR's."""
        form, moment = pattern or "HH:mm 'UTC'", datetime.fromisoformat(instant)
        text = str(library("babel.dates").format_datetime(moment, form, locale=self._locale))
        return text if pattern else f"{self.day(instant)}, {text}"

    def _with_ordinal(self, day: str) -> str:
        """Return a written day; French has an ordinal for day one, which CLDR's patterns lack."""
        return re.sub(r"^1(?= )", "1er", day) if self.code == "fr" else day

    def time(self, instant: str) -> str:
        return self.instant(instant, "HH:mm:ss 'UTC'")

    def distance(self, instant: str, now: str) -> str:
        """Return how far an instant is from another: ``in 12 days``."""
        span = datetime.fromisoformat(instant) - datetime.fromisoformat(now)
        if abs(span.total_seconds()) < 1:
            return self.gettext("now")
        return str(
            library("babel.dates").format_timedelta(
                span, add_direction=True, threshold=1, locale=self._locale
            )
        )

    def span(self, seconds: float) -> str:
        """Return how long a time is: ``3 days``."""
        return str(
            library("babel.dates").format_timedelta(
                timedelta(seconds=seconds), threshold=1, locale=self._locale
            )
        )

    def period(self, interval: str, count: int) -> str:
        """Return how long a period is: ``month``, ``3 mois``."""
        unit = library("babel.units").format_unit(
            count, f"duration-{interval}", locale=self._locale
        )
        return re.sub(r"^1\s", "", str(unit))

    def every(self, interval: str, count: int) -> str:
        """Return how often something recurs: ``every month``, ``tous les 3 mois``."""
        return _EVERY[interval](self, count)

    # -- places

    def country(self, code: str) -> str:
        return str(self._locale.territories.get(code, code))

    @cached_property
    def _locale(self) -> Locale:
        return library("babel").Locale.parse(self.code)


_EVERY: dict[str, Callable[[Language, int], str]] = {
    "day": lambda language, count: language.ngettext("every day", "every {count} days", count),
    "week": lambda language, count: language.ngettext("every week", "every {count} weeks", count),
    "month": lambda language, count: language.ngettext(
        "every month", "every {count} months", count
    ),
    "year": lambda language, count: language.ngettext("every year", "every {count} years", count),
}


def _filled(message: str, values: dict[str, object]) -> str:
    """Return the message with values in its placeholders; braces in a value are no placeholder."""
    return message.format_map(values) if values else message


@contextmanager
def _precision_for(value: int) -> Iterator[None]:
    """Give decimals enough digits for any client's number; otherwise long ones raise an error."""
    with localcontext() as context:
        context.prec = 28 + value.bit_length()
        yield


def decimals(currency: str) -> int:
    """Return a currency's number of decimals; two for another service's that ISO 4217 lacks."""
    return currencies().get(currency, 2)


def plain_money(amount: int, currency: str) -> str:
    """Return minor units in English with an ordinary space, for terminals: ``15,000 XAF``."""
    return language_of(catalogs.SOURCE).money(amount, currency).replace("\N{NO-BREAK SPACE}", " ")


@cache
def language_of(code: str) -> Language:
    """Return the language of a code; English where it is not offered."""
    return Language(code if code in catalogs.languages() else catalogs.SOURCE)


def preferred(requested: str | None, accepted: str | None) -> Language:
    """Return the requested language, the best of an ``Accept-Language`` header, or English."""
    known = catalogs.languages()
    if requested in known:
        return language_of(requested)
    weighted = sorted(map(_weighted, (accepted or "").split(",")[:50]), key=lambda pair: -pair[1])
    return language_of(
        next((code for code, weight in weighted if code in known and weight > 0), catalogs.SOURCE)
    )


def _weighted(item: str) -> tuple[str, float]:
    """Return the language and the weight in ``fr-CA;q=0.8``."""
    tag, _, rest = item.strip().partition(";")
    weight = re.fullmatch(r"\s*q\s*=\s*([01](?:\.[0-9]{0,3})?)\s*", rest)
    return tag.split("-")[0].lower(), float(weight[1]) if weight else float(not rest)
