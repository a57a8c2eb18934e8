"""The bundles give a running program its documents quickly, wherever it is installed, and never outdated ones."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from contract_tests import ROOT
from contract_tests.contract.document.reader import Document
from emulator.document import bundles, paths

TITLE = (
    "import json; from emulator.document import bundles; print(json.dumps(bundles.load('service')['info']['title']))"
)


@pytest.mark.parametrize("name", bundles.SOURCES)
def test_it_loads_what_the_bundler_makes(name: str, documents: dict[str, Document]) -> None:
    assert bundles.load(name) == documents[name]


def test_it_loads_the_twin() -> None:
    assert bundles.load("service-3.1")["openapi"] == "3.1.0"


def test_loading_current_bundles_does_not_import_yaml() -> None:
    bundles.load("service")
    script = "import sys; from emulator.document import bundles; bundles.load('service'); print('yaml' in sys.modules)"
    assert run(script, ROOT) == "False"


# A checkout


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of what the documents are made from, without bundles."""
    tree = tmp_path / "checkout"
    shutil.copytree(ROOT / "emulator", tree / "emulator", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "openapi", tree / "openapi", ignore=shutil.ignore_patterns("dist"))
    shutil.copytree(ROOT / "fixtures", tree / "fixtures", ignore=shutil.ignore_patterns("fonts"))
    return tree


def run(script: str, tree: Path) -> str:
    done = subprocess.run([sys.executable, "-c", script], cwd=tree, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def entitle(tree: Path, title: str) -> None:
    """Give the service's document another title. Nothing else changes, neither its size nor its time."""
    file = tree / "openapi" / "service.yaml"
    before = file.stat()
    file.write_text(file.read_text("utf-8").replace("title: Payments", f"title: {title}"), "utf-8")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


def test_a_checkout_makes_its_bundles_on_first_use_and_when_a_source_has_changed(checkout: Path) -> None:
    titles = []
    for title in ("Payments", "Paiments"):
        entitle(checkout, title)
        titles.append(json.loads(run(TITLE, checkout)).split()[0])
    assert titles == ["Payments", "Paiments"]
    written = json.loads((checkout / "openapi" / "dist" / "service.json").read_text("utf-8"))
    assert written["info"]["title"].startswith("Paiments")


def test_a_change_of_any_module_that_makes_them_makes_them_again(checkout: Path) -> None:
    loaded = (
        "import sys; print([module.__file__ for name, module in sys.modules.items() if name.startswith('emulator.')])"
    )
    fingerprint = "from emulator.document import bundles; print(bundles._fingerprint())"
    made_from = run(fingerprint, checkout)
    for file in map(Path, ast.literal_eval(run(f"from emulator.document import bundle, bundles; {loaded}", checkout))):
        if file.name != "__init__.py":
            file.write_text(file.read_text("utf-8") + "# changed\n", "utf-8")
            before, made_from = made_from, run(fingerprint, checkout)
            assert made_from != before, file


def test_current_bundles_are_not_written_again(checkout: Path) -> None:
    run(TITLE, checkout)
    before = (checkout / "openapi" / "dist" / "service.json").stat().st_ino
    run(TITLE, checkout)
    assert (checkout / "openapi" / "dist" / "service.json").stat().st_ino == before


def test_several_processes_may_begin_at_once(checkout: Path) -> None:
    with ThreadPoolExecutor() as pool:
        assert len(set(pool.map(lambda _: run(TITLE, checkout), range(3)))) == 1
    assert [
        file.suffix for file in (checkout / "openapi" / "dist").iterdir() if file.suffix not in (".json", ".sha256")
    ] == []


def test_a_checkout_that_may_only_be_read_has_its_documents(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def forbidden(*arguments: Any) -> None:
        raise PermissionError

    monkeypatch.setattr(bundles, "_write", forbidden)
    monkeypatch.setattr(bundles, "fresh_bundles", lambda: {"service": '{"openapi": "3.0.3"}\n'})
    monkeypatch.setattr(bundles, "openapi_folder", lambda: tmp_path)
    assert bundles.load("service") == {"openapi": "3.0.3"}


def test_bundles_are_written_where_they_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundles, "fresh_bundles", lambda: {"service": '{"openapi": "3.0.3"}\n'})
    monkeypatch.setattr(bundles, "openapi_folder", lambda: tmp_path)
    assert bundles.write_bundles() == [tmp_path / "dist" / "service.json"]
    assert bundles.load("service") == {"openapi": "3.0.3"}


def test_in_a_checkout_the_folders_lie_beside_the_package() -> None:
    assert (paths.openapi_folder(), paths.fixtures_folder()) == (ROOT / "openapi", ROOT / "fixtures")


# A wheel


def test_in_a_wheel_the_folders_lie_inside_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("openapi", "fixtures"):
        (tmp_path / "emulator" / name).mkdir(parents=True)
    monkeypatch.setattr(paths, "PACKAGE", tmp_path / "emulator")
    inside = (tmp_path / "emulator" / "openapi", tmp_path / "emulator" / "fixtures")
    assert (paths.openapi_folder(), paths.fixtures_folder()) == inside


def test_a_wheel_reads_the_bundles_that_it_carries(checkout: Path) -> None:
    run(TITLE, checkout)
    shutil.move(checkout / "openapi", checkout / "emulator" / "openapi")
    entitled = checkout / "emulator"
    entitle(entitled, "Elsewhere")
    assert json.loads(run(TITLE, checkout)).startswith("Payments")
