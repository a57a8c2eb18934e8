"""The recipes for changes work as written: with their patches applied, a copy of the tree passes its tests."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from contract_tests.quality.docs.pages import ROOT

PAGE = ROOT / "docs" / "guide" / "recipes.md"

FILES_AT_MOST = {"Add a field": 4, "Add an event": 4, "Add a resource": 6}
"""How many files each recipe may take."""

LEFT_OUT = shutil.ignore_patterns(".*", "__pycache__", "build", "dist", "node_modules")
CHECKS = (
    "contract_tests/quality/drift",
    "contract_tests/contract/document",
    "contract_tests/quality/docs/test_tables.py",
    "contract_tests/surfaces/i18n/test_catalogs.py",
)
ABOUT_OTHERS = (
    "contract_tests/contract/document/test_bundles.py",
    "contract_tests/contract/document/test_openapi31.py",
    "contract_tests/quality/drift/test_command_line.py",
    "contract_tests/quality/drift/test_private_names.py",
)
"""Tests that take long and examine nothing that a recipe changes.

They are about how bundles are stored, how schemas become those of OpenAPI 3.1, the command line, and other packages.
"""


class Patch(NamedTuple):
    """What a recipe does to one file: each hunk replaces a text that occurs once; a new file has one hunk."""

    path: str
    is_new: bool
    hunks: list[tuple[str, str]]

    def applied(self, tree: Path) -> str:
        """The text of the file with the patch applied."""
        if self.is_new:
            assert not (tree / self.path).exists()
            return self.hunks[0][1]
        text = (tree / self.path).read_text("utf-8")
        for before, after in self.hunks:
            assert text.count(before) == 1, f"{self.path} has this {text.count(before)} times, not once:\n{before}"
            text = text.replace(before, after)
        return text


def patches(recipe: str) -> list[Patch]:
    """The patches of one section of the page."""
    section = PAGE.read_text("utf-8").partition(f"\n## {recipe}\n")[2].partition("\n## ")[0]
    return [_patch(diff) for diff in re.findall(r"^```diff\n(.*?)^```$", section, re.S | re.M)]


def _patch(diff: str) -> Patch:
    head, *hunks = re.split(r"^@@\n", diff, flags=re.M)
    old, new = (line[4:] for line in head.splitlines())
    return Patch(new.removeprefix("b/"), old == "/dev/null", [_hunk(hunk.splitlines()) for hunk in hunks])


def _hunk(lines: list[str]) -> tuple[str, str]:
    """The text before and after. A line of context may have lost its leading space if nothing follows it."""
    before, after = ("".join(f"{line[1:]}\n" for line in lines if line[:1] in {mark, " ", ""}) for mark in ("-", "+"))
    return before, after


def everything() -> Iterator[Patch]:
    for recipe in FILES_AT_MOST:
        yield from patches(recipe)


@pytest.mark.parametrize("recipe", FILES_AT_MOST)
def test_a_recipe_takes_few_files_and_applies_by_itself(recipe: str) -> None:
    paths = [patch.path for patch in patches(recipe) if patch.applied(ROOT)]
    assert 0 < len(set(paths)) == len(paths) <= FILES_AT_MOST[recipe]


@pytest.fixture(scope="module")
def changed_tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the tree with all recipes applied and the tables of the guide written."""
    tree = tmp_path_factory.mktemp("recipes") / "tree"
    shutil.copytree(ROOT, tree, ignore=LEFT_OUT)
    for patch in everything():
        (tree / patch.path).write_text(patch.applied(tree), "utf-8")
    run(tree, "-m", "contract_tests.quality.docs.tables")
    return tree


def run(tree: Path, *command: str) -> None:
    done = subprocess.run([sys.executable, *command], cwd=tree, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_with_all_recipes_the_tree_passes_its_drift_and_document_tests_and_those_of_the_recipes(
    changed_tree: Path,
) -> None:
    own = [patch.path for patch in everything() if patch.path.startswith("contract_tests/")]
    assert len(own) == len(FILES_AT_MOST)
    ignored = [f"--ignore={path}" for path in ABOUT_OTHERS]
    run(changed_tree, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *ignored, *CHECKS, *own)


def test_the_recipes_are_in_style(changed_tree: Path) -> None:
    written = [patch.path for patch in everything() if patch.path.endswith(".py")]
    run(changed_tree, "-m", "ruff", "check", *written)
    run(changed_tree, "-m", "ruff", "format", "--check", *written)
