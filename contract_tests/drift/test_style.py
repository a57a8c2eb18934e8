"""The house style, as far as it can be measured (docs of the architecture; idea 15)."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import pytest

import emulator
from contract_tests.drift import progress

HOUSE = Path(emulator.__path__[0])
MODULES = {str(file.relative_to(HOUSE)): file.read_text("utf-8") for file in sorted(HOUSE.rglob("*.py"))}

LONGEST_MODULE = 300
LONGEST_FUNCTION = 40


def functions() -> Iterator[tuple[str, int]]:
    """Every function, and how many lines it has below its docstring."""
    for name, source in MODULES.items():
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                body = node.body[1:] if ast.get_docstring(node) else node.body
                yield f"{name}: {node.name}", (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def test_functions_are_small() -> None:
    """Median 6 lines at most, nine in ten 15 at most, none over 40."""
    lengths = dict(functions())
    assert [name for name, lines in lengths.items() if lines > LONGEST_FUNCTION] == []
    assert median(lengths.values()) <= 6
    assert sorted(lengths.values())[len(lengths) * 9 // 10] <= 15


def test_modules_are_short() -> None:
    """Counted below the module's own docstring, so that an explanation is never cut to fit."""

    def length(source: str) -> int:
        return len(source.splitlines()) - (ast.parse(source).body[0].end_lineno or 0)

    long = {name for name, source in MODULES.items() if length(source) > LONGEST_MODULE}
    assert long == progress.LONG_MODULES


@pytest.mark.parametrize("name", MODULES)
def test_a_module_begins_with_a_sentence_that_says_what_it_is(name: str) -> None:
    docstring = ast.get_docstring(ast.parse(MODULES[name]))
    assert docstring
    assert docstring.split("\n")[0].rstrip()[-1] in ".:?", docstring


@pytest.mark.parametrize("name", MODULES)
def test_nothing_is_left_to_do_or_excused_without_a_cause(name: str) -> None:
    for number, line in enumerate(MODULES[name].splitlines(), 1):
        assert not any(word in line for word in ("TODO", "FIXME", "XXX")), f"{name}:{number}"
        for excuse in ("# type: ignore", "# noqa"):
            if excuse in line:
                cause = line.split(excuse, 1)[1].partition("  #")[2]
                assert cause.strip(), f"{name}:{number}: {excuse} without its cause beside it"
