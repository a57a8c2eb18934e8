"""The store gives a running program its documents quickly, wherever the program is installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from contract_tests.document.reader import Document
from emulator import places
from emulator.document import store


@pytest.mark.parametrize("name", store.SOURCES)
def test_it_loads_what_the_bundler_makes(name: str, documents: dict[str, Document]) -> None:
    assert store.load(name) == documents[name]


def test_it_loads_the_twin() -> None:
    assert store.load("service-3.1")["openapi"] == "3.1.0"


def test_loading_does_not_import_yaml() -> None:
    script = "import sys; from emulator.document import store; store.load('service'); print('yaml' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_bundles_are_written_where_they_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "fresh_bundles", lambda: {"service": '{"openapi": "3.0.3"}\n'})
    monkeypatch.setattr(store, "openapi_folder", lambda: tmp_path)
    assert store.write_bundles() == [tmp_path / "dist" / "service.json"]
    assert store.load("service") == {"openapi": "3.0.3"}


def test_in_a_checkout_the_folders_lie_beside_the_package() -> None:
    root = Path(places.__file__).resolve().parents[1]
    assert (places.openapi_folder(), places.fixtures_folder()) == (root / "openapi", root / "fixtures")


def test_in_a_wheel_the_folders_lie_inside_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("openapi", "fixtures"):
        (tmp_path / "emulator" / name).mkdir(parents=True)
    monkeypatch.setattr(places, "PACKAGE", tmp_path / "emulator")
    inside = (tmp_path / "emulator" / "openapi", tmp_path / "emulator" / "fixtures")
    assert (places.openapi_folder(), places.fixtures_folder()) == inside
