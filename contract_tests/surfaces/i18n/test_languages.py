"""Languages: choice and writing, whole catalogs, a whole console, and a third one in one file."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from decimal import Decimal
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from babel.messages.catalog import Catalog
from babel.messages.extract import DEFAULT_KEYWORDS
from babel.messages.pofile import read_po, write_po

from contract_tests import ROOT
from contract_tests.quality.sources import parsed
from contract_tests.support.html import VOID
from contract_tests.support.sandbox import Sandbox
from contract_tests.surfaces.console.test_pages import fill
from contract_tests.surfaces.console.visitor import visiting
from contract_tests.surfaces.pages.buyer import buyer, link
from emulator.core.errors import ERRORS
from emulator.document.iso_codes import currencies
from emulator.document.paths import fixture
from emulator.engine.reference_data import ReferenceData
from emulator.insight.state.next_steps import STEPS
from emulator.presentation.languages import catalogs
from emulator.presentation.languages.language import Language, language_of, plain_money, preferred
from emulator.ui.console import labels
from emulator.ui.console.views import PAGES
from emulator.web.formats import EXPLAINED, EXPLAINED_PATTERNS
from emulator.web.url_formats import PROBLEMS

ENGLISH, FRENCH = language_of("en"), language_of("fr")


@pytest.mark.parametrize(
    ("asked", "accepted", "code"),
    [
        *(("fr", "en", "fr"), ("../fr", None, "en"), ("", "", "en"), ("de", "fr", "fr")),
        *(
            (None, accepted, "fr")
            for accepted in ("de, fr;q=0.5", "fr-CA", "FR", "de, fr;q=0.8, en;q=0.7")
        ),
        *(
            (None, accepted, "en")
            for accepted in ("de, fr;q=0.8, en;q=0.9", "fr;q=0", "fr;q=nonsense, en;q=0.1")
        ),
    ],
)
def test_the_language_asked_for_wins(asked: str | None, accepted: str | None, code: str) -> None:
    assert preferred(asked, accepted).code == code


def test_each_language_has_its_own_plural_rule() -> None:
    for count, english, french in ((0, "0 events", "0 évènement"), (2, "2 events", "2 évènements")):
        message = ("{count} event", "{count} events", count)
        assert (ENGLISH.ngettext(*message), FRENCH.ngettext(*message)) == (english, french)


def test_a_context_distinguishes_equal_messages() -> None:
    assert (FRENCH.gettext("Open"), FRENCH.pgettext("action", "Open")) == ("À payer", "Ouvrir")


def test_a_value_is_no_pattern_of_a_message() -> None:
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
def test_amounts(
    amount: int, currency: str, english: str, french: str, for_buyers: tuple[str, str]
) -> None:
    for language, text, for_buyer in (
        (ENGLISH, english, for_buyers[0]),
        (FRENCH, french, for_buyers[1]),
    ):
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
    assert (ENGLISH.parse_amount(text, currency), FRENCH.parse_amount(text, currency)) == (
        english,
        french,
    )


def test_periods() -> None:
    assert [ENGLISH.every("month", 1), FRENCH.every("year", 2)] == ["every month", "tous les 2 ans"]
    assert [ENGLISH.period("month", 1), FRENCH.period("month", 3)] == ["month", "3\xa0mois"]


def test_dates() -> None:
    assert FRENCH.day("2026-02-01T00:00:00.000Z") == "1er février 2026"
    assert FRENCH.instant("2026-02-01T08:09:10.000Z") == "1er février 2026, 08:09 UTC"
    assert ENGLISH.time("2026-02-01T08:09:10.000Z") == "08:09:10 UTC"
    assert FRENCH.distance("2026-02-01T00:00:00Z", "2026-01-01T00:00:00Z") == "dans 1 mois"
    assert ENGLISH.distance("2026-02-01T00:00:00Z", "2026-02-01T00:00:00Z") == "now"


def test_names_of_countries() -> None:
    assert (FRENCH.country("GA"), FRENCH.country("ZZZ")) == ("Gabon", "ZZZ")


def test_a_language_has_its_own_name() -> None:
    assert (ENGLISH.name, FRENCH.name) == ("English", "Français")


# -- every currency of ISO 4217 has the decimals of the standard (B-24)

AMOUNT = 1_234_567

NOT_TWO = {
    0: "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF",
    3: "BHD IQD JOD KWD LYD OMR TND",
    4: "CLF UYW",
}
"""Currencies with another standard number of decimals than two; ``NO_UNIT`` have no minor unit."""

NO_UNIT = "XAG XAU XBA XBB XBC XBD XDR XPD XPT XSU XTS XUA XXX"


def test_the_table_is_the_standards() -> None:
    expected = dict.fromkeys(currencies(), 2) | dict.fromkeys(NO_UNIT.split(), 0)
    for places, codes in NOT_TWO.items():
        expected |= dict.fromkeys(codes.split(), places)
    assert currencies() == expected


@pytest.mark.parametrize("language", [ENGLISH, FRENCH], ids=lambda language: language.code)
def test_each_currency_in_words(language: Language) -> None:
    """Amounts are written with the standard's decimals, and read as they are written."""
    for currency, places in currencies().items():
        figure = f"{Decimal(AMOUNT).scaleb(-places):,.{places}f}"
        if language is FRENCH:
            figure = figure.translate({ord(","): " ", ord("."): ","})
        for text in (
            language.money(AMOUNT, currency),
            language.money_with_symbol(AMOUNT, currency),
        ):
            assert figure in " ".join(text.split()), currency
        assert language.parse_amount(figure, currency) == AMOUNT


