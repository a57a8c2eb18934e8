"""What the package says of itself: supported Pythons, extras, and few dependencies."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from contract_tests import ROOT
from contract_tests.quality.pythons import SUPPORTED

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]

MOST_DEPENDENCIES = 14

EXTRAS = {
    "check": ("schemathesis", ["compare", "document"]),
    "mcp": ("mcp", ["mcp"]),
    "otel": ("opentelemetry", ["serve", "--port", "0", "--otlp", "http://127.0.0.1:1"]),
    "smtp": ("aiosmtplib", ["serve", "--port", "0", "--smtp", "smtp://127.0.0.1:1"]),
    "sql": ("sqlalchemy", ["serve", "--port", "0", "--state", "sqlite:///worlds.db"]),
}
"""Of each extra a module, and a command that needs it."""

WITHOUT = """
import sys

class Missing:
    def find_spec(self, name, *_):
        if name.split(".")[0] == {module!r}:
            raise ModuleNotFoundError(name=name)

sys.meta_path.insert(0, Missing())
from emulator.cli.main import main
main({arguments!r})
"""


def test_it_depends_on_few_packages() -> None:
    assert len(PROJECT["dependencies"]) <= MOST_DEPENDENCIES


def test_the_supported_pythons_are_those_that_are_tested() -> None:
    named = [each.rpartition(" ")[2] for each in PROJECT["classifiers"] if re.search(r"Python :: 3\.\d", each)]
    jobs = yaml.safe_load((ROOT / ".github/workflows/systems.yml").read_text("utf-8"))["jobs"]
    assert named == jobs["tests"]["strategy"]["matrix"]["python"] == list(SUPPORTED)


def test_each_extra_is_in_the_table_of_the_guide() -> None:
    named = re.findall(r"^\| `(\w+)` \|", (ROOT / "docs/guide/install.md").read_text("utf-8"), re.M)
    assert sorted(named) == sorted(EXTRAS) == sorted(PROJECT["optional-dependencies"].keys() - {"test"})


@pytest.mark.parametrize("extra", EXTRAS)
def test_a_command_that_needs_an_extra_says_how_to_install_it(extra: str, tmp_path: Path) -> None:
    module, arguments = EXTRAS[extra]
    ended = subprocess.run(
        [sys.executable, "-c", WITHOUT.format(module=module, arguments=arguments)],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (ended.returncode, ended.stderr.count("\n")) == (2, 1), ended.stderr
    assert f'pip install "payments-emulator[{extra}]"' in ended.stderr
