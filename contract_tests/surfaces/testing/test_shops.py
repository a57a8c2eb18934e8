"""The example shops: what ``test app`` finds in them, and those in Go and PHP whole, as their users run them.

``python -m contract_tests.surfaces.checks.app`` tries every fault; here are two that careless shops do not survive.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from contract_tests.support.shops import EXAMPLES, SHOPS, ExampleShop
from contract_tests.surfaces.cli.terminal import run as run_command
from contract_tests.surfaces.testing.test_examples import beside_an_emulator, run

pytestmark = pytest.mark.long

OTHERS = [shop for shop in SHOPS.values() if shop.tests]

FAULTS = ("2:drop-after", "12:slow")
"""The answer to an order is lost; the webhooks of a subscription come before its answer."""

FRAMEWORKS = [SHOPS[each] for each in ("fastapi", "django")]

SECRET = "whsec_4Kd8sF2hJ6lQ1wE5rT9yU3iO7pA0zX4c"


def each(shops: list[ExampleShop]) -> pytest.MarkDecorator:
    tried = [pytest.param(shop, marks=pytest.mark.needs(*shop.programs)) for shop in shops]
    return pytest.mark.parametrize("shop", tried, ids=[shop.language for shop in shops])


@pytest.fixture(autouse=True)
def this_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """``python`` is the one that these tests run in."""
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))


def sweep(shop: ExampleShop, story: tuple[str, ...], *only: str) -> str:
    """Return what ``test app`` says of a story of a shop, from the verdict on."""
    with contextlib.chdir(shop.path):
        ended = run_command("test", "app", *(f"--only={each}" for each in only), "--", *shop.command(story))
    return ended.output + ended.errors


def test_every_example_shop_has_a_story_that_its_reader_finds() -> None:
    """A shop that keeps all in memory cannot be killed, and says so."""
    assert {folder.name for folder in EXAMPLES.glob("*-shop")} == {shop.folder for shop in SHOPS.values()}
    for shop in SHOPS.values():
        page = " ".join((shop.path / "README.md").read_text("utf-8").split())
        assert "payments-emulator test app " in page
        assert ("--only killed -- " in page) == bool(shop.day)
        assert ("`killed` is not for it" in page) == (not shop.day)


@each(FRAMEWORKS)
def test_the_story_of_a_shop_in_a_framework_ends_the_same(shop: ExampleShop) -> None:
    report = sweep(shop, shop.story, "lost", "reissued")
    assert report.startswith("No problem in "), report
    assert "audit" not in report


@each([shop for shop in SHOPS.values() if shop.day])
def test_it_goes_on_where_it_was_killed(shop: ExampleShop) -> None:
    report = sweep(shop, shop.day, "killed")
    assert report.startswith("No problem in 12 cases.\n"), report


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
def test_its_story_ends_the_same(shop: ExampleShop) -> None:
    report = sweep(shop, shop.story, *FAULTS)
    assert report.startswith("No problem in "), report


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
