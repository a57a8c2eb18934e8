"""The message catalogs: each translates exactly the messages of the code, whole and with the same placeholders."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog
from babel.messages.extract import DEFAULT_KEYWORDS
from babel.messages.pofile import read_po

from contract_tests import ROOT
from emulator.presentation.languages import catalogs

LOCALES = ROOT / "emulator/presentation/languages/locales"
TRANSLATED = [code for code in catalogs.languages() if code != catalogs.SOURCE]


def pybabel(*arguments: str) -> None:
    """Run ``pybabel``, by its module: its script may not be on the path."""
    subprocess.run([sys.executable, "-m", "babel.messages.frontend", "-q", *arguments], cwd=ROOT, check=True)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The messages of the code, as ``pybabel extract`` finds them."""
    file = tmp_path_factory.mktemp("i18n") / "messages.pot"
    pybabel("extract", "-F", "emulator/presentation/languages/babel.toml", "--add-location=file", "-o", str(file), ".")
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
        for text in ast.walk(ast.parse(source))
        if isinstance(text, ast.JoinedStr)
        for call in ast.walk(text)
        if isinstance(call, ast.Call) and getattr(call.func, "attr", getattr(call.func, "id", "")) in DEFAULT_KEYWORDS
        if call.args and isinstance(call.args[0], ast.Constant)
    ]
    assert inside == []


@pytest.mark.parametrize("code", TRANSLATED)
def test_every_message_is_translated_and_nothing_else(code: str, template: Path) -> None:
    """In every plural form, with the placeholders of the message."""
    messages, catalog = read(template), read(LOCALES / code / "LC_MESSAGES/messages.po")
    wanted, translated = ({(each.context, each.id): each for each in found if each.id} for found in (messages, catalog))
    assert translated.keys() - wanted.keys() == set(), "translated, but not used"
    assert wanted.keys() - translated.keys() == set(), "used, but not translated"
    assert [key for key, message in translated.items() if message.fuzzy] == []
    assert catalog.obsolete == {}
    for message in translated.values():
        source, forms = ([each] if isinstance(each, str) else each for each in (message.id, message.string))
        assert len(forms) == (catalog.num_plurals if message.pluralizable else 1), message.id
        for form in forms:
            assert form, message.id
            assert placeholders(form) - {"count"} == placeholders(source[-1]) - {"count"}, message.id


def read(file: Path) -> Catalog:
    with file.open("rb") as stream:
        return read_po(stream, locale=None if file.suffix == ".pot" else file.parent.parent.name)
