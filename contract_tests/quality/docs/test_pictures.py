"""The pictures of README and guide, which ``python -m docs.screenshots`` makes."""

from __future__ import annotations

import re

from contract_tests.quality.docs.pages import PAGES, ROOT

FOLDER = ROOT / "docs" / "images"
MOST = 80_000
"""Bytes of a picture."""


def test_each_picture_is_small_and_has_two_themes() -> None:
    files = sorted(FOLDER.iterdir())
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
