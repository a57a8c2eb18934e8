"""What the package says of itself: supported Pythons, extras, and few dependencies."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib.metadata import distributions, packages_distributions
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from contract_tests import ROOT
from contract_tests.quality.pythons import SUPPORTED

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PROJECT = PYPROJECT["project"]

PINS = [
    Requirement(line) for line in (ROOT / "constraints.txt").read_text("utf-8").splitlines() if not line.startswith("#")
]
BUILD = [Requirement(each) for each in PYPROJECT["build-system"]["requires"]]

MOST_DEPENDENCIES = 16

EXTRAS = {
    "check": ("schemathesis", ["compare", "document"]),
    "mcp": ("mcp", ["mcp"]),
    "smtp": ("aiosmtplib", ["serve", "--port", "0", "--smtp", "smtp://127.0.0.1:1"]),
    "postgres": ("psycopg", ["serve", "--port", "0", "--state", "postgresql://127.0.0.1/worlds"]),
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


def test_constraints_and_build_requirements_pin_each_package_to_releases_and_to_no_place() -> None:
    for pin in (*PINS, *BUILD):
        assert [each.operator for each in pin.specifier] == ["=="], pin
        assert pin.url is None, pin


def test_a_build_takes_what_the_tests_run_with_and_all_that_it_needs() -> None:
    """So the data of languages and phone numbers in a wheel, which are copied at a build, are those that are tested."""
    assert {(each.name, each.specifier) for each in BUILD} <= {(each.name, each.specifier) for each in PINS}
    named = {canonicalize_name(each.name) for each in BUILD}
    installed = {canonicalize_name(each.name): each for each in distributions()}
    needed = {
        canonicalize_name(requirement.name)
        for name in named & installed.keys()
        for requirement in map(Requirement, installed[name].requires or ())
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""})
    }
    assert needed - named == set()


BUNDLED = """
import sys

class Missing:
    def find_spec(self, name, *_):
        if name.split(".")[0] in {others!r}:
            raise ModuleNotFoundError(name=name)

sys.meta_path.insert(0, Missing())
from emulator.document.bundles import fresh_bundles
fresh_bundles()
"""


def test_the_documents_are_made_with_what_a_build_takes() -> None:
    named = {canonicalize_name(each.name) for each in BUILD}
    modules = packages_distributions().items()
    others = {module for module, owners in modules if not named & {canonicalize_name(each) for each in owners}}
    subprocess.run([sys.executable, "-c", BUNDLED.format(others=others - {"emulator"})], cwd=ROOT, check=True)


@pytest.mark.long
def test_no_file_needs_the_compiled_reader_of_yaml() -> None:
    """PyYAML is installed without it where there is neither a wheel nor a compiler, and reads less than libyaml does."""
    for file in (each for folder in ("fixtures", "openapi") for each in (ROOT / folder).rglob("*.yaml")):
        text = file.read_text("utf-8")
        assert yaml.load(text, yaml.SafeLoader) == yaml.load(text, yaml.CSafeLoader), file


@pytest.mark.parametrize("group", ["dependencies", *PROJECT["optional-dependencies"], *PYPROJECT["dependency-groups"]])
def test_the_constraints_have_a_release_of_each_requirement_that_it_allows(group: str) -> None:
    groups = {
        "dependencies": PROJECT["dependencies"],
        **PROJECT["optional-dependencies"],
        **PYPROJECT["dependency-groups"],
    }
    for each in map(Requirement, groups[group]):
        pins = [pin for pin in PINS if canonicalize_name(pin.name) == canonicalize_name(each.name)]
        assert pins, f"python -m contract_tests.quality.constraints has to pin {each}"
        assert [pin for pin in pins if not all(map(each.specifier.contains, versions(pin)))] == []


def versions(pin: Requirement) -> list[str]:
    return [each.version for each in pin.specifier]


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
