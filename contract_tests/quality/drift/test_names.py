"""One name, one meaning: classes share no names, and modules only where they are about the same subject."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from contract_tests import ROOT

MODULES = sorted((ROOT / "emulator").rglob("*.py"))

SAME_SUBJECT = {
    *("audit", "clock", "connections", "coverage", "emails", "events", "explain", "faults", "inbox", "ledger"),
    *("payments", "recordings", "trigger", "webhooks", "world"),
    *("render", "request", "site", "views"),  # the parts of each of the sites: console, pages, reference
    # what is examined, in a folder of checks each
    *("app", "checks", "client", "document", "receiver", "report", "runs", "suite"),
}
"""Module names of one subject that several packages are about: the engine, the rules or ``insight`` implement it, the
control API (``control``) serves it, the command line (``cli``) and the helpers for tests (``testing``) offer it."""

MAIN_MODULES = {"customers", "emulator", "engine", "server", "service"}
"""Modules that hold the main class or object of the package with the same name."""


def defined(source: str) -> Iterator[str]:
    """Yield the classes and type aliases of a module, without the underscore of private ones."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef):
            yield node.name.lstrip("_")
        elif isinstance(node, ast.Assign):
            names = (target.id.lstrip("_") for target in node.targets if isinstance(target, ast.Name))
            yield from (name for name in names if name[:1].isupper() and name != name.upper())


def doubles(modules: list[Path]) -> dict[str, list[Path]]:
    """Return the names of classes and type aliases that several of these modules define."""
    found: dict[str, list[Path]] = defaultdict(list)
    for path in modules:
        for name in defined(path.read_text("utf-8")):
            found[name].append(path)
    return {name: paths for name, paths in found.items() if len(paths) > 1}


def module_name(path: Path) -> str:
    return path.parent.name if path.stem == "__init__" else path.stem


def shared_names(modules: list[Path]) -> set[str]:
    """Return the names that several of these modules and packages have."""
    names = [module_name(path) for path in modules]
    return {name for name in names if names.count(name) > 1}


def test_no_two_classes_share_a_name() -> None:
    assert doubles(MODULES) == {}


def test_modules_share_a_name_only_where_they_are_about_the_same_subject() -> None:
    assert shared_names(MODULES) == SAME_SUBJECT | MAIN_MODULES


def test_a_shared_name_is_found(tmp_path: Path) -> None:
    first, second = tmp_path / "a" / "prices.py", tmp_path / "b" / "prices.py"
    for path, source in (
        (first, "class _Row: ...\nROWS = 1\n"),
        (second, "from typing import Any\n\nRow = Any\nROWS = 2\n"),
    ):
        path.parent.mkdir()
        path.write_text(source)
    assert doubles([first, second]) == {"Row": [first, second]}
    assert shared_names([first, second]) == {"prices"}
