"""The example shops: their own suites pass, and ``test app`` with faults that are hard to survive finds nothing in them."""

from __future__ import annotations

import ast
import contextlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from contract_tests.support.shops import EXAMPLES, SHOPS
from contract_tests.surfaces.cli.terminal import COMMAND, clean
from contract_tests.surfaces.cli.terminal import run as run_command
from contract_tests.surfaces.testing.test_plugin import PLUGIN

pytestmark = pytest.mark.long

PYTEST = (sys.executable, "-m", "pytest", "-q", *PLUGIN)

EXEC = (*COMMAND, "exec", "--")
"""Beside an emulator, and not with one in the process."""


@pytest.fixture(autouse=True)
def this_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """``python`` is the one that these tests run in."""
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))


def each_row(*rows: tuple[Any, ...]) -> pytest.MarkDecorator:
    """Each of these rows, which begin with a language and end with words."""
    marked = [pytest.param(*row, marks=pytest.mark.needs(*SHOPS[row[0]].programs)) for row in rows]
    return pytest.mark.parametrize(("language", "command", "words"), marked)


OTHERS = [shop for shop in SHOPS.values() if shop.tests]


@each_row(
    ("python", (*PYTEST, "-n", "2"), "10 passed"),
    ("python", (*EXEC, *PYTEST), "10 passed"),
    ("subscription", PYTEST, "10 passed"),
    ("subscription", (*EXEC, "python", "story.py"), ""),
    ("fastapi", PYTEST, "19 passed"),
    ("django", (*EXEC, *PYTEST), "4 passed"),
    ("node", (*EXEC, "node", "--test", "--test-reporter=tap"), "# pass 12"),
    *((shop.language, (*EXEC, *shop.tests), shop.passed) for shop in OTHERS),
    *((shop.language, shop.checks, "") for shop in OTHERS),
)
def test_a_shop_passes_its_own_suite_and_the_checks_of_its_language(
    language: str, command: tuple[str, ...], words: str
) -> None:
    shop = SHOPS[language]
    ended = subprocess.run(
        shop.command(command), cwd=shop.path, env=clean(), capture_output=True, text=True, timeout=300, check=False
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert words in ended.stdout


@each_row(
    ("fastapi", SHOPS["fastapi"].story, ("lost", "reissued")),
    ("django", SHOPS["django"].story, ("lost", "reissued")),
    ("php", SHOPS["php"].day, ("killed",)),
    # The answer to an order is lost; the webhooks of a subscription come before its answer.
    *((shop.language, shop.story, ("2:drop-after", "12:slow")) for shop in OTHERS if shop.serve),
)
def test_the_story_of_a_shop_ends_the_same(language: str, command: tuple[str, ...], words: tuple[str, ...]) -> None:
    shop = SHOPS[language]
    with contextlib.chdir(shop.path):
        ended = run_command("test", "app", *(f"--only={each}" for each in words), "--", *shop.command(command))
    assert ended.output.startswith("No problem in "), ended
    assert "of the audit" not in ended.output.replace(" info of the audit", "")


def test_every_example_shop_has_a_story_that_its_reader_finds() -> None:
    """A shop that keeps all in memory cannot be killed, and says so."""
    assert {folder.name for folder in EXAMPLES.glob("*-shop")} == {shop.folder for shop in SHOPS.values()}
    for shop in SHOPS.values():
        page = " ".join((shop.path / "README.md").read_text("utf-8").split())
        assert "payments-emulator test app " in page
        assert ("--only killed -- " in page) == bool(shop.day)
        assert ("`killed` is not for it" in page) == (not shop.day)


def imported(file: Path) -> set[str]:
    """Return the packages that a module imports, by the names they are imported by."""
    nodes = list(ast.walk(ast.parse(file.read_text("utf-8"))))
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module]
    return {name.partition(".")[0] for name in names}


@pytest.mark.parametrize("shop", sorted(EXAMPLES.glob("*/requirements.txt")), ids=lambda file: file.parent.name)
def test_a_shop_installs_what_it_imports(shop: Path) -> None:
    """All is installed where these tests run; a reader has what requirements.txt names."""
    modules = sorted(shop.parent.glob("*.py"))
    ours = {module.stem for module in modules} | {"emulator"}
    others = set().union(*map(imported, modules)) - ours - sys.stdlib_module_names
    assert others
    assert others <= set(shop.read_text("utf-8").split())
