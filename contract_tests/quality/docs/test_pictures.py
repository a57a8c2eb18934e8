"""The pictures of README and guide, which ``python -m docs.screenshots`` and ``python -m docs.recording`` make."""

from __future__ import annotations

import re

from contract_tests.quality.docs.pages import PAGES, ROOT
from docs import recording

FOLDER = ROOT / "docs" / "images"
MOST = 80_000
"""Bytes of a picture."""


def test_each_picture_is_small_and_has_two_themes() -> None:
    files = sorted(FOLDER.glob("*.webp"))
    names = {file.name.rpartition("-")[0] for file in files}
    assert sorted(file.name for file in files) == sorted(
        f"{n}-{theme}.webp" for n in names for theme in ("dark", "light")
    )
    assert len(files) == 12
    assert [file.name for file in files if file.stat().st_size > MOST] == []


def test_every_picture_that_a_page_shows_exists() -> None:
    shown = {name for page in PAGES for name in re.findall(r'images/([\w.-]+)"', page.read_text("utf-8"))}
    assert len(shown) >= 10
    assert shown <= {file.name for file in FOLDER.iterdir()}


def test_the_recording_shows_what_the_commands_print() -> None:
    """And it needs nothing from elsewhere."""
    shown = recording.FILE.read_text("utf-8")
    assert shown == recording.recorded(), "python -m docs.recording makes it again"
    assert re.findall(r"https?://[^\"<]+", shown) == ["http://www.w3.org/2000/svg"]
    assert len(shown.encode()) <= MOST
    last = max(float(percent) for percent in re.findall(r"@keyframes l\d+\{0%\{opacity:0\}([\d.]+)%", shown))
    assert last / 100 * recording.SECONDS <= 2, "all of it is seen from the second second on"
