"""Docstrings and comments use the terms of the glossary, not the words that earlier versions had for them."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

import emulator

ROOT = Path(emulator.__path__[0])
GLOSSARY = ROOT.parent / "docs/guide/glossary.md"
MODULES = sorted([*ROOT.rglob("*.py"), *(ROOT.parent / "contract_tests").rglob("*.py")])

RETIRED = {
    r"\bturns?\b": "unit of work",
    r"\bwish\w*": "effect, enqueue",
    r"\b(told|tells?|telling)\b": "says, emitted, sent, reported",
    r"\brefus\w+": "reject, API error",
    r"\b(anew|meanwhile|of late|whoever|nobody\w*)\b": "again, since then, recently, anyone, no one",
    r"\b(reckon\w*|brought about|by hand)\b": "computed, caused, manually",
    r"\b(deeds?|mishaps?|mend\w*|pupils?)\b": "action, fault, fix, server under test",
}


def prose(source: str) -> Iterator[str]:
    """Every docstring and comment; quoted names, such as ``by_hand``, are left out."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield re.sub(r"``.*?``", "", node.value.value)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.string


@pytest.mark.parametrize("module", MODULES, ids=lambda module: str(module.relative_to(ROOT.parent)))
def test_no_retired_word_is_used(module: Path) -> None:
    for text in prose(module.read_text("utf-8")):
        for pattern, instead in RETIRED.items():
            assert not re.search(pattern, text, re.IGNORECASE), f"{text!r}: say {instead}"


def test_no_test_is_named_by_a_retired_word() -> None:
    names = [name for module in MODULES for name in re.findall(r"def (test_\w+)", module.read_text("utf-8"))]
    retired = re.compile("|".join(RETIRED), re.IGNORECASE)
    assert [name for name in names if retired.search(name.replace("_", " "))] == []


def test_the_glossary_is_short_and_in_order() -> None:
    terms = re.findall(r"^\| ([^|]+?) \| [^|]+ \|$", GLOSSARY.read_text("utf-8"), re.MULTILINE)[1:]
    assert 20 <= len(terms) <= 25
    assert terms == sorted(terms, key=str.casefold)


def test_a_retired_word_is_found() -> None:
    found = [*prose('"""Told."""\nX = 1  # a turn\n"""Not ``told``."""\n')]
    assert found == ["Told.", "Not .", "# a turn"]
