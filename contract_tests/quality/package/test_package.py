"""The package: its requirements and description, and the parts of libraries in a wheel."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import distributions, packages_distributions
from pathlib import Path
from typing import Any

import phonenumbers
import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from phonenumbers import PhoneNumberType

from contract_tests import ROOT
from contract_tests.quality.pythons import SUPPORTED
from docs.libraries import copy_libraries, libraries
from emulator.core.vendored import library

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PROJECT = PYPROJECT["project"]
GROUPS = {
    "dependencies": PROJECT["dependencies"],
    **PROJECT["optional-dependencies"],
    **PYPROJECT["dependency-groups"],
}

PINS = [
    Requirement(line)
    for line in (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    if not line.startswith("#")
]
BUILD = [Requirement(requirement) for requirement in PYPROJECT["build-system"]["requires"]]

EXTRAS = {
    "check": ("schemathesis", ["compare", "document"]),
    "mcp": ("mcp", ["mcp"]),
    "postgres": ("psycopg", ["serve", "--port", "0", "--state", "postgresql://127.0.0.1/worlds"]),
}
"""Of each extra a module, and a command that needs it, though its help does not."""

WITHOUT = """
import sys

class Missing:
    def find_spec(self, name, *_):
        if name.split(".")[0] in {missing!r}:
            raise ModuleNotFoundError(name=name)

sys.meta_path.insert(0, Missing())
"""


def test_constraints_pin_each_package_to_a_release_that_its_requirements_allow() -> None:
    for pin in (*PINS, *BUILD):
        assert ([specifier.operator for specifier in pin.specifier], pin.url) == (["=="], None), pin
    for requirement in (Requirement(line) for group in GROUPS.values() for line in group):
        pins = [
            pin
            for pin in PINS
            if canonicalize_name(pin.name) == canonicalize_name(requirement.name)
        ]
        assert pins, f"python -m contract_tests.quality.constraints has to pin {requirement}"
        assert [
            pin
            for pin in pins
            if not all(requirement.specifier.contains(own.version) for own in pin.specifier)
        ] == []


def test_a_build_takes_what_the_tests_run_with_and_all_that_it_needs() -> None:
    """So a wheel's data of languages and phone numbers, copied at a build, are the tested ones."""
    assert {(requirement.name, requirement.specifier) for requirement in BUILD} <= {
        (pin.name, pin.specifier) for pin in PINS
    }
    named = {canonicalize_name(requirement.name) for requirement in BUILD}
    installed = {
        canonicalize_name(distribution.name): distribution for distribution in distributions()
    }
    needed = {
        canonicalize_name(requirement.name)
        for name in named & installed.keys()
        for requirement in map(Requirement, installed[name].requires or ())
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""})
    }
    assert needed - named == set()
    modules = packages_distributions().items()
    others = {
        module
        for module, owners in modules
        if not named & {canonicalize_name(owner) for owner in owners}
    }
    code = WITHOUT.format(missing=others - {"emulator"})
    code += "from emulator.document.bundles import fresh_bundles\nfresh_bundles()"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_the_supported_pythons_are_those_that_are_tested() -> None:
    named = [
        classifier.rpartition(" ")[2]
        for classifier in PROJECT["classifiers"]
        if re.search(r"Python :: 3\.\d", classifier)
    ]
    jobs = yaml.safe_load((ROOT / ".github/workflows/systems.yml").read_text("utf-8"))["jobs"]
    assert named == jobs["tests"]["strategy"]["matrix"]["python"] == list(SUPPORTED)


def test_each_extra_is_in_the_table_of_the_guide() -> None:
    named = re.findall(r"^\| `(\w+)` \|", (ROOT / "docs/guide/install.md").read_text("utf-8"), re.M)
    assert (
        sorted(named)
        == sorted(EXTRAS)
        == sorted(PROJECT["optional-dependencies"].keys() - {"test", "lint"})
    )


BYTECODE = {name: value for name, value in os.environ.items() if name == "PYTHONPYCACHEPREFIX"}
"""The variable by which a process finds the bytecode that another has left, if there is one."""


