"""No module uses a private name of another package: none is imported, read, or overridden in a subclass."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

from contract_tests import ROOT

MODULES = sorted((ROOT / "emulator").rglob("*.py"))

OF_NAMED_TUPLES = {"_asdict", "_fields", "_field_defaults", "_make", "_replace"}
"""Public in spite of their underscore, which distinguishes them from the names of fields."""


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__") and name.strip("_") != ""


def defined(tree: ast.AST) -> Iterator[str]:
    """Private names that this code defines: functions, classes, variables and attributes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and is_own(node):
            yield node.attr
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value  # of __slots__


def is_own(node: ast.Attribute) -> bool:
    """Return whether this is an attribute of ``self`` or ``cls``."""
    return isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


@cache
def of_module(path: Path) -> frozenset[str]:
    return frozenset(filter(is_private, defined(parsed(path))))


@cache
def ours(folder: Path = ROOT / "emulator") -> frozenset[str]:
    """Return every private name that the emulator, or one folder of it, defines."""
    return frozenset().union(*(of_module(path) for path in MODULES if path.is_relative_to(folder)))


@cache
def of_base(base: type) -> frozenset[str]:
    """Return the private names of a class of another package, those of its instances included."""
    try:
        source = inspect.getsource(base)
    except (OSError, TypeError):  # a class written in C
        return frozenset(filter(is_private, vars(base)))
    return frozenset(name for name in defined(ast.parse(inspect.cleandoc("\n" + source))) if is_private(name))


def imported(tree: ast.AST) -> Iterator[str]:
    """Private modules of others, and private names imported from them."""
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
        origin = node.module or "" if isinstance(node, ast.ImportFrom) else ""
        for name in names:
            dotted = f"{origin}.{name}".strip(".")
            if not dotted.startswith("emulator.") and any(map(is_private, dotted.split("."))):
                yield dotted


def read(folder: Path, tree: ast.AST) -> Iterator[str]:
    """Private attributes of ``self`` that nothing in the emulator defines; of anything else, nothing in its folder."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute) or not is_private(node.attr):
            continue
        if node.attr not in OF_NAMED_TUPLES | (ours() if is_own(node) else ours(folder)):
            yield node.attr


def overridden(path: Path, tree: ast.Module) -> Iterator[str]:
    """Private names of a base class of another package that a subclass of it defines or uses."""
    module = import_module(".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"))
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            bases = [base for base in vars(module)[node.name].__mro__ if _is_foreign(base)]
            used = {each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute)} | set(defined(node))
            for base in bases:
                yield from (f"{base.__name__}.{name}" for name in sorted(used & of_base(base)))


def _is_foreign(base: type) -> bool:
    return base.__module__.partition(".")[0] not in ("emulator", "builtins", "typing", "abc", "enum")


def foreign(path: Path) -> Iterator[str]:
    """Private names of other packages that a module uses."""
    tree = parsed(path)
    yield from (*imported(tree), *read(path.parent, tree), *overridden(path, tree))


def test_no_module_uses_a_private_name_of_another_package() -> None:
    assert {(str(path), name) for path in MODULES for name in foreign(path)} == set()


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("from httpx._client import Client", ["httpx._client.Client"]),
        ("import a._b", ["a._b"]),
        ("from emulator.core import _x", []),
        ("connection._protocol_of_others", ["_protocol_of_others"]),
        ("row._replace(a=1)", []),
    ],
)
def test_these_checks_find_what_they_are_for(code: str, found: list[str]) -> None:
    tree = ast.parse(code)
    assert [*imported(tree), *read(ROOT / "emulator" / "web", tree)] == found


def test_private_attributes_of_a_base_class_are_found() -> None:
    from connexion.spec import Specification

    assert {"_raw_spec", "_spec", "_base_uri", "_validate_spec"} <= of_base(Specification)
