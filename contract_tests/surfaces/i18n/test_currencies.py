"""Every currency of ISO 4217, and every surface that shows or takes an amount: its decimals are the standard's (B-24)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import cache
from itertools import takewhile
from typing import Any, NamedTuple

import pytest

from contract_tests.support.sandbox import CARD, RunningServer, Sandbox
from contract_tests.surfaces.cli.terminal import run
from contract_tests.surfaces.console.visitor import visiting
from contract_tests.surfaces.pages.buyer import CARD as CARD_FORM
from contract_tests.surfaces.pages.buyer import WHO, Buyer, path_of
from contract_tests.surfaces.rendering import pdfs
from emulator.document.iso_codes import currencies
from emulator.presentation.languages.language import language_of

AMOUNT = 1_234_567

NOT_TWO = {
    0: "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF",
    3: "BHD IQD JOD KWD LYD OMR TND",
    4: "CLF UYW",
}
"""The currencies to which the standard gives another number of decimals than two; of these it gives none a minor unit:"""

NO_UNIT = "XAG XAU XBA XBB XBC XBD XDR XPD XPT XSU XTS XUA XXX"

EVERY = sorted(currencies())

SHOWN = sorted(["EUR", "USD", *(code for codes in NOT_TWO.values() for code in codes.split())])
"""Those that tell a surface which takes the standard's decimals from one which takes two."""


def figure(currency: str, language: str = "en") -> str:
    places = currencies()[currency]
    english = f"{Decimal(AMOUNT).scaleb(-places):,.{places}f}"
    return english if language == "en" else english.translate({ord(","): " ", ord("."): ","})


def test_the_table_is_the_standards() -> None:
    expected = dict.fromkeys(currencies(), 2) | dict.fromkeys(NO_UNIT.split(), 0)
    for places, codes in NOT_TWO.items():
        expected |= dict.fromkeys(codes.split(), places)
    assert currencies() == expected


@pytest.mark.parametrize("language", ["en", "fr"])
def test_each_currency_in_words(language: str) -> None:
    """Amounts are written with the standard's decimals, and read as they are written."""
    written = language_of(language)
    for currency in EVERY:
        expected = figure(currency, language)
        for text in (written.money(AMOUNT, currency), written.money_with_symbol(AMOUNT, currency)):
            assert expected in " ".join(text.split()), currency
        assert written.parse_amount(expected, currency) == AMOUNT


class Shop(NamedTuple):
    """A world in which these currencies are enabled, with a paid invoice, its receipt and a link of donations in each."""

    sandbox: Sandbox
    invoices: dict[str, Any]
    receipts: dict[str, Any]
    emails: dict[str, list[Any]]


@pytest.fixture(scope="module")
def shop(server: RunningServer) -> Iterator[Shop]:
    with server.world("currencies") as sandbox:
        sandbox.settings(currencies=SHOWN)
        invoices = {currency: _paid(sandbox, currency) for currency in SHOWN}
        receipts = {each["currency"]: each for each in sandbox.api.pages("/receipts/", page_size=100)}
        emails: dict[str, list[Any]] = {currency: [] for currency in SHOWN}
        sandbox.settle()
        for email in sandbox.control.pages("/emails", page_size=100):
            emails[email["to"].partition("@")[0].upper()].append(email)
        yield Shop(sandbox, invoices, receipts, emails)


def _paid(sandbox: Sandbox, currency: str) -> Any:
    customer = sandbox.api.post("/customers/", {"email": f"{currency.lower()}@example.com", "name": "Awa Diop"})
    line = {"description": "Repair", "unit_amount": AMOUNT}
    body = {"customer": customer["id"], "currency": currency, "line_items": [line]}
    invoice = sandbox.api.post("/invoices/", body)
    sandbox.api.post(f"/invoices/{invoice['id']}/finalize/", {"auto_send": True})
    sandbox.buy(invoice, CARD)
    return sandbox.api.get(f"/invoices/{invoice['id']}/")


