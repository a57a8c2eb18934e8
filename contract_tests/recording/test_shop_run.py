"""Everything that the Python example shop does, recorded and played again: every answer is equal byte for byte."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

from contract_tests.cli.terminal import run
from contract_tests.node.__main__ import environment
from contract_tests.shops import SHOPS

CONFTEST = """
import itertools
import pytest

NUMBERS = itertools.count(1)

@pytest.fixture(autouse=True)
def _recorded(payments):
    yield
    with open(f"{next(NUMBERS)}.har", "w", encoding="utf-8") as file:
        file.write(payments.recording())
"""

STORY = """
import story

def test_story(payments):
    story.story(payments)
"""


def test_the_whole_run_of_the_shop_is_played_byte_for_byte(tmp_path: Path) -> None:
    """Its tests and its story: lost answers, failing payments, webhooks that come twice, and refunds are among them."""
    shop = tmp_path / "shop"
    shutil.copytree(SHOPS["python"].path, shop, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    (shop / "conftest.py").write_text(CONFTEST, "utf-8")
    (shop / "test_story.py").write_text(STORY, "utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(
        command, cwd=shop, env=environment(shop), capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    files = sorted(shop.glob("*.har"))
    assert f"{len(files)} passed" in done.stdout
    numbers = [len(json.loads(file.read_text("utf-8"))["log"]["entries"]) for file in files]
    assert sum(numbers) > 60
    assert {file.name: run("play", str(file)).lines for file in files} == {
        file.name: [f"{number} requests played, {number} answers equal byte for byte, 0 differences"]
        for file, number in zip(files, numbers, strict=True)
    }
