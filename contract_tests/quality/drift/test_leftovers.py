"""Nothing is left over: no CSS that no page has, and no package that nothing imports, or that is imported undeclared."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterable
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from contract_tests import ROOT

HOUSE = ROOT / "emulator"

STYLES = [file for file in HOUSE.rglob("*.css") if file.name not in ("explorer.css", "highlight.css")]
"""Those of ours; the others are about the markup of Swagger UI and Pygments."""

COMPUTED = re.compile(r"(cols|lanes)-\d")
"""Classes that templates make with a number."""

PAGES = [
    file
    for folder, patterns in ((HOUSE, ("*.py", "*.html", "*.js")), (ROOT / "docs", ("*.py", "guide/*.md")))
    for pattern in patterns
    for file in folder.rglob(pattern)
]


def styled(css: str) -> set[str]:
    """Return the classes and ids in the selectors of a style sheet."""
    selectors = " ".join(re.findall(r"([^{}]+)\{", re.sub(r"/\*.*?\*/", "", css, flags=re.DOTALL)))
    return set(re.findall(r"[.#]([a-zA-Z_][\w-]*)", re.sub(r"\[[^\]]*\]", "", selectors)))


@pytest.mark.parametrize("file", STYLES, ids=lambda file: file.name)
def test_each_style_is_of_something_on_a_page(file: Path) -> None:
    words = {word for page in PAGES for word in re.findall(r"[A-Za-z_][\w-]*", page.read_text("utf-8"))}
    assert {name for name in styled(file.read_text("utf-8")) if name not in words and not COMPUTED.match(name)} == set()


# -- packages


PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]

OF_ANOTHER = {
    "pydantic": "mcp",
    "hypothesis": "schemathesis",
    "pytest": "the run whose plugin this is",
    "babel": "a checkout",
}
"""Packages that the emulator imports without declaring them, each with what brings it."""


def name(requirement: str) -> str:
    return re.split(r"[^\w-]", requirement)[0].lower().replace("_", "-")


def imported(files: Iterable[Path]) -> set[str]:
    """Return the distributions of the modules that these files import."""
    modules = set()
    for file in files:
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                modules |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                modules.add(node.module.partition(".")[0])
    known = packages_distributions()
    found = {name(each) for module in modules - sys.stdlib_module_names for each in known.get(module, ())}
    return found - {"payments-emulator"}


def declared(*extras: str) -> set[str]:
    return {name(each) for extra in extras for each in PROJECT["optional-dependencies"][extra]}


def test_the_emulator_imports_what_it_declares_and_nothing_else() -> None:
    extras = declared(*(PROJECT["optional-dependencies"].keys() - {"test"}))
    needed = {name(each) for each in PROJECT["dependencies"]} | extras
    assert imported(HOUSE.rglob("*.py")) - OF_ANOTHER.keys() == needed


RUN_BY_NAME = {
    *("ruff", "mypy", "import-linter", "types-pyyaml"),  # what CI runs
    *("pytest-xdist", "pytest-asyncio", "pytest-socket", "respx"),  # plugins, and suites in the tests' own strings
    *("pygments", "flask-swagger-ui"),  # what a wheel is built with
}
"""Packages of ``.[test]`` that no module of the tests imports."""


def test_the_tests_need_each_package_that_they_install() -> None:
    used = imported([*HOUSE.rglob("*.py"), *(ROOT / "contract_tests").rglob("*.py"), *(ROOT / "docs").rglob("*.py")])
    assert declared("test") - used == RUN_BY_NAME
