"""Measure the tree: ``python -m contract_tests.quality.sizes``, and with ``--since REV`` by how
much it has grown.

Lines count every line of a Python file, docstrings included; those of a function count what is
below its docstring. A word has a letter or a digit: the rules of tables are none. Exit status 1 if
something is larger than :data:`MOST` allows.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from contract_tests import ROOT

TREES = ("emulator", "contract_tests")
PAGES = ("docs/guide", "docs/contributing")

MOST = {
    "emulator": 58_000,
    "contract_tests": 64_000,
    "pages": 33_000,
    "module": 650,
    "function": 80,
}
"""Lines of each tree, words of all pages, lines of one module and of one function."""


WORD = re.compile(r"\S*\w\S*")


class Size(NamedTuple):
    """Files of a room, and their lines, or the words of pages."""

    files: int
    amount: int

    @classmethod
    def of(cls, texts: Sequence[str], *, words: bool = False) -> Size:
        return cls(
            len(texts),
            sum(len(WORD.findall(text) if words else text.splitlines()) for text in texts),
        )


def rooms(root: Path) -> dict[str, Size]:
    """Return the size of each room of a checkout, of each tree as a whole, and of the pages."""
    sizes = {}
    for tree in TREES:
        for room in sorted(path.parent.name for path in (root / tree).glob("*/__init__.py")):
            sizes[f"{tree}/{room}"] = Size.of(texts(root / tree / room, "*.py"))
        sizes[tree] = Size.of(texts(root / tree, "*.py"))
    pages = [text for folder in PAGES for text in texts(root / folder, "*.md")]
    sizes["pages"] = Size.of(pages, words=True)
    return sizes


def texts(folder: Path, pattern: str) -> list[str]:
    return [file.read_text("utf-8") for file in sorted(folder.rglob(pattern))]


def functions(source: str) -> Iterator[tuple[str, int]]:
    """Yield the name of each function of a module, and how many lines follow its docstring."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[1:] if ast.get_docstring(node) else node.body
            yield node.name, (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def too_large(root: Path) -> Iterator[str]:
    """Yield a sentence for each tree, module and function, and the pages, that are too large."""
    sizes = rooms(root)
    for name in (*TREES, "pages"):
        if sizes[name].amount > MOST[name]:
            yield f"{name} has {sizes[name].amount:,} {unit(name)}, of at most {MOST[name]:,}"
    for tree in TREES:
        for file in sorted((root / tree).rglob("*.py")):
            yield from _too_long(file.relative_to(root).as_posix(), file.read_text("utf-8"))


def _too_long(name: str, source: str) -> Iterator[str]:
    lines = len(source.splitlines())
    if lines > MOST["module"]:
        yield f"{name} has {lines} lines, of at most {MOST['module']}"
    for function, length in functions(source):
        if length > MOST["function"]:
            yield f"{name}: {function} has {length} lines, of at most {MOST['function']}"


def unit(room: str) -> str:
    return "words" if room == "pages" else "lines"


def rooms_at(revision: str) -> dict[str, Size]:
    """Return the sizes at a revision; raises ``CalledProcessError`` where git does not know it."""
    command = ["git", "archive", "--format=tar", revision, *TREES, "docs"]
    archive = subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout
    with tempfile.TemporaryDirectory() as folder, tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        tar.extractall(folder, filter="data")
        return rooms(Path(folder))


def table(now: dict[str, Size], before: dict[str, Size] | None = None) -> Iterator[str]:
    """Yield a line for each room; with the sizes before, also by how much it has grown since."""
    for room in sorted(now | (before or {}), key=_order):
        size = now.get(room, Size(0, 0))
        line = f"{room:<28} {size.files:>4} files {size.amount:>7,} {unit(room)}"
        if before is not None:
            files, amount = before.get(room, Size(0, 0))
            line += f"  {size.files - files:>+5,} files {size.amount - amount:>+7,} {unit(room)}"
        yield line


def _order(room: str) -> tuple[int, bool, str]:
    """Order the rooms of a tree before the tree itself, and the pages last."""
    tree = room.partition("/")[0]
    return (*TREES, "pages").index(tree), room == tree, room


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m contract_tests.quality.sizes", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument(
        "--since", metavar="REV", help="show by how much each room has grown since a revision"
    )
    chosen = parser.parse_args(arguments)
    try:
        before = rooms_at(chosen.since) if chosen.since else None
    except subprocess.CalledProcessError:
        parser.error(f"git knows no revision {chosen.since!r}")
    sys.stdout.writelines(f"{line}\n" for line in table(rooms(ROOT), before))
    problems = list(too_large(ROOT))
    sys.stdout.writelines(f"{problem}\n" for problem in problems)
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
