"""Code, messages and pages use the terms of the glossary and plain English, not the words that earlier versions had."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import yaml

import emulator

ROOT = Path(emulator.__path__[0])
GLOSSARY = ROOT.parent / "docs/contributing/glossary.md"
GUIDE = sorted([*(ROOT.parent / "docs").rglob("*.md"), *ROOT.parent.glob("*.md")])
FIXTURES = sorted((ROOT.parent / "fixtures").glob("*.yaml"))
TEMPLATES = sorted(ROOT.rglob("templates/*"))
MODULES = sorted([*ROOT.rglob("*.py"), *(ROOT.parent / "contract_tests").rglob("*.py")])

RETIRED = {
    r"\bturns?\b": "unit of work",
    r"\bwish\w*": "effect, enqueue",
    r"\b(told|tells?|telling)\b": "says, emitted, sent, reported",
    r"(?<!Connection )\brefus\w+": "reject, API error",
    r"\b(anew|meanwhile|of late|whoever|nobody\w*|afresh)\b": "again, since then, recently, anyone, no one",
    r"\b(reckon\w*|br(ing|ings|inging|ought) about|by hand)\b": "computed, cause or trigger, manually",
    r"\b(deeds?|mishaps?|mend\w*|pupils?|examiners?)\b": "action, fault, fix, server under test, test oracle",
    r"\b(news|graver?|what is none|belongs? into|has not the form|parted by)\b": "message, severe, plain English",
}

ANY = re.compile("|".join(RETIRED), re.IGNORECASE)


def prose(source: str) -> Iterator[str]:
    """Yield every docstring and comment; quoted names, such as ``by_hand``, are left out."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield re.sub(r"``.*?``", "", node.value.value)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.string


def messages(source: str) -> Iterator[str]:
    """Yield every sentence that the code has as a string."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield re.sub(r"``.*?``", "", node.value)


def page(text: str) -> Iterator[str]:
    """What a page says in words: no code, no generated table, no attribute; of the changelog what is not released."""
    released = re.search(r"^## \[\d", text, re.MULTILINE)
    text = text[: released.start()] if released else text
    code = r"<!-- begin: .*?<!-- end: |^ *```.*?^ *```|`[^`]*`|=\"[^\"]*\""
    yield re.sub(code, "", text, flags=re.DOTALL | re.MULTILINE)


def sentences(node: Any) -> Iterator[str]:
    """Yield every string of more than one word in a fixture file."""
    if isinstance(node, str):
        yield from (node,) * (" " in node)
    elif isinstance(node, dict):
        yield from chain.from_iterable(map(sentences, node.values()))
    elif isinstance(node, list):
        yield from chain.from_iterable(map(sentences, node))


def retired(text: str) -> list[str]:
    """Return the retired words in a text, each with what to say instead."""
    found = (
        (match, instead) for pattern, instead in RETIRED.items() for match in re.finditer(pattern, text, re.IGNORECASE)
    )
    return [f"{text[max(0, match.start() - 40) : match.end() + 40]!r}: say {instead}" for match, instead in found]


def everywhere(files: Iterable[Path], texts: Callable[[str], Iterator[str]]) -> Iterator[str]:
    """Yield every retired word in the files, of which only those are parsed that have one anywhere."""
    for file in files:
        source = file.read_text("utf-8")
        if ANY.search(source):
            name = file.relative_to(ROOT.parent)
            yield from (f"{name}: {found}" for text in texts(source) for found in retired(text))


def test_no_retired_word_is_in_a_docstring_or_comment() -> None:
    assert [*everywhere(MODULES, prose)] == []


def test_no_retired_word_is_in_a_message() -> None:
    assert [*everywhere(sorted(ROOT.rglob("*.py")), messages)] == []


def test_no_retired_word_is_on_a_page() -> None:
    assert [*everywhere([*GUIDE, *TEMPLATES], page)] == []


def test_no_retired_word_is_in_a_fixture() -> None:
    assert [*everywhere(FIXTURES, lambda source: sentences(yaml.load(source, yaml.CSafeLoader)))] == []


def test_no_test_is_named_by_a_retired_word() -> None:
    names = [name for module in MODULES for name in re.findall(r"def (test_\w+)", module.read_text("utf-8"))]
    assert [name for name in names if retired(name.replace("_", " "))] == []


def test_the_glossary_is_short_and_in_order() -> None:
    terms = re.findall(r"^\| ([^|]+?) \| [^|]+ \|$", GLOSSARY.read_text("utf-8"), re.MULTILINE)[1:]
    assert 20 <= len(terms) <= 25
    assert terms == sorted(terms, key=str.casefold)


def test_a_retired_word_is_found() -> None:
    found = [*prose('"""Told."""\nX = 1  # a turn\n"""Not ``told``."""\n')]
    assert found == ["Told.", "Not .", "# a turn"]
    assert [*messages('X = "It was refused."\nY = "refused"\n')] == ["It was refused."]
    assert [*page("A deed.\n```sh\ntold\n```\n`mend` it.\n## [0.1.0]\nA wish.")] == ["A deed.\n\n it.\n"]
    assert [*sentences({"told": ["a turn", "turn"]})] == ["a turn"]
    assert retired("a deed") == ["'a deed': say action, fault, fix, server under test, test oracle"]
