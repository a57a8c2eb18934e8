"""The message catalogs: each translates exactly the messages of the code, whole and with the same placeholders."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from babel.messages.catalog import Catalog, Message
from babel.messages.extract import DEFAULT_KEYWORDS
from babel.messages.pofile import read_po

from contract_tests import ROOT
from emulator.presentation.languages import catalogs

LOCALES = ROOT / "emulator/presentation/languages/locales"
TRANSLATED = [code for code in catalogs.languages() if code != catalogs.SOURCE]

Key = tuple[str | None, Any]


UPDATE_OPTIONS = ("--ignore-obsolete", "--ignore-pot-creation-date", "--width=120")


def pybabel(*arguments: str) -> None:
    """Run ``pybabel``, by its module: its script may not be on the path."""
    subprocess.run([sys.executable, "-m", "babel.messages.frontend", "-q", *arguments], cwd=ROOT, check=True)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The messages of the code, as ``pybabel extract`` finds them."""
    file = tmp_path_factory.mktemp("i18n") / "messages.pot"
    pybabel("extract", "-F", "emulator/presentation/languages/babel.toml", "--add-location=file", "-o", str(file), ".")
    return file


@pytest.fixture(scope="module")
def messages(template: Path) -> dict[Key, Message]:
    """By context and message."""
    return by_key(read(template))


def read(file: Path) -> Catalog:
    with file.open("rb") as stream:
        return read_po(stream, locale=None if file.suffix == ".pot" else file.parent.parent.name)


def by_key(catalog: Catalog) -> dict[Key, Message]:
    return {(message.context, message.id): message for message in catalog if message.id}


def catalog(code: str) -> Catalog:
    return read(LOCALES / code / "LC_MESSAGES/messages.po")


def forms(text: str | Iterable[str]) -> list[str]:
    return [text] if isinstance(text, str) else list(text)


def placeholders(text: str) -> set[str]:
    return {part.partition("}")[0] for part in text.split("{")[1:]}


def test_messages_are_found_everywhere(messages: dict[Key, Message]) -> None:
    places = {Path(file).parts[:2] for message in messages.values() for file, _ in message.locations}
    assert places == {
        ("emulator", "insight"),
        ("emulator", "core"),
        ("emulator", "presentation"),
        ("emulator", "resources"),
        ("emulator", "ui"),
        ("fixtures", "audit-rules.yaml"),
        ("fixtures", "buyer.yaml"),
        ("fixtures", "console.yaml"),
        ("fixtures", "jobs.yaml"),
        ("fixtures", "keys.yaml"),
        ("fixtures", "magic.yaml"),
        ("fixtures", "named-assumptions.yaml"),
        ("fixtures", "next-steps.yaml"),
        ("fixtures", "wording.yaml"),
        ("openapi", "schemas"),
    }
    assert (None, "PayPal rejects the payment.") in messages, "of a fixture"
    assert (None, "Overview") in messages, "of a table"
    assert (None, "There is no customer {id}.") in messages, "of the table of errors"
    assert (None, "Download the invoice as PDF") in messages, "of a template"
    assert ("action", "Open") in messages
    assert (None, ("every month", "every {count} months")) in messages


def test_no_message_stands_inside_an_f_string() -> None:
    """``pybabel`` does not find it there before Python 3.12."""
    inside = [
        f"{file.relative_to(ROOT)}:{call.lineno}"
        for file in sorted((ROOT / "emulator").rglob("*.py"))
        for text in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(text, ast.JoinedStr)
        for call in ast.walk(text)
        if isinstance(call, ast.Call) and getattr(call.func, "attr", getattr(call.func, "id", "")) in DEFAULT_KEYWORDS
        if call.args and isinstance(call.args[0], ast.Constant)
    ]
    assert inside == []


@pytest.mark.parametrize("code", TRANSLATED)
def test_every_message_is_translated_and_nothing_else(code: str, messages: dict[Key, Message]) -> None:
    translated = by_key(catalog(code))
    assert translated.keys() - messages.keys() == set(), "translated, but not used"
    assert messages.keys() - translated.keys() == set(), "used, but not translated"
    assert [key for key, message in translated.items() if message.fuzzy] == []
    assert catalog(code).obsolete == {}


@pytest.mark.parametrize("code", TRANSLATED)
def test_every_form_has_the_placeholders_of_its_message(code: str) -> None:
    wrong = [
        message.id
        for message in by_key(catalog(code)).values()
        for form in forms(message.string)
        if placeholders(form) - {"count"} != placeholders(forms(message.id)[-1]) - {"count"}
    ]
    assert wrong == []


@pytest.mark.parametrize("code", TRANSLATED)
def test_every_plural_form_is_there(code: str) -> None:
    translated = catalog(code)
    for message in by_key(translated).values():
        assert all(forms(message.string)), message.id
        assert len(forms(message.string)) == (translated.num_plurals if message.pluralizable else 1), message.id


@pytest.mark.parametrize("code", TRANSLATED)
def test_pybabel_update_changes_nothing(code: str, template: Path, tmp_path: Path) -> None:
    """So the diff of a catalog shows only what a change of the code did to it, whatever the release of Babel."""
    copy = shutil.copytree(LOCALES, tmp_path / "locales")
    pybabel("update", "-D", "messages", "-i", str(template), "-d", str(copy), *UPDATE_OPTIONS)
    before, after = (
        re.sub(r'"Generated-By: .*\n', "", (folder / code / "LC_MESSAGES/messages.po").read_text("utf-8"))
        for folder in (LOCALES, copy)
    )
    assert after == before
