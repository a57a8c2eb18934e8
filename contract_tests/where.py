"""``python -m contract_tests.where NUMBER``: what an assumption decides, and every place where it
is kept.

The rule, the places of the OpenAPI documents that cite it, its code, its tests, its guards, its
question to a service and the recipe for its change: a line each, with file and line.
"""

from __future__ import annotations

import ast
import re
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from contract_tests import ROOT
from contract_tests.quality.sources import parsed
from emulator.engine.reference_data import numbered_assumptions

USAGE = "usage: python -m contract_tests.where NUMBER, as in B-01"
COLUMNS = 100

RULES = ROOT / "fixtures" / "assumptions.yaml"
GUARDS = ROOT / "contract_tests" / "guards.yaml"
RECIPES = ROOT / "docs" / "contributing" / "recipes.md"

NUMBERS = re.compile(r"\bB-(?P<first>\d+)(?: to B-(?P<last>\d+))?\b")
"""A number, or a run of them: ``B-43 to B-47`` cites the five."""


class Place(NamedTuple):
    """A line of a file, and the name of what stands there."""

    file: Path
    line: int
    name: str

    def __str__(self) -> str:
        shown = f"  {self.file.relative_to(ROOT).as_posix()}:{self.line}  {self.name}"
        return shown if len(shown) <= COLUMNS else f"{shown[: COLUMNS - 1]}…"


def cites(line: str, number: str) -> bool:
    return int(number.removeprefix("B-")) in _cited(line)


@cache
def _cited(line: str) -> set[int]:
    return {
        number
        for match in NUMBERS.finditer(line)
        for number in range(int(match["first"]), int(match["last"] or match["first"]) + 1)
    }


def lines_that_cite(file: Path, number: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file that cite a number, counted from 1."""
    return ((line, text) for line, text in _lines_that_cite_any(file) if cites(text, number))


@cache
def _lines_that_cite_any(file: Path) -> list[tuple[int, str]]:
    lines = enumerate(_lines(file), 1)
    return [(line, text.strip()) for line, text in lines if NUMBERS.search(text)]


@cache
def _lines(file: Path) -> list[str]:
    return file.read_text("utf-8").splitlines()


@cache
def _files(folder: Path, pattern: str) -> list[Path]:
    return sorted(folder.rglob(pattern))


def in_documents(number: str) -> Iterator[Place]:
    """Yield the parts of the documents that cite a number by ``x-assumption``, by the keys that
    lead there.
    """
    for file in _files(ROOT / "openapi", "*.yaml"):
        for line, text in lines_that_cite(file, number):
            if "x-assumption:" in text:
                yield Place(
                    file, line, " ".join(keys_above(_lines(file)[:line])) or "the whole file"
                )


def keys_above(lines: Sequence[str]) -> list[str]:
    """Return the keys of YAML that lead to the last line."""
    keys: list[str] = []
    indent = _indent(lines[-1])
    for line in reversed(lines):
        key = re.match(r" *(?:- )?([\w/{}.-]+|\"[^\"]+\"):(?: |$)", line)
        if key and _indent(line) < indent:
            keys.insert(0, key[1])
            indent = _indent(line)
    return keys


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def in_python(folder: Path, number: str) -> Iterator[Place]:
    """Yield the functions, classes and other lines of a folder's modules that cite a number, each
    once.
    """
    for file in _files(folder, "*.py"):
        cited = list(lines_that_cite(file, number))
        names = _names(file) if cited else []
        places = set[str]()
        for line, text in cited:
            inside = [(first, name) for first, last, name in names if first <= line <= last]
            first, name = max(inside, default=(line, text.strip("\"'# ")))
            if name not in places:
                places.add(name)
                yield Place(file, first, name)


@cache
def _names(file: Path) -> list[tuple[int, int, str]]:
    """Return first line, last line and name of each function and class."""
    return [
        (node.lineno, node.end_lineno or node.lineno, node.name)
        for node in ast.walk(parsed(file))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    ]


def in_probes(number: str) -> Iterator[Place]:
    """Yield the questions by which ``compare service`` asks a service for the assumption."""
    for file in _files(ROOT / "fixtures" / "probes", "*.yaml"):
        for line, text in lines_that_cite(file, number):
            yield Place(file, line, " ".join(keys_above(_lines(file)[:line])) or text)


def in_guards(number: str) -> Iterator[Place]:
    """Yield the slips in the product that a test guards the assumption against, by their files."""
    for line, cited in lines_that_cite(GUARDS, number):
        if not cited.startswith("- keeps:"):
            continue
        file, text = (row.partition(": ")[2] for row in _lines(GUARDS)[line : line + 2])
        yield Place(GUARDS, line, f"{Path(file).name}: {text}")


def in_recipes(number: str) -> Iterator[Place]:
    """Yield the recipes that cite a number, and that for a default where a setting has one; if none
    does, the page.
    """
    headings = {"Change a default"} if numbered_assumptions()[number].settings else set()
    lines = _lines(RECIPES)
    heading = (1, lines[0].removeprefix("# "))
    places = []
    for line, text in enumerate(lines, 1):
        if text.startswith("## "):
            heading = (line, text.removeprefix("## "))
        if heading[1] in headings or cites(text, number):
            places.append(heading)
    yield from (
        Place(RECIPES, *place)
        for place in dict.fromkeys(places or [(1, lines[0].removeprefix("# "))])
    )


def sections(number: str) -> Iterator[tuple[str, Iterable[Place]]]:
    """Yield the places of a number, by what they are."""
    line = _lines(RULES).index(f"{number}:") + 1
    yield "rule", [Place(RULES, line, numbered_assumptions()[number].title)]
    yield "documents", in_documents(number)
    yield "code", in_python(ROOT / "emulator", number)
    yield "tests", in_python(ROOT / "contract_tests", number)
    yield "guards", in_guards(number)
    yield "asked of a service", in_probes(number)
    yield "recipe", in_recipes(number)


def report(number: str) -> Iterator[str]:
    """Yield what the number decides and where it is kept, in lines of at most 100 columns."""
    rule = numbered_assumptions()[number]
    yield from textwrap.wrap(f"{number} {rule.title}. {' '.join(rule.decided.split())}", COLUMNS)
    for heading, places in sections(number):
        yield ""
        yield heading
        yield from [str(place) for place in places] or ["  none"]


def main(arguments: Sequence[str]) -> int:
    """Print the report of one number; 2 for wrong usage, which says the form, and for a number that
    is unknown.
    """
    if len(arguments) != 1 or not re.fullmatch(r"[Bb]-\d+", arguments[0]):
        sys.stderr.write(f"{USAGE}\n")
        return 2
    number = arguments[0].upper()
    if number not in numbered_assumptions():
        known = textwrap.fill(
            f"{number} is unknown; known are {', '.join(numbered_assumptions())}.", COLUMNS
        )
        sys.stderr.write(f"{known}\n")
        return 2
    sys.stdout.writelines(f"{line}\n" for line in report(number))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
