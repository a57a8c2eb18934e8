"""The house style, as far as it can be measured, sizes, and no unused code, styles or packages."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest

from contract_tests import ROOT
from contract_tests.quality.sizes import Size, rooms, table, too_large
from contract_tests.quality.sources import parsed
from emulator.document import bundles

HOUSE, TREE = ROOT / "emulator", ROOT / "contract_tests"
MODULES = {
    str(file.relative_to(HOUSE)): file.read_text("utf-8") for file in sorted(HOUSE.rglob("*.py"))
}


def test_a_module_begins_with_a_sentence() -> None:
    first = {
        name: (ast.get_docstring(parsed(HOUSE / name)) or "").split("\n")[0] for name in MODULES
    }
    assert [
        name for name, sentence in first.items() if not sentence.rstrip().endswith((".", ":", "?"))
    ] == []


def test_nothing_is_left_to_do_or_excused_without_a_cause() -> None:
    assert [place for name, source in MODULES.items() for place in left(name, source)] == []


def left(name: str, source: str) -> Iterator[str]:
    """Yield what is left to do, and each excuse without a cause beside it or in the line above."""
    above = ""
    for number, line in enumerate(source.splitlines(), 1):
        yield from (f"{name}:{number}: {word}" for word in ("TODO", "FIXME", "XXX") if word in line)
        for excuse in ("# type: ignore", "# noqa"):
            beside = line.partition(excuse)[2].partition("  #")[2]
            if excuse in line and not (beside.strip() or re.match(r"\s*# *\w", above)):
                yield f"{name}:{number}: {excuse}"
        above = line


COMMANDS = [
    "@examination",
    "@resource",
    "@click.*",
    "@*.command",
    "@*.group",
    "@pytest.*",
    "@mcp.*",
]
"""Decorators that make something used: commands, fixtures and resources."""

CALLED_BY_OTHERS = [
    *("do_POST", "log_message", "daemon_threads", "request_queue_size", "wbufsize"),  # http.server
    *("list_commands", "get_missing_message", "shell_complete", "format_commands"),  # click
    *("make_operation", "api_cls"),  # Connexion
    *("on_header", "eof_received", "main_loop"),  # httptools, uvicorn
    *("redirect_slashes", "globals"),  # Starlette and Jinja
    *("WRITE_CACHE_SIZE",),  # TinyDB
    *("close_if_unusable_or_obsolete",),  # Django
    *("direction", "flags"),  # HarfBuzz
    *("check_config",),  # MkDocs
    *("prec",),  # decimal
    *("pytest_*", "tbstyle", "keywords"),  # hooks and options of pytest, and Babel
    # Python: of a module, a class, and the last argument of __exit__
    *("__getattr__", "__init_subclass__", "trace"),
]

FOR_TESTS = ["component_name"]
"""Names that only the tests use, of a module that the emulator uses."""


def fields(node: Any) -> Iterator[str]:
    if isinstance(node, dict) and isinstance(node.get("properties"), dict):
        yield from node["properties"]
    for part in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from fields(part)


@pytest.mark.long
@pytest.mark.needs("vulture")
def test_no_code_is_unused() -> None:
    """Others use the names of documents' fields, templates' words and the test page's helpers."""
    from vulture import Vulture  # type: ignore[import-untyped]  # it has no types

    vulture = Vulture(ignore_names=CALLED_BY_OTHERS, ignore_decorators=COMMANDS)
    vulture.scavenge([str(HOUSE)])
    unused = {
        item.name: f"{item.filename}:{item.first_lineno}: {item.message}"
        for item in vulture.get_unused_code(60)
    }
    known = {name for document in ("service", "control") for name in fields(bundles.load(document))}
    for file in (ROOT / "docs/guide/testing.md", *HOUSE.rglob("templates/*")):
        known |= set(re.findall(r"[A-Za-z_]\w+", file.read_text("utf-8")))
    assert [unused[name] for name in unused.keys() - known] == []


COMPUTED = re.compile(r"(cols|lanes)-\d")
"""Classes that templates make with a number."""


def styled(css: str) -> set[str]:
    """Return the classes and ids in the selectors of a style sheet."""
    selectors = " ".join(re.findall(r"([^{}]+)\{", re.sub(r"/\*.*?\*/", "", css, flags=re.DOTALL)))
    return set(re.findall(r"[.#]([a-zA-Z_][\w-]*)", re.sub(r"\[[^\]]*\]", "", selectors)))


