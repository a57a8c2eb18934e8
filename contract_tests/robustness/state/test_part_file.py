"""The temporary file of a TinyDB state: made new each time, whatever somebody has put in its place."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from emulator.engine.storage.tinydb_file import AtomicStorage

TABLES = {"emulator": {"1": {"format": 2}}}


def test_a_link_in_its_place_is_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (tmp_path / ".l.json.part").symlink_to(victim)
    AtomicStorage(tmp_path / "l.json").write(TABLES)
    assert victim.read_text() == "mine"
    assert not (tmp_path / "l.json").is_symlink()


@pytest.mark.parametrize("mode", [0o666, 0o644])
def test_the_mode_of_a_file_in_its_place_is_not_taken_over(tmp_path: Path, mode: int) -> None:
    part = tmp_path / ".m.json.part"
    part.touch()
    part.chmod(mode)
    AtomicStorage(tmp_path / "m.json").write(TABLES)
    assert stat.S_IMODE((tmp_path / "m.json").stat().st_mode) == 0o600
