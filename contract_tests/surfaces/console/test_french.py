"""The console in French is whole: no sentence of a page stays English, and neither do the errors of its forms."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

from contract_tests.support.html import VOID
from contract_tests.support.sandbox import Sandbox
from contract_tests.surfaces.console.test_pages import fill
from contract_tests.surfaces.console.visitor import visiting
from emulator.core.errors import ERRORS
from emulator.presentation.languages.language import language_of
from emulator.ui.console import labels
from emulator.ui.console.views import PAGES
from emulator.web.url_formats import PROBLEMS
from emulator.web.validation import EXPLAINED, EXPLAINED_PATTERNS

DATA = ("code", "pre", "script", "style", "textarea")
"""Elements that show what was sent or is to be sent: data, and code."""

ATTRIBUTES = ("title", "aria-label", "aria-description", "alt")

SENTENCE = re.compile(r"\b[a-z]+ [a-z]+ [a-z]+\b")
"""Three words in a row: a sentence of the page; a name or a number of an object has fewer."""


class Sentences(HTMLParser):
    """The sentences of a page that are in its language: those in an element marked ``lang="en"`` are not meant."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: set[str] = set()
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
        self.found |= {" ".join(text.split()) for text in texts if SENTENCE.search(text)}


def world(sandbox: Sandbox) -> list[str]:
    """Return the paths of the pages of a world in which much went wrong."""
    ids = fill(sandbox)
    sandbox.advance("40d")
    sandbox.act(sandbox.subscribe(trial_period_days=7), "cancel")
    transaction = sandbox.api.get("/transactions/")["data"][0]
    ids["refund"] = sandbox.api.post("/refunds/", {"transaction": transaction["id"], "amount": 100})["id"]
    failed, *_ = sandbox.deliveries({"id": ids["endpoint"]}, status="failed")
    objects = [*ids.values(), transaction["id"], failed["id"], sandbox.invoices("id")[0]]
    requests = [each["id"] for each in sandbox.control.get("/requests")["data"][:8]]
    return [
        *(path for path in PAGES if "{" not in path),
        *(f"objects/{id}" for id in [*objects, *(each["id"] for each in sandbox.events()[:4])]),
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
            english, french = (Sentences(visitor.open(path, lang=code).html).found for code in ("en", "fr"))
            assert english, f"{path} has no sentence: nothing was compared"
            left[path] = sorted(english & french)
    assert {path: sentences for path, sentences in left.items() if sentences} == {}


def test_the_errors_of_forms_are_french_too(sandbox: Sandbox) -> None:
    with visiting(sandbox, **{"Accept-Language": "fr"}) as visitor:
        wrong = {
            "settings.main_currency": visitor.do("settings", "settings", **{"settings.main_currency": "ZZZ"}),
            "settings.tax_rate": visitor.do("settings", "settings", **{"settings.tax_rate:number": "101"}),
            "match.path": visitor.do("fault", "failures", **{"then.status:number": "503", "match.path": "/nowhere/"}),
        }
        assert wrong["settings.main_currency"].said("notice").endswith("doit être un code ISO 4217 en majuscules")
        assert wrong["settings.tax_rate"].said("notice").endswith("doit être d’au plus 100")
        assert wrong["match.path"].said("notice").endswith("le service n’a pas de path /nowhere/")
        assert {field: page.elements["notice"]["data-fields"] for field, page in wrong.items()} == {
            field: field for field in wrong
        }
        assert "n’existe pas" in visitor.open("objects/cust_nowhere").text
        assert "doit" in visitor.do("advance", by="never").said("notice")


PACKAGES = ("control", "core", "engine", "resources", "web")
"""The packages whose errors a form of the console can meet."""


def written_messages() -> Iterator[str]:
    """Yield each message that stands in a call which makes an error, with ``x`` for what varies."""
    for package in PACKAGES:
        for file in Path(labels.__file__).parents[2].joinpath(package).rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text("utf-8"))):
                if isinstance(node, ast.Call):
                    yield from filter(None, map(_written, _message_of(node)))


def _message_of(call: ast.Call) -> list[ast.expr]:
    name = getattr(call.func, "id", "")
    if name in ("invalid_field", "missing_field"):
        return call.args[1:2]
    return [each.value for each in call.keywords if name == "ApiError" and each.arg == "message"]


def _written(message: ast.expr) -> str | None:
    """Return the text of a literal; None for a variable, and for a text of which only placeholders are written."""
    parts = message.values if isinstance(message, ast.JoinedStr) else [message]
    if isinstance(message, ast.JoinedStr | ast.Constant):
        texts = [part.value if isinstance(part, ast.Constant) else "x" for part in parts]
        return "".join(map(str, texts)) if any(" " in text.strip(" x:") for text in map(str, texts)) else None
    return None


def test_every_error_that_a_form_can_meet_has_a_french_text() -> None:
    french = language_of("fr")
    table = [re.sub(r"\{\w+\}", "x", row.message) for row in ERRORS.values()]
    written = [*written_messages()]
    assert len(written) > 80
    texts = [*table, *written, *PROBLEMS.values(), *EXPLAINED.values(), *EXPLAINED_PATTERNS.values()]
    assert [text for text in texts if labels.translated(french, text) == text] == []
