"""The names of the code, by the table of the glossary that says what to write instead."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from contract_tests import ROOT
from contract_tests.quality.sources import parsed

GLOSSARY = ROOT / "docs" / "contributing" / "glossary.md"
HOUSE = ROOT / "emulator"
FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef
PART, WHOLE = "part of a public name", "whole name"


class Rule(NamedTuple):
    words: frozenset[str]
    counts_as: str
    exceptions: tuple[str, ...]


class NamedPlace(NamedTuple):
    module: str
    line: int
    name: str
    is_public: bool

    def breaks(self, rule: Rule) -> bool:
        if any(f"{self.module}/".startswith((f"{room}/", f"{room}.")) for room in rule.exceptions):
            return False
        if rule.counts_as == WHOLE:
            return self.name in rule.words
        return self.is_public and not rule.words.isdisjoint(words(self.name))


def words(name: str) -> list[str]:
    """Return the words of a name: ``lostResponse``, ``LostResponse`` and ``lost_response``."""
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)]


def rules(page: str) -> list[Rule]:
    table = page.partition("| instead of |")[2].partition("\n\n")[0].splitlines()[2:]
    columns = [[cell.strip() for cell in row.strip("|").split("|")] for row in table]
    return [
        Rule(
            frozenset(re.findall(r"`(\w+)`", instead_of)),
            counts_as,
            tuple(re.findall(r"`([\w/]+)`", exceptions)),
        )
        for instead_of, _, counts_as, exceptions in columns
    ]


RULES = rules(GLOSSARY.read_text("utf-8"))


def names(module: str, tree: ast.Module) -> Iterator[NamedPlace]:
    """Yield every name that a module defines; those of private things are not public."""
    yield NamedPlace(module, 1, Path(module).stem, is_public=True)
    yield from _names(module, tree, is_public=True, is_inside_function=False)


def _names(
    module: str, parent: ast.AST, is_public: bool, is_inside_function: bool
) -> Iterator[NamedPlace]:
    for node in ast.iter_child_nodes(parent):
        is_open, is_inside = is_public, is_inside_function
        for name in _defined(node):
            is_open = is_public and not is_inside_function and not name.startswith("_")
            yield NamedPlace(module, getattr(node, "lineno", 1), name, is_open)
        if isinstance(node, FUNCTIONS):
            for argument in ast.walk(node.args):
                if isinstance(argument, ast.arg):
                    yield NamedPlace(module, argument.lineno, argument.arg, is_open)
            is_inside = True
        elif isinstance(node, ast.Lambda):
            for argument in node.args.args:
                yield NamedPlace(module, argument.lineno, argument.arg, is_public=False)
        yield from _names(module, node, is_open, is_inside)


def _defined(node: ast.AST) -> list[str]:
    """Return what a statement or a target defines, without the parameters of a function."""
    if isinstance(node, FUNCTIONS | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        return [node.id]
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
        return [node.attr]
    if isinstance(node, ast.ExceptHandler) and node.name:
        return [node.name]
    return []


@cache
def places() -> list[NamedPlace]:
    return [
        place
        for file in sorted(HOUSE.rglob("*.py"))
        for place in names(str(file.relative_to(HOUSE)), parsed(file))
    ]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: min(rule.words))
def test_no_name_uses_a_word_that_the_glossary_replaces(rule: Rule) -> None:
    assert [
        f"{place.module}:{place.line}: {place.name}" for place in places() if place.breaks(rule)
    ] == []


def test_the_table_of_the_glossary_is_read() -> None:
    assert {rule.counts_as for rule in RULES} == {PART, WHOLE}
    assert all(rule.words for rule in RULES)


def test_an_exception_of_the_glossary_is_a_part_of_the_code() -> None:
    rooms = [room for rule in RULES for room in rule.exceptions]
    assert [
        room
        for room in rooms
        if not (HOUSE / room).is_dir() and not (HOUSE / f"{room}.py").is_file()
    ] == []


@pytest.mark.parametrize(
    ("source", "broken"),
    [
        ("def lost_answers(): ...", ["lost_answers"]),
        ("class LateAnswer: ...", ["LateAnswer"]),
        ("class Reply:\n    answer_text: str", ["answer_text"]),
        ("def reply(answer): ...", ["answer"]),
        ("def _reply(answer): ...", []),
        ("def reply():\n    answer = 1", []),
        ("for each in (): ...", ["each"]),
        ("rows = [found for found in ()]", ["found"]),
        ("key = lambda it: it", ["it"]),
        ("it_is = foundation = 1", []),
    ],
)
def test_a_replaced_word_in_a_name_is_noticed(source: str, broken: list[str]) -> None:
    places = [place for place in names("core/example.py", ast.parse(source)) if place.module]
    assert [place.name for place in places if any(place.breaks(rule) for rule in RULES)] == broken