@pytest.mark.parametrize(
    "extra",
    [
        # A server is half started before it finds out.
        pytest.param(extra, marks=[pytest.mark.long] if extra == "postgres" else [])
        for extra in EXTRAS
    ],
)
def test_a_command_that_needs_an_extra_says_how_to_install_it(extra: str, tmp_path: Path) -> None:
    module, arguments = EXTRAS[extra]
    code = f"{WITHOUT.format(missing={module})}from emulator.cli.main import main, run\n"
    code += f"assert not run([{arguments[0]!r}, '--help'])\nmain({arguments!r})"
    ended = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), **BYTECODE},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (ended.returncode, ended.stderr.count("\n")) == (2, 1), ended.stderr
    assert f'pip install "payments-emulator[{extra}]"' in ended.stderr


# -- the parts of libraries that a wheel has inside do what the whole libraries do

SAMPLES = """
import json, sys
from emulator.document.iso_codes import countries
from emulator.presentation.languages import catalogs
from emulator.presentation.languages.language import language_of
from emulator.resources.customers.payment_details import phone_details

def written(code):
    language = language_of(code)
    amounts = (0, 1, -5, 1999, 5_000, 123_456_789)
    texts = ("1,50", "1.50", "1 234", "1,234.5", "1.234,5", "x")
    for currency in ("XAF", "EUR", "USD", "TND", "JPY", "CLF"):
        yield from (language.money(amount, currency) for amount in amounts)
        yield from (language.parse_amount(text, currency) for text in texts)
    for day in ("2024-02-29", "2026-01-31", "2026-12-01"):
        yield from (language.day(day), language.instant(f"{day}T23:04:05+00:00"))
        yield language.distance(f"{day}T00:00:00+00:00", "2026-01-31T09:00:00+00:00")
    yield from (language.span(seconds) for seconds in (1, 59, 3600, 90_000, 10**7, 10**9))
    for interval in ("day", "week", "month", "year"):
        yield from (language.period(interval, count) for count in (1, 2, 12))
        yield from (language.every(interval, count) for count in (1, 3))
    yield [language.country(code) for code in sorted(countries())]

print(json.dumps({
    "written": {code: list(written(code)) for code in catalogs.languages()},
    "phones": [phone_details(number) for number in json.load(sys.stdin)],
    "loaded": sorted(name for name in ("babel", "phonenumbers") if name in sys.modules),
}))
"""


def numbers() -> list[str]:
    """Return a number of each kind of each region, and some of no country."""
    kinds = (
        PhoneNumberType.MOBILE,
        PhoneNumberType.FIXED_LINE,
        PhoneNumberType.VOIP,
        PhoneNumberType.TOLL_FREE,
    )
    regions = sorted(phonenumbers.SUPPORTED_REGIONS)
    examples = [
        phonenumbers.example_number_for_type(region, kind) for region in regions for kind in kinds
    ]
    written = [
        phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)
        for number in examples
        if number
    ]
    return [*written, "+24177000000", "+999123456", "+8001234567", "+1234567", "+123456789012345"]


def results(folder: Path) -> Any:
    """What the code in the folder says of the samples."""
    command = [sys.executable, "-c", SAMPLES]
    input_numbers = json.dumps(numbers())
    return json.loads(
        subprocess.run(
            command, cwd=folder, input=input_numbers, stdout=-1, text=True, check=True
        ).stdout
    )


@pytest.mark.long
def test_the_copies_say_what_the_libraries_say_and_are_small(tmp_path: Path) -> None:
    """The libraries take 50 MiB, and once more as much when they are compiled."""
    vendor = tmp_path / "emulator" / "vendor"
    shutil.copytree(ROOT / "emulator", vendor.parent, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "fixtures", vendor.parent / "fixtures")
    copy_libraries(vendor, ["en", "fr"])
    assert sum(file.stat().st_size for file in vendor.rglob("*") if file.is_file()) < 8 * 2**20
    assert [
        copy.name for copy in libraries([]) if not list((vendor / copy.name).glob("LICENSE*"))
    ] == []
    explorer = {file.name for file in (vendor / "flask_swagger_ui").rglob("*") if file.is_file()}
    assert explorer == {"swagger-ui-bundle.js", "swagger-ui.css", "LICENSE"}
    ours, theirs = results(tmp_path), results(ROOT)
    assert (ours.pop("loaded"), theirs.pop("loaded")) == ([], ["babel", "phonenumbers"])
    assert len({phone["operator"] for phone in theirs["phones"]}) > 100
    assert ours == theirs


def test_a_checkout_without_the_libraries_says_what_to_install() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"pip install -e '\.\[test\]'"):
        library("no_such_library")
