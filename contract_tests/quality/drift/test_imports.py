"""Imports form no circle, so that every module can be read, loaded and tested after the ones it builds on.

import-linter (pyproject.toml) checks the layers between packages; a circle between modules of one package, or one that
``if TYPE_CHECKING`` hides from Python, is found here.
"""

from __future__ import annotations

import grimp

from contract_tests.quality.drift import progress


def circles(graph: grimp.ImportGraph) -> frozenset[frozenset[str]]:
    """Return the sets of modules that import each other, directly or by way of others."""
    groups = (
        graph.find_upstream_modules(name) & graph.find_downstream_modules(name) | {name}
        for name in graph.modules
        if graph.find_modules_directly_imported_by(name)
    )
    return frozenset(frozenset(group) for group in groups if len(group) > 1)


def test_no_modules_import_each_other() -> None:
    """Imports inside functions and those for type checkers only count as well."""
    graph = grimp.build_graph("emulator", exclude_type_checking_imports=False)
    assert circles(graph) == progress.IMPORT_CIRCLES


def test_a_circle_is_found() -> None:
    graph = grimp.ImportGraph()
    for importer, imported in (("a", "b"), ("b", "c"), ("c", "a"), ("d", "a"), ("c", "e")):
        for name in (importer, imported):
            graph.add_module(name)
        graph.add_import(importer=importer, imported=imported)
    assert circles(graph) == {frozenset({"a", "b", "c"})}
