"""The example shops in Go, Java and PHP: their tests pass under ``exec``, and their receivers and stories are sound.

``python -m contract_tests.surfaces.checks.app`` tries every fault; here are two that careless shops do not survive.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from contract_tests.support.shops import SHOPS, ExampleShop
from contract_tests.surfaces.cli.terminal import run as run_command
from contract_tests.surfaces.testing.test_examples import beside_an_emulator, run

pytestmark = pytest.mark.long

OTHERS = [shop for shop in SHOPS.values() if shop.tests]

FAULTS = ("--only=2:drop-after", "--only=12:slow")
"""The answer to an order is lost; the webhooks of a subscription come before its answer."""

SECRET = "whsec_4Kd8sF2hJ6lQ1wE5rT9yU3iO7pA0zX4c"


def each(shops: list[ExampleShop]) -> pytest.MarkDecorator:
    tried = [pytest.param(shop, marks=pytest.mark.needs(*shop.programs)) for shop in shops]
    return pytest.mark.parametrize("shop", tried, ids=[shop.language for shop in shops])


@each(OTHERS)
def test_its_tests_pass(shop: ExampleShop) -> None:
    ended = run(shop.folder, *beside_an_emulator(*shop.command(shop.tests)))
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert shop.passed in ended.stdout


@each([shop for shop in OTHERS if shop.checks])
def test_it_is_formatted_and_has_no_warnings(shop: ExampleShop) -> None:
    ended = run(shop.folder, *shop.checks)
    assert ended.returncode == 0, ended.stdout + ended.stderr


@each([shop for shop in OTHERS if shop.serve])
def test_its_story_ends_the_same(shop: ExampleShop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(shop.path)
    ended = run_command("test", "app", *FAULTS, "--", *shop.command(shop.story))
    assert ended.status == 0, ended.output + ended.errors
    assert ended.output.startswith("No problem in ")


@each([shop for shop in OTHERS if shop.serve])
def test_its_receiver_is_good(shop: ExampleShop, tmp_path: Path) -> None:
    """Served as its users serve it; its first line says where."""
    settings = {
        "PAYMENTS_URL": "http://127.0.0.1:1",
        "PAYMENTS_KEY": "",
        "PAYMENTS_WEBHOOK_SECRET": SECRET,
        "PORT": "0",
    }
    with subprocess.Popen(
        shop.command(shop.serve),
        cwd=shop.path,
        env={**os.environ, **settings, "SHOP_BOOK": str(tmp_path / "book.json")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        assert process.stdout
        found = re.search(r"http://[\d.:]+\d", process.stdout.readline())
        try:
            assert found
            ended = run_command("test", "receiver", f"{found[0]}/webhooks", "--secret", SECRET, "--timeout", "60")
        finally:
            process.kill()
    assert ended.status == 0, ended.output + ended.errors
