"""The house style, as far as it can be measured."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import emulator

HOUSE = Path(emulator.__path__[0])
MODULES = {str(file.relative_to(HOUSE)): file.read_text("utf-8") for file in sorted(HOUSE.rglob("*.py"))}

LONGEST_MODULE = 600
LONGEST_FUNCTION = 60


def functions() -> Iterator[tuple[str, int]]:
    """Yield every function, and how many lines it has below its docstring."""
    for name, source in MODULES.items():
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                body = node.body[1:] if ast.get_docstring(node) else node.body
                yield f"{name}: {node.name}", (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def test_no_function_is_over_60_lines() -> None:
    assert [name for name, lines in functions() if lines > LONGEST_FUNCTION] == []


def test_modules_are_read_in_one_sitting() -> None:
    assert {name for name, source in MODULES.items() if len(source.splitlines()) > LONGEST_MODULE} == set()


def test_a_module_begins_with_a_sentence_that_says_what_it_is() -> None:
    first = {name: (ast.get_docstring(ast.parse(source)) or "").split("\n")[0] for name, source in MODULES.items()}
    assert [name for name, sentence in first.items() if not sentence.rstrip().endswith((".", ":", "?"))] == []


def test_nothing_is_left_to_do_or_excused_without_a_cause() -> None:
    assert [place for name, source in MODULES.items() for place in left(name, source)] == []


def left(name: str, source: str) -> Iterator[str]:
    """What is still to do, and each excuse without its cause beside it."""
    for number, line in enumerate(source.splitlines(), 1):
        yield from (f"{name}:{number}: {word}" for word in ("TODO", "FIXME", "XXX") if word in line)
        for excuse in ("# type: ignore", "# noqa"):
            if excuse in line and not line.split(excuse, 1)[1].partition("  #")[2].strip():
                yield f"{name}:{number}: {excuse}"
