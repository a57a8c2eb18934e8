"""The recipes for changes work as written: with their patches applied, a copy of the tree passes
its tests.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from contract_tests.quality.docs.pages import ROOT

PAGE = ROOT / "docs" / "contributing" / "recipes.md"

FILES_AT_MOST = {
    "Add a resource": 6,
    "Add a field": 2,
    "Add an event": 4,
    "Add a kind of fault to test app": 3,
    "Add a command": 4,
}
"""How many files each recipe may take, in the order in which they are applied: the field is one of
the new resource.
"""

LEFT_OUT = shutil.ignore_patterns(".*", "__pycache__", "build", "dist", "node_modules")
CHECKS = (
    "contract_tests/quality/drift",
    "contract_tests/contract/document",
    "contract_tests/contract/every",
    "contract_tests/simulator/test_simulate.py",
    "contract_tests/quality/docs/test_pages.py",
    "contract_tests/surfaces/i18n/test_languages.py",
    "contract_tests/surfaces/checks/app/test_app.py",
    "contract_tests/surfaces/cli/test_mistakes.py",
    "contract_tests/surfaces/cli/test_output.py",
    "contract_tests/surfaces/control",
    "contract_tests/surfaces/console",
    "contract_tests/surfaces/pages",
)
ABOUT_OTHERS = (
    "contract_tests/contract/document/test_bundles.py",
    "contract_tests/contract/every/test_schemathesis.py",
    "contract_tests/quality/drift/test_command_line.py",
    "contract_tests/surfaces/control/test_requests.py::test_the_code_of_a_request_sends_the_same",
    "contract_tests/surfaces/pages/test_docs.py::test_every_link_within_the_pages_leads_somewhere",
)
"""Tests that take long, or need the built guide, which the copy has not, and examine nothing that a
recipe changes.
"""

STEPS = [
    *re.findall(
        r"^step ((?:ruff|mypy|lint-imports)\b.*)$", (ROOT / ".ci/run").read_text("utf-8"), re.M
    ),
    "python -m contract_tests.quality.sizes",
]
"""The steps of ``.ci/run`` before the tests that a change of the tree can break."""


class Patch(NamedTuple):
    """What a recipe does to one file: each hunk replaces a text that occurs once; a new file has
    one hunk.
    """

    path: str
    is_new: bool
    hunks: list[tuple[str, str]]

    def applied(self, text: str | None) -> str:
        """Return the text of the file with the patch applied; ``None`` for a file that is not there
        yet.
        """
        assert (text is None) == self.is_new, self.path
        if text is None:
            return self.hunks[0][1]
        for before, after in self.hunks:
            assert text.count(before) == 1, (
                f"{self.path} has this {text.count(before)} times, not once:\n{before}"
            )
            text = text.replace(before, after)
        return text


def patches(recipe: str) -> list[Patch]:
    section = PAGE.read_text("utf-8").partition(f"\n## {recipe}\n")[2].partition("\n## ")[0]
    file_patches = []
    for diff in re.findall(r"^```diff\n(.*?)^```$", section, re.S | re.M):
        head, *hunks = re.split(r"^@@\n", diff, flags=re.M)
        old, new = (line[4:] for line in head.splitlines())
        file_patches.append(
            Patch(
                new.removeprefix("b/"),
                old == "/dev/null",
                [_hunk(hunk.splitlines()) for hunk in hunks],
            )
        )
    return file_patches


def _hunk(lines: list[str]) -> tuple[str, str]:
    """Return the text before and after.

    A line of context may have lost its leading space if nothing follows it.
    """
    before, after = (
        "".join(f"{line[1:]}\n" for line in lines if line[:1] in {mark, " ", ""})
        for mark in ("-", "+")
    )
    return before, after


EVERYTHING = [patch for recipe in FILES_AT_MOST for patch in patches(recipe)]


def changed_files(patches: list[Patch]) -> dict[str, str]:
    """Return the files that the patches make or change, by their paths, as they read after the last
    patch.
    """
    texts = {
        patch.path: (ROOT / patch.path).read_text("utf-8")
        for patch in patches
        if (ROOT / patch.path).exists()
    }
    for patch in patches:
        texts[patch.path] = patch.applied(texts.get(patch.path))
    return texts


@pytest.mark.parametrize(("recipe", "at_most"), FILES_AT_MOST.items())
def test_a_recipe_takes_few_files(recipe: str, at_most: int) -> None:
    paths = [patch.path for patch in patches(recipe)]
    assert 0 < len(set(paths)) == len(paths) <= at_most


@pytest.fixture(scope="module")
def changed_tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the tree with all recipes applied, the tables of the guide and the types of the
    answers written.
    """
    tree = tmp_path_factory.mktemp("recipes") / "tree"
    shutil.copytree(ROOT, tree, ignore=LEFT_OUT)
    for path, text in changed_files(EVERYTHING).items():
        (tree / path).write_text(text, "utf-8")
    run(tree, "-m", "contract_tests.quality.docs.tables")
    run(tree, "-m", "contract_tests.quality.docs.response_types")
    return tree


def run(tree: Path, *command: str) -> None:
    done = subprocess.run(
        [sys.executable, *command], cwd=tree, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


OWN = [
    patch.path for patch in EVERYTHING if patch.path.startswith("contract_tests/") and patch.is_new
]
"""The tests that the recipes add."""


@pytest.mark.long
@pytest.mark.needs("ruff")
@pytest.mark.parametrize("tests", [*CHECKS, *OWN])
def test_with_all_recipes_the_tree_passes_the_tests_near_them_and_their_own(
    changed_tree: Path, tests: str
) -> None:
    others = [f"--deselect={test}" for test in ABOUT_OTHERS]
    run(changed_tree, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *others, tests)


@pytest.mark.long
@pytest.mark.needs("ruff", "mypy", "lint-imports")
@pytest.mark.parametrize("step", STEPS)
def test_with_all_recipes_the_tree_passes_each_step_of_a_run_of_ci(
    changed_tree: Path, step: str
) -> None:
    program, *arguments = step.split()
    command = [str(Path(sys.executable).with_name(program)), *arguments]
    done = subprocess.run(command, cwd=changed_tree, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