# -- the catalogs: each translates exactly the messages of the code, with the same placeholders


LOCALES = ROOT / "emulator/presentation/languages/locales"
TRANSLATED = [code for code in catalogs.languages() if code != catalogs.SOURCE]


def pybabel(*arguments: str) -> None:
    """Run ``pybabel``, by its module: its script may not be on the path."""
    subprocess.run(
        [sys.executable, "-m", "babel.messages.frontend", "-q", *arguments], cwd=ROOT, check=True
    )


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("i18n") / "messages.pot"
    pybabel(
        "extract",
        "-F",
        "emulator/presentation/languages/babel.toml",
        "--add-location=file",
        "-o",
        str(file),
        ".",
    )
    return file


def placeholders(text: str) -> set[str]:
    return {part.partition("}")[0] for part in text.split("{")[1:]}


def test_no_message_stands_inside_an_f_string() -> None:
    """``pybabel`` does not find it there before Python 3.12."""
    sources = {file: file.read_text("utf-8") for file in (ROOT / "emulator").rglob("*.py")}
    inside = [
        f"{file.relative_to(ROOT)}:{call.lineno}"
        for file, source in sorted(sources.items())
        if re.search(rf"\b({'|'.join(DEFAULT_KEYWORDS)})\(", source)
        for text in ast.walk(parsed(file))
        if isinstance(text, ast.JoinedStr)
        for call in ast.walk(text)
        if isinstance(call, ast.Call)
        and getattr(call.func, "attr", getattr(call.func, "id", "")) in DEFAULT_KEYWORDS
        if call.args and isinstance(call.args[0], ast.Constant)
    ]
    assert inside == []


