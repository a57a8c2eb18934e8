"""The example shops in Python: their test suites pass beside an emulator, and in parallel with one in each worker."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from contract_tests import ROOT
from contract_tests.surfaces.testing.test_plugin import PLUGIN

pytestmark = pytest.mark.long

SHOPS = ROOT / "docs/examples"
PYTEST = (sys.executable, "-m", "pytest", "-q", *PLUGIN)


def run(shop: str, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a command in the folder of a shop."""
    surely_ours = {name: value for name, value in os.environ.items() if not name.startswith("PAYMENTS_EMULATOR_")}
    return subprocess.run(
        command, cwd=SHOPS / shop, env=surely_ours, capture_output=True, text=True, timeout=300, check=False
    )


def beside_an_emulator(*command: str) -> tuple[str, ...]:
    """Return the command under ``payments-emulator exec``."""
    return (sys.executable, "-m", "emulator.cli.main", "exec", "--", *command)


@pytest.mark.parametrize("command", [beside_an_emulator(*PYTEST), (*PYTEST, "-n", "2")], ids=["exec", "xdist"])
def test_the_python_shop(command: tuple[str, ...]) -> None:
    output = run("python-shop", *command)
    assert output.returncode == 0, output.stdout + output.stderr
    assert "10 passed" in output.stdout


@pytest.mark.parametrize("command", [beside_an_emulator(*PYTEST), PYTEST], ids=["exec", "in process"])
def test_the_renewal_matrix(command: tuple[str, ...]) -> None:
    output = run("subscription-shop", *command)
    assert output.returncode == 0, output.stdout + output.stderr
    assert "10 passed" in output.stdout


def test_half_a_year_at_the_subscription_shop() -> None:
    output = run("subscription-shop", *beside_an_emulator(sys.executable, "story.py"))
    assert output.returncode == 0, output.stdout + output.stderr


@pytest.mark.parametrize(("shop", "tests"), [("fastapi-shop", 19), ("django-shop", 4)])
@pytest.mark.parametrize("command", [beside_an_emulator(*PYTEST), PYTEST], ids=["exec", "in process"])
def test_the_shop_in_a_framework(shop: str, tests: int, command: tuple[str, ...]) -> None:
    ended = run(shop, *command)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert f"{tests} passed" in ended.stdout


def imported(file: Path) -> set[str]:
    """Return the packages that a module imports, by the names they are imported by."""
    nodes = list(ast.walk(ast.parse(file.read_text("utf-8"))))
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module]
    return {name.partition(".")[0] for name in names}


@pytest.mark.parametrize("shop", sorted(SHOPS.glob("*/requirements.txt")), ids=lambda file: file.parent.name)
def test_a_shop_installs_what_it_imports(shop: Path) -> None:
    """All is installed where these tests run; a reader has what requirements.txt names."""
    modules = sorted(shop.parent.glob("*.py"))
    ours = {module.stem for module in modules} | {"emulator"}
    others = set().union(*map(imported, modules)) - ours - sys.stdlib_module_names
    assert others
    assert others <= set(shop.read_text("utf-8").split())


ANOTHER_SUCCESS = re.compile(
    r'(?:sendStatus|writeHead)\(20[2-9]|status(?:_code)?=20[2-9]|"20[2-9] [A-Z]|return "", 20[2-9]'
)
"""How a receiver in Python or Node would answer an event with another success than 200."""


def test_receivers_of_the_guide_and_of_the_examples_answer_200() -> None:
    """Any other answer is a failed delivery (B-84)."""
    files = [*SHOPS.parent.glob("guide/*.md"), *SHOPS.rglob("*.py"), *SHOPS.rglob("*.*js")]
    texts = {str(file): file.read_text("utf-8") for file in files if "node_modules" not in file.parts}
    assert len(texts) > 50
    assert {file: found for file, text in texts.items() if (found := ANOTHER_SUCCESS.findall(text))} == {}