def page(shop: Shop, path: str, language: str = "en") -> str:
    with Buyer(shop.sandbox.url, path, **{"Accept-Language": language}) as awa:
        return awa.open().text


def pdf(shop: Shop, currency: str) -> str:
    return pdfs.text(shop.sandbox.api.request("GET", f"/invoices/{shop.invoices[currency]['id']}/pdf/").content)


def email(shop: Shop, currency: str, kind: str) -> str:
    [found] = [each for each in shop.emails[currency] if each["kind"] == kind]
    text, html = (shop.sandbox.control.request("GET", f"/emails/{found['id']}/{form}").text for form in ("raw", "html"))
    plain = text.partition("Content-Type: text/html")[0]
    return html if figure(currency) in " ".join(plain.split()) else ""


@cache
def terminal(sandbox: Sandbox, *command: str) -> str:
    return "\n".join(run(*command, "--url", sandbox.url, "--key", sandbox.key).lines)


@cache
def listed(sandbox: Sandbox, language: str) -> str:
    """The console's pages of invoices."""
    with visiting(sandbox, **{"Accept-Language": language}) as visitor:
        pages = (visitor.open("objects", kind="invoice", page=number).text for number in range(1, 20))
        return " ".join(takewhile(lambda text: "INV-" in text, pages))


SURFACES: dict[str, tuple[str, Callable[[Shop, str], str]]] = {
    "invoice page": ("en", lambda shop, currency: page(shop, path_of(shop.invoices[currency]))),
    "invoice page in French": ("fr", lambda shop, currency: page(shop, path_of(shop.invoices[currency]), "fr")),
    "receipt page": ("en", lambda shop, currency: page(shop, path_of(shop.receipts[currency]))),
    "PDF": ("en", pdf),
    "invoice email": ("en", lambda shop, currency: email(shop, currency, "invoice")),
    "receipt email": ("en", lambda shop, currency: email(shop, currency, "receipt")),
    "explain": ("en", lambda shop, currency: terminal(shop.sandbox, "explain", shop.invoices[currency]["id"])),
    "console": ("en", lambda shop, currency: listed(shop.sandbox, "en")),
    "console in French": ("fr", lambda shop, currency: listed(shop.sandbox, "fr")),
    "ledger": ("en", lambda shop, currency: terminal(shop.sandbox, "ledger")),
}
"""Each surface with its language."""

OF_ALL = ("console", "console in French", "ledger")
"""Those that show the amounts of all currencies, each with its code."""


@pytest.mark.long
@pytest.mark.parametrize("surface", SURFACES)
def test_each_currency_on(shop: Shop, surface: str) -> None:
    language, shown = SURFACES[surface]
    texts = {currency: " ".join(shown(shop, currency).split()) for currency in SHOWN}
    for currency, text in texts.items():
        assert f"{figure(currency, language)}{f' {currency}' if surface in OF_ALL else ''}" in text, currency


@pytest.mark.long
@pytest.mark.parametrize("language", ["en", "fr"])
def test_each_currency_as_a_donor_types_it(shop: Shop, language: str) -> None:
    """The amount of the intent is the one that was typed, and the amount that the page suggests is the one stored."""
    wrong = []
    for currency in SHOWN:
        product = shop.sandbox.product(price_type="free", unit_amount=AMOUNT, currency=currency)
        made = shop.sandbox.link(payment_link_type="product", products=[product["id"]], currency=currency, amount=...)
        with Buyer(shop.sandbox.url, path_of(made), **{"Accept-Language": language}) as awa:
            form = awa.open().fields
            awa.send({**form, "do": "pay", **CARD_FORM, **WHO, "amount": figure(currency, language)})
        intent = shop.sandbox.api.get("/payment-intents/", page_size=1)["data"][0]
        suggested = Decimal(form["amount"]).scaleb(currencies()[currency])
        if (intent["currency"], intent["amount"], suggested) != (currency, AMOUNT, AMOUNT):
            wrong.append((currency, intent["amount"], form["amount"]))
    assert wrong == []
