"""The modules of the engine stand in an order: none imports, directly or by way of others, itself."""

from __future__ import annotations

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import emulator.engine

PACKAGE = emulator.engine.__name__


def imported(source: str) -> set[str]:
    """The modules of the package that a source imports anywhere, for types alone or within a function included."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module == PACKAGE:
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith(f"{PACKAGE}."):
            found.add((node.module or "").removeprefix(f"{PACKAGE}."))
        elif isinstance(node, ast.Import):
            found |= {name.name.removeprefix(f"{PACKAGE}.") for name in node.names if name.name.startswith(PACKAGE)}
    return found


def test_no_module_of_the_engine_imports_itself_through_others() -> None:
    """Imports under ``TYPE_CHECKING`` count: they are dependencies all the same."""
    files = Path(emulator.engine.__file__).parent.glob("*.py")
    modules = {file.stem: imported(file.read_text("utf-8")) for file in files}
    order = list(TopologicalSorter(modules).static_order())
    assert order.index("outbox") < order.index("runtime")
