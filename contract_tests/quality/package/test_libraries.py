"""The parts of libraries that a wheel has inside do what the whole libraries do."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import phonenumbers
import pytest
from phonenumbers import PhoneNumberType

from contract_tests.quality.package.copier import ROOT, copier
from emulator.core.vendored import library

MEBIBYTE = 2**20

SAMPLES = """
import json, sys
from datetime import datetime
from emulator.document.iso_codes import countries
from emulator.presentation.languages import catalogs
from emulator.presentation.languages.language import language_of
from emulator.resources.customers.payment_details import phone_details

def written(code):
    language = language_of(code)
    for currency in ("XAF", "EUR", "USD", "TND", "JPY", "CLF"):
        for amount in (0, 1, -5, 1999, 5_000, 123_456_789):
            yield language.money(amount, currency)
        for text in ("1,50", "1.50", "1 234", "1,234.5", "1.234,5", "x", "0.001"):
            yield language.parse_amount(text, currency)
    for day in ("2024-02-29", "2026-01-31", "2026-12-01"):
        yield from (language.day(day), language.instant(f"{day}T23:04:05+00:00"))
        yield language.time(f"{day}T00:00:00+00:00")
        yield language.distance(f"{day}T00:00:00+00:00", "2026-01-31T09:00:00+00:00")
    for seconds in (1, 59, 3600, 90_000, 10**7, 10**9):
        yield language.span(seconds)
    for interval in ("day", "week", "month", "year"):
        yield from (language.period(interval, count) for count in (1, 2, 12))
        yield from (language.every(interval, count) for count in (1, 3))
    yield language.name
    yield [language.country(code) for code in sorted(countries())]
    yield language.gettext("Pay")

found = {
    "written": {code: list(written(code)) for code in catalogs.languages()},
    "phones": [phone_details(number) for number in json.load(sys.stdin)],
    "loaded": sorted(name for name in ("babel", "phonenumbers") if name in sys.modules),
}
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package as a wheel has it, its copies of libraries included."""
    tree = tmp_path_factory.mktemp("wheel")
    shutil.copytree(ROOT / "emulator", tree / "emulator", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "fixtures", tree / "emulator" / "fixtures")
    copier().copy_libraries(tree / "emulator" / "vendor", ["en", "fr"])
    return tree


def numbers() -> list[str]:
    """Return a number of each kind of each region, and some of no country."""
    kinds = (PhoneNumberType.MOBILE, PhoneNumberType.FIXED_LINE, PhoneNumberType.VOIP, PhoneNumberType.TOLL_FREE)
    examples = [
        phonenumbers.example_number_for_type(region, kind)
        for region in sorted(phonenumbers.SUPPORTED_REGIONS)
        for kind in kinds
    ]
    written = [phonenumbers.format_number(each, phonenumbers.PhoneNumberFormat.E164) for each in examples if each]
    return [*written, "+24177000000", "+999123456", "+8001234567", "+1234567", "+123456789012345"]


def results(folder: Path) -> Any:
    """What the code in the folder says of the samples."""
    done = subprocess.run(
        [sys.executable, "-c", SAMPLES],
        cwd=folder,
        input=json.dumps(numbers()),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_copies_say_what_the_libraries_say(package: Path) -> None:
    ours, theirs = results(package), results(ROOT)
    assert ours.pop("loaded") == []
    assert theirs.pop("loaded") == ["babel", "phonenumbers"]
    assert len({phone["operator"] for phone in theirs["phones"]}) > 100
    assert ours == theirs


def test_each_copy_has_its_licence(package: Path) -> None:
    for copy in copier().libraries([]):
        assert list((package / "emulator" / "vendor" / copy.name).glob("LICENSE*")), copy.name


def test_the_copies_are_small(package: Path) -> None:
    """The libraries take 50 MiB, and once more as much when they are compiled."""
    size = sum(file.stat().st_size for file in (package / "emulator" / "vendor").rglob("*") if file.is_file())
    assert size < 8 * MEBIBYTE


def test_the_explorer_is_among_them(package: Path) -> None:
    names = {file.name for file in (package / "emulator" / "vendor" / "flask_swagger_ui").rglob("*") if file.is_file()}
    assert {"swagger-ui-bundle.js", "swagger-ui.css", "LICENSE"} == names


def test_a_checkout_without_the_libraries_says_what_to_install() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"pip install -e '\.\[test\]'"):
        library("no_such_library")
