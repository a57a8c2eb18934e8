"""The store gives a running program its documents quickly, wherever the program is installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from contract_tests.document.reader import Document
from emulator import paths
from emulator.document import bundles


@pytest.mark.parametrize("name", bundles.SOURCES)
def test_it_loads_what_the_bundler_makes(name: str, documents: dict[str, Document]) -> None:
    assert bundles.load(name) == documents[name]


def test_it_loads_the_twin() -> None:
    assert bundles.load("service-3.1")["openapi"] == "3.1.0"


def test_loading_does_not_import_yaml() -> None:
    script = "import sys; from emulator.document import bundles; bundles.load('service'); print('yaml' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_bundles_are_written_where_they_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundles, "fresh_bundles", lambda: {"service": '{"openapi": "3.0.3"}\n'})
    monkeypatch.setattr(bundles, "openapi_folder", lambda: tmp_path)
    assert bundles.write_bundles() == [tmp_path / "dist" / "service.json"]
    assert bundles.load("service") == {"openapi": "3.0.3"}


def test_in_a_checkout_the_folders_lie_beside_the_package() -> None:
    root = Path(paths.__file__).resolve().parents[1]
    assert (paths.openapi_folder(), paths.fixtures_folder()) == (root / "openapi", root / "fixtures")


def test_in_a_wheel_the_folders_lie_inside_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("openapi", "fixtures"):
        (tmp_path / "emulator" / name).mkdir(parents=True)
    monkeypatch.setattr(paths, "PACKAGE", tmp_path / "emulator")
    inside = (tmp_path / "emulator" / "openapi", tmp_path / "emulator" / "fixtures")
    assert (paths.openapi_folder(), paths.fixtures_folder()) == inside
