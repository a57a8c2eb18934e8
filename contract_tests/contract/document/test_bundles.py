"""The bundles give a program its documents quickly, wherever it is installed, never old ones."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from contract_tests import ROOT
from contract_tests.contract.document.reader import Document
from emulator.document import bundles
from emulator.document.bundle import DocumentError, bundle, plural
from emulator.document.tree import fragment, pointer_of

LOAD = "import sys; from emulator.document import bundles; "
TITLE = LOAD + "print(bundles.load('service')['info']['title'].split()[0], 'yaml' in sys.modules)"
FINGERPRINT = LOAD + "print(bundles._fingerprint())"
MODULES = (
    LOAD
    + "from emulator.document import bundle; "
    + "print([module.__file__ for name, module in sys.modules.items() if"
    " name.startswith('emulator.')])"
)


@pytest.mark.parametrize("name", bundles.SOURCES)
def test_it_loads_what_the_bundler_makes(name: str, documents: dict[str, Document]) -> None:
    assert bundles.load(name) == documents[name]
    assert bundles.load(f"{name}-3.1")["openapi"] == "3.1.0"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of what the documents are made from, without bundles."""
    for name, ignored in (("emulator", "__pycache__"), ("openapi", "dist"), ("fixtures", "fonts")):
        shutil.copytree(
            ROOT / name, tmp_path / "checkout" / name, ignore=shutil.ignore_patterns(ignored)
        )
    return tmp_path / "checkout"