@pytest.mark.parametrize("code", TRANSLATED)
def test_every_message_is_translated_and_nothing_else(code: str, template: Path) -> None:
    """In every plural form, with the placeholders of the message."""
    messages, catalog = read(template), read(LOCALES / code / "LC_MESSAGES/messages.po")
    wanted, translated = (
        {(message.context, message.id): message for message in source if message.id}
        for source in (messages, catalog)
    )
    assert translated.keys() - wanted.keys() == set(), "translated, but not used"
    assert wanted.keys() - translated.keys() == set(), "used, but not translated"
    assert [key for key, message in translated.items() if message.fuzzy] == []
    assert catalog.obsolete == {}
    for message in translated.values():
        source, forms = (
            [text] if isinstance(text, str) else text for text in (message.id, message.string)
        )
        assert len(forms) == (catalog.num_plurals if message.pluralizable else 1), message.id
        for form in forms:
            assert form, message.id
            assert placeholders(form) - {"count"} == placeholders(source[-1]) - {"count"}, (
                message.id
            )


@pytest.mark.parametrize(
    ("name", "data"), [("wording", ("statuses", "money_fields")), ("buyer", ())]
)
def test_every_text_of_a_table_of_words_is_a_message(
    name: str, data: tuple[str, ...], template: Path
) -> None:
    """``babel.toml`` names the tables; a forgotten one would stay English inside of sentences."""
    known = {message.id for message in read(template)}
    tables = {table: texts for table, texts in fixture(name).items() if table not in data}
    assert [text for text in leaves(tables) if text not in known] == []


def leaves(node: Any) -> Iterator[str]:
    """Yield the texts in and below a table, without the names of its rows."""
    if isinstance(node, str):
        yield node
        return
    for part in node.values() if isinstance(node, dict) else node:
        yield from leaves(part)


INFINITIVE = re.compile(r"(Ne pas )?(le |la |l’)?\w+(er|ir|re)\b", re.IGNORECASE)


def test_each_step_is_an_infinitive_in_french() -> None:
    """English has one word for some states and actions (*void*), French never has."""
    assert [text for text, _ in steps_in_french() if not INFINITIVE.match(text)] == []


def test_no_step_has_the_verb_of_the_way_back_beside_it() -> None:
    """*Annuler* cancels an invoice, and it dismisses the question whether to do so."""
    verbs = [(text.split()[0], back.split()[0]) for text, back in steps_in_french()]
    assert [verb for verb, of_the_way_back in verbs if verb == of_the_way_back] == []


def steps_in_french() -> list[tuple[str, str]]:
    """Return the label of each step, and that of the button that dismisses it where it asks."""
    return [
        (FRENCH.gettext(step.label), FRENCH.gettext(step.refrain or "Cancel"))
        for steps in STEPS.values()
        for step in steps.values()
    ]


OTHER_WORDS = {
    "incorrect": "non valide, which forms say",
    "livraison": "envoi: webhooks are sent, goods are delivered",
    "rendu": "remboursé, as everywhere else",
    "unité mineure": "plus petite unité",
    "comme l’acheteur": "à la place de l’acheteur",
    "avant le {": "au plus tard le: on the day by which something is due, it is in time",
    "environnement de test": "monde",
}
"""French words that the catalog does not use, and the one word for the same thing."""


def test_french_has_one_word_for_one_thing() -> None:
    catalog = read(LOCALES / "fr" / "LC_MESSAGES/messages.po")
    texts = [
        text
        for message in catalog
        if message.id
        for text in ([message.string] if isinstance(message.string, str) else message.string)
    ]
    found = [(word, text) for word in OTHER_WORDS for text in texts if word in text.lower()]
    assert found == []


def read(file: Path) -> Catalog:
    with file.open("rb") as stream:
        return read_po(stream, locale=None if file.suffix == ".pot" else file.parent.parent.name)


# -- a third language is offered and used on pages, in emails and PDFs; what it lacks is English


SWAHILI = {
    "Pay {merchant}": "Lipa {merchant}",
    "Here is your invoice {number}. It is attached as a PDF.": (
        "Hii ni ankara yako {number}. Imeambatishwa kama PDF."
    ),
}