def test_each_style_is_of_something_on_a_page() -> None:
    """But for those of the markup of Swagger UI and Pygments."""
    places = ((HOUSE, ("*.py", "*.html", "*.js")), (ROOT / "docs", ("*.py", "guide/*.md")))
    pages = [
        file
        for folder, patterns in places
        for pattern in patterns
        for file in folder.rglob(pattern)
    ]
    words = {
        word for page in pages for word in re.findall(r"[A-Za-z_][\w-]*", page.read_text("utf-8"))
    }
    sheets = [
        file for file in HOUSE.rglob("*.css") if file.name not in ("explorer.css", "highlight.css")
    ]
    names = {name for file in sheets for name in styled(file.read_text("utf-8"))}
    assert {name for name in names - words if not COMPUTED.match(name)} == set()


# -- packages that nothing imports, or that are imported undeclared

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]

OF_ANOTHER = {
    "pydantic": "mcp",
    "hypothesis": "schemathesis",
    "pytest": "the run whose plugin this is",
    "django": "the project that is tested",
    "asgiref": "Django",
    "babel": "a checkout",
}
"""Packages that the emulator imports without declaring them, each with what brings it."""

RUN_BY_NAME = {
    # plugins, and suites in the tests' own strings
    *("pytest-xdist", "pytest-asyncio", "pytest-socket"),
    *("pygments", "flask-swagger-ui"),  # what a wheel is built with
}
"""Packages of ``.[test]`` that no module of the tests imports."""


def name(requirement: str) -> str:
    return re.split(r"[^\w-]", requirement)[0].lower().replace("_", "-")


@cache
def modules_of(file: Path) -> frozenset[str]:
    """Return the modules, or rather their packages, that a file imports."""
    modules = set()
    for node in ast.walk(parsed(file)):
        if isinstance(node, ast.Import):
            modules |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            modules.add(node.module.partition(".")[0])
    return frozenset(modules)


def imported(files: Iterable[Path]) -> set[str]:
    modules = {module for file in files for module in modules_of(file)}
    known = packages_distributions()
    distributions = {
        name(distribution)
        for module in modules - sys.stdlib_module_names
        for distribution in known.get(module, ())
    }
    return distributions - {"payments-emulator"}


def declared() -> dict[str, set[str]]:
    """Return the declared packages by extra; those always needed under ``""``."""
    groups = {"": PROJECT["dependencies"], **PROJECT["optional-dependencies"]}
    return {
        extra: {name(requirement) for requirement in requirements}
        for extra, requirements in groups.items()
    }


def test_the_declared_packages_are_those_that_are_imported() -> None:
    extras = declared()
    del extras["test"], extras["lint"]
    needed = set().union(*extras.values())
    assert imported(HOUSE.rglob("*.py")) - OF_ANOTHER.keys() == needed


@pytest.mark.long
def test_a_declared_package_of_the_tests_is_used() -> None:
    used = imported(
        file
        for folder in ("emulator", "contract_tests", "docs")
        for file in (ROOT / folder).rglob("*.py")
    )
    assert declared()["test"] - used == RUN_BY_NAME


# -- sizes: no room has a budget; trees, pages, modules and functions have a ceiling


@pytest.mark.long  # a step of .ci/run says it for each change
def test_no_part_of_the_tree_is_too_large() -> None:
    assert list(too_large(ROOT)) == []


def checkout(root: Path, module: str, page: str = "") -> Path:
    """Return a tree of one module and one page."""
    for name, text in {
        "emulator/core/__init__.py": "",
        "emulator/core/toys.py": module,
        "docs/guide/index.md": page,
    }.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    return root


def test_what_is_too_large_is_named_with_its_size(tmp_path: Path) -> None:
    long = checkout(tmp_path, "def play():\n    'Play.'\n" + "    pass\n" * 80, "word " * 33_000)
    assert list(too_large(long)) == []
    longer = checkout(tmp_path, "def play():\n" + "    pass\n" * 81 + "\n" * 600, "word " * 33_001)
    assert list(too_large(longer)) == [
        "pages has 33,001 words, of at most 33,000",
        "emulator/core/toys.py has 682 lines, of at most 650",
        "emulator/core/toys.py: play has 81 lines, of at most 80",
    ]


def test_each_room_is_shown_with_its_growth(tmp_path: Path) -> None:
    before = rooms(checkout(tmp_path / "before", "\n" * 10, "one two"))
    now = rooms(checkout(tmp_path / "now", "\n" * 13, "one"))
    assert now["emulator/core"] == Size(2, 13)
    lines = {line.split()[0]: " ".join(line.split()[1:]) for line in table(now, before)}
    assert lines["emulator/core"] == "2 files 13 lines +0 files +3 lines"
    assert lines["pages"] == "1 files 1 words +0 files -1 words"
    assert lines.keys() == {"emulator/core", "emulator", "contract_tests", "pages"}