def run(script: str, tree: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tree, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def entitle(tree: Path, title: str) -> None:
    """Give the service's document another title, but keep its size and its time."""
    file = tree / "openapi" / "service.yaml"
    before = file.stat()
    file.write_text(
        re.sub(r"title: \w+", f"title: {title}", file.read_text("utf-8"), count=1), "utf-8"
    )
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.long
def test_a_checkout_makes_its_bundles_when_they_are_missing_or_old(checkout: Path) -> None:
    """Several processes may begin at once; no YAML for current bundles; a wheel carries them."""
    dist = checkout / "openapi" / "dist"
    with ThreadPoolExecutor() as pool:
        assert {
            title.split()[0] for title in pool.map(lambda _: run(TITLE, checkout), range(2))
        } == {"Payments"}
    assert {file.suffix for file in dist.iterdir()} == {".json", ".sha256"}
    written = (dist / "service.json").stat().st_ino
    assert run(TITLE, checkout) == "Payments False"
    assert (dist / "service.json").stat().st_ino == written
    entitle(checkout, "Paiments")
    assert run(TITLE, checkout) == "Paiments True"
    assert json.loads((dist / "service.json").read_text("utf-8"))["info"]["title"].startswith(
        "Paiments"
    )
    shutil.move(checkout / "openapi", checkout / "emulator" / "openapi")
    entitle(checkout / "emulator", "Elsewhere")
    assert run(TITLE, checkout) == "Paiments False"


@pytest.mark.long
def test_a_change_of_any_module_that_makes_them_makes_them_again(checkout: Path) -> None:
    made_from = run(FINGERPRINT, checkout)
    for file in map(Path, ast.literal_eval(run(MODULES, checkout))):
        if file.name != "__init__.py":
            file.write_text(file.read_text("utf-8") + "# changed\n", "utf-8")
            before, made_from = made_from, run(FINGERPRINT, checkout)
            assert made_from != before, file


def test_a_checkout_that_may_only_be_read_has_its_documents(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def forbidden(*arguments: Any) -> None:
        raise PermissionError

    monkeypatch.setattr(bundles, "_write", forbidden)
    monkeypatch.setattr(bundles, "fresh_bundles", lambda: {"service": '{"openapi": "3.0.3"}\n'})
    monkeypatch.setattr(bundles, "OPENAPI", tmp_path)
    assert bundles.load("service") == {"openapi": "3.0.3"}


# -- the bundler on documents of a few lines: what it joins, and what it rejects


Files = dict[str, str]
Bundled = Callable[[Files], Any]
HEAD = "openapi: 3.0.3\ninfo: {title: Tiny, version: v1}\n"


@pytest.fixture
def bundled(tmp_path: Path) -> Bundled:
    """Write and bundle a document's files; a minimal head precedes ``service.yaml``'s content."""

    def made(files: Files) -> Any:
        for name, text in ({"service.yaml": "paths: {}\n"} | files).items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(HEAD * (name == "service.yaml") + text, encoding="utf-8")
        return bundle(tmp_path / "service.yaml")

    return made


def hooked(reference: str) -> Files:
    return {
        "service.yaml": f"paths: {{}}\nx-webhooks:\n  ping: {{schema: {{$ref: {reference}}}}}\n"
    }


def schemas(document: dict[str, Any]) -> Any:
    return document["components"]["schemas"]


TWO_SCHEMAS = {
    "service.yaml": (
        "paths: {}\nx-webhooks:\n  second: {schema: {$ref: schemas/B.yaml}}\n"
        "  first: {schema: {$ref: schemas/A.yaml}}\n"
    ),
    **dict.fromkeys(
        ("schemas/B.yaml", "schemas/A.yaml"),
        "example:\n  day: 2026-01-31\n  instant: 2026-01-31T10:00:00Z\n  answer: 42\n",
    ),
}


def test_the_order_is_the_authors(bundled: Bundled) -> None:
    document = bundled(TWO_SCHEMAS)
    assert list(document) == ["openapi", "info", "paths", "x-webhooks", "components"]
    assert list(document["x-webhooks"]) == ["second", "first"]


def test_components_are_sorted(bundled: Bundled) -> None:
    assert list(schemas(bundled(TWO_SCHEMAS))) == ["A", "B"]


def test_dates_stay_strings(bundled: Bundled) -> None:
    assert schemas(bundled(TWO_SCHEMAS))["A"]["example"] == {
        "day": "2026-01-31",
        "instant": "2026-01-31T10:00:00Z",
        "answer": 42,
    }


def test_a_bundle_is_the_same_each_time(bundled: Bundled) -> None:
    assert json.dumps(bundled(TWO_SCHEMAS)) == json.dumps(bundled(TWO_SCHEMAS))


REJECTED = [
    (hooked("schemas/Gone.yaml"), "service.yaml: schemas/Gone.yaml: there is no such file"),
    (
        hooked("resources/cats.yaml#/dogs") | {"resources/cats.yaml": "cats: {}\n"},
        "service.yaml: resources/cats.yaml#/dogs: the file has no key dogs",
    ),
    (
        {
            "service.yaml": (
                "paths: {}\nx-webhooks: {a: {$ref: schemas/A.yaml, description: Lost.}}\n"
            )
        },
        "service.yaml: schemas/A.yaml: a $ref stands alone",
    ),
    (
        hooked("schemas/A.yaml")
        | {"schemas/A.yaml": "type: object\nproperties: {}\ntype: string\n"},
        "schemas/A.yaml: the key type is written twice",
    ),
    (
        hooked("schemas/A.yaml") | {"schemas/A.yaml": "on: {}\n"},
        "schemas/A.yaml: the key on is not a string",
    ),
]


@pytest.mark.parametrize(("files", "message"), REJECTED)
def test_an_error_names_its_file_and_reference(
    bundled: Bundled, files: Files, message: str
) -> None:
    with pytest.raises(DocumentError, match=re.escape(message)):
        bundled(files)


# -- References within a document lead where JSON pointers say


POINTERS = [
    ("#", ()),
    ("#/paths/~1reset", ("paths", "/reset")),
    ("#/paths/a~0b", ("paths", "a~b")),
    ("#/a/~01", ("a", "~1")),
]


@pytest.mark.parametrize(("reference", "steps"), POINTERS)
def test_a_pointer_reads_the_escapes(reference: str, steps: tuple[str, ...]) -> None:
    assert pointer_of(reference) == steps


@pytest.mark.parametrize(("reference", "steps"), POINTERS)
def test_a_fragment_writes_the_escapes(reference: str, steps: tuple[str, ...]) -> None:
    assert fragment(steps) == reference


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Customer", "customers"),
        ("WebhookDelivery", "webhook deliveries"),
        ("GiftKey", "gift keys"),
        ("Address", "addresses"),
    ],
)
def test_a_list_is_described_in_the_plural(name: str, words: str) -> None:
    assert plural(name) == words
