"""Everything that the Python example shop does, recorded: each recording is a test that passes."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from contract_tests.support.shops import SHOPS
from contract_tests.surfaces.node.__main__ import environment

CONFTEST = """
import itertools
import pytest

NUMBERS = itertools.count(1)

@pytest.fixture(autouse=True)
def _recorded(payments):
    yield
    with open(f"recorded_{next(NUMBERS)}.py", "w", encoding="utf-8") as file:
        file.write(payments.recording("pytest"))
"""

STORY = """
import story

def test_story(payments):
    story.story(payments)
"""


@pytest.mark.long
def test_the_whole_run_of_the_shop_is_done_again_by_its_recordings(tmp_path: Path) -> None:
    """Its tests and its story: lost answers, failing payments, webhooks that come twice, and refunds are among them."""
    shop = tmp_path / "shop"
    shutil.copytree(SHOPS["python"].path, shop, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    (shop / "conftest.py").write_text(CONFTEST, "utf-8")
    (shop / "test_story.py").write_text(STORY, "utf-8")
    done = outcome(shop)
    files = sorted(file.name for file in shop.glob("recorded_*.py"))
    assert f"{len(files)} passed" in done
    (shop / "conftest.py").unlink()
    assert f"{len(files)} passed" in outcome(shop, *files)


def outcome(shop: Path, *files: str) -> str:
    """What pytest prints about these files, or about all of the shop."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *files]
    done = subprocess.run(
        command, cwd=shop, env=environment(shop), capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
