"""No subclass uses a private name of a base class of another package. That no module reads one is what ruff finds (SLF)."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

from contract_tests import ROOT


def private(source: str) -> Iterator[str]:
    """Yield the private names that a class defines: methods, variables, attributes, slots."""
    for node in ast.walk(ast.parse(inspect.cleandoc("\n" + source))):
        names = {
            getattr(node, "name", None),
            node.id if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) else None,
            node.attr if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) else None,
            node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None,
        }
        yield from (each for each in names if each and each.startswith("_") and each != "_" and not each.endswith("__"))


@cache
def of_base(base: type) -> frozenset[str]:
    try:
        return frozenset(private(inspect.getsource(base)))
    except (OSError, TypeError):  # a class written in C
        return frozenset(name for name in vars(base) if name.startswith("_") and not name.endswith("__"))


def overridden(path: Path) -> Iterator[str]:
    module = import_module(".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"))
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.ClassDef):
            used = {each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute)} | set(
                private(ast.unparse(node))
            )
            for base in vars(module)[node.name].__mro__:
                if base.__module__.partition(".")[0] not in ("emulator", "builtins", "typing", "abc", "enum"):
                    yield from (f"{path}: {base.__name__}.{name}" for name in sorted(used & of_base(base)))


@pytest.mark.long
def test_no_subclass_uses_a_private_name_of_a_base_class_of_another_package() -> None:
    assert [found for path in (ROOT / "emulator").rglob("*.py") for found in overridden(path)] == []


def test_private_names_of_a_base_class_are_known() -> None:
    from connexion.spec import Specification

    assert {"_raw_spec", "_spec", "_base_uri", "_validate_spec"} <= of_base(Specification)