@pytest.fixture
def swahili(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The catalogs of the emulator and a small one in Swahili."""
    locales = tmp_path / "locales"
    shutil.copytree(catalogs.LOCALES, locales)
    catalog = Catalog(locale="sw")
    for message, translation in SWAHILI.items():
        catalog.add(message, translation)
    folder = locales / "sw" / "LC_MESSAGES"
    folder.mkdir(parents=True)
    with (folder / "messages.po").open("wb") as file:
        write_po(file, catalog)
    with monkeypatch.context() as patched:
        patched.setattr(catalogs, "LOCALES", locales)
        # The server of other tests has read its languages already.
        patched.setattr(ReferenceData, "languages", property(lambda _: ("en", "fr", "sw")))
        forget()
        yield
    forget()


def forget() -> None:
    for cached in (catalogs.languages, catalogs.translations, language_of):
        cached.cache_clear()


@pytest.mark.usefixtures("swahili")
def test_pages_offer_it_and_who_reads_it_is_written_to_in_it(sandbox: Sandbox) -> None:
    """What it lacks is English."""
    with buyer(sandbox, link(sandbox), **{"Accept-Language": "sw-KE,fr;q=0.5"}) as awa:
        page = awa.open()
    assert [name for name in page.elements if name.startswith("lang-")] == [
        "lang-en",
        "lang-fr",
        "lang-sw",
    ]
    assert (page.language, page.text_of("lang-sw")) == ("sw", "Kiswahili")
    assert page.text_of("heading").startswith("Lipa ")
    assert page.text_of("pay").startswith("Pay ")
    customer = sandbox.customer(metadata={"language": "sw"})
    sandbox.api.post(f"/invoices/{sandbox.invoice(customer)['id']}/send/")
    email = sandbox.control.get("/emails")["data"][0]
    assert email["language"] == "sw"
    assert (
        "Hii ni ankara yako" in sandbox.control.request("GET", f"/emails/{email['id']}/html").text
    )


# -- the console in French: no sentence of a page or error of a form stays English


DATA = ("code", "pre", "script", "style", "textarea")
"""Elements that show what was sent or is to be sent: data, and code."""

ATTRIBUTES = ("title", "aria-label", "aria-description", "alt")

SENTENCE = re.compile(r"\b[a-z]+ [a-z]+ [a-z]+\b")
"""Three words in a row: a sentence of the page; a name or a number of an object has fewer."""


class Sentences(HTMLParser):
    """A page's sentences in its language: elements marked ``lang="en"`` are not meant."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.sentences: set[str] = set()
        self._open: list[tuple[str, bool]] = [("", False)]
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        is_left = self._open[-1][1] or tag in DATA or (tag != "html" and known.get("lang") == "en")
        if tag not in VOID:
            self._open.append((tag, is_left))
        if not is_left:
            self._note(*(known.get(name) or "" for name in ATTRIBUTES))

    def handle_endtag(self, tag: str) -> None:
        while tag not in VOID and len(self._open) > 1 and self._open.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        if not self._open[-1][1]:
            self._note(data)

    def _note(self, *texts: str) -> None:
        self.sentences |= {" ".join(text.split()) for text in texts if SENTENCE.search(text)}


def world(sandbox: Sandbox) -> list[str]:
    """Return the paths of the pages of a world in which much went wrong."""
    ids = fill(sandbox)
    sandbox.advance("40d")
    sandbox.act(sandbox.subscribe(trial_period_days=7), "cancel")
    transaction = sandbox.api.get("/transactions/")["data"][0]
    ids["refund"] = sandbox.api.post(
        "/refunds/", {"transaction": transaction["id"], "amount": 100}
    )["id"]
    failed, *_ = sandbox.deliveries({"id": ids["endpoint"]}, status="failed")
    objects = [*ids.values(), transaction["id"], failed["id"], sandbox.invoices("id")[0]]
    requests = [request["id"] for request in sandbox.control.get("/requests")["data"][:8]]
    return [
        *(path for path in PAGES if "{" not in path),
        *(f"objects/{id}" for id in [*objects, *(event["id"] for event in sandbox.events()[:4])]),
        *(f"requests/{id}" for id in requests),
        f"emails/{sandbox.control.get('/emails')['data'][0]['id']}",
        "nowhere",
    ]


@pytest.mark.long
def test_no_sentence_of_a_page_stays_english(sandbox: Sandbox) -> None:
    paths = world(sandbox)
    left = {}
    with visiting(sandbox) as visitor:
        for path in ["", *paths]:
            english, french = (
                Sentences(visitor.open(path, lang=code).html).sentences for code in ("en", "fr")
            )
            assert english, f"{path} has no sentence: nothing was compared"
            left[path] = sorted(english & french)
    assert {path: sentences for path, sentences in left.items() if sentences} == {}


def test_the_errors_of_forms_are_french_too(sandbox: Sandbox) -> None:
    with visiting(sandbox, **{"Accept-Language": "fr"}) as visitor:
        wrong = {
            "settings.main_currency": visitor.do(
                "settings", "settings", **{"settings.main_currency": "ZZZ"}
            ),
            "settings.tax_rate": visitor.do(
                "settings", "settings", **{"settings.tax_rate:number": "101"}
            ),
            "match.path": visitor.do(
                "fault", "failures", **{"then.status:number": "503", "match.path": "/nowhere/"}
            ),
        }
        assert (
            wrong["settings.main_currency"]
            .text_of("notice")
            .endswith("doit être un code ISO 4217 en majuscules")
        )
        assert wrong["settings.tax_rate"].text_of("notice").endswith("doit être d’au plus 100")
        assert (
            wrong["match.path"].text_of("notice").endswith("le service n’a pas de path /nowhere/")
        )
        assert {field: page.elements["notice"]["data-fields"] for field, page in wrong.items()} == {
            field: field for field in wrong
        }
        assert "n’existe pas" in visitor.open("objects/cust_nowhere").text
        assert "doit" in visitor.do("advance", by="never").text_of("notice")


PACKAGES = ("control", "core", "engine", "resources", "web")
"""The packages whose errors a form of the console can meet."""


def written_messages() -> Iterator[str]:
    """Yield each message that stands in a call which makes an error, with ``x`` for what varies."""
    for package in PACKAGES:
        for file in Path(labels.__file__).parents[2].joinpath(package).rglob("*.py"):
            for node in ast.walk(parsed(file)):
                if isinstance(node, ast.Call):
                    yield from filter(None, map(_written, _message_of(node)))


def _message_of(call: ast.Call) -> list[ast.expr]:
    name = getattr(call.func, "id", "")
    if name in ("invalid_field", "missing_field"):
        return call.args[1:2]
    return [
        keyword.value
        for keyword in call.keywords
        if name == "ApiError" and keyword.arg == "message"
    ]


def _written(message: ast.expr) -> str | None:
    """Return a literal's text; None for a variable, and for placeholders alone."""
    parts = message.values if isinstance(message, ast.JoinedStr) else [message]
    if isinstance(message, ast.JoinedStr | ast.Constant):
        texts = [part.value if isinstance(part, ast.Constant) else "x" for part in parts]
        return (
            "".join(map(str, texts))
            if any(" " in text.strip(" x:") for text in map(str, texts))
            else None
        )
    return None


def test_every_error_that_a_form_can_meet_has_a_french_text() -> None:
    french = language_of("fr")
    table = [re.sub(r"\{\w+\}", "x", row.message) for row in ERRORS.values()]
    table += [row.plain for row in ERRORS.values() if row.plain]
    written = [*written_messages()]
    assert len(written) > 80
    texts = [
        *table,
        *written,
        *PROBLEMS.values(),
        *EXPLAINED.values(),
        *EXPLAINED_PATTERNS.values(),
    ]
    assert [text for text in texts if labels.translated(french, text) == text] == []
