"""Example shops with one mistake each: a sweep names it. ``python -m contract_tests.surfaces.checks.app`` tries all."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest

from contract_tests.surfaces.checks.app.broken import EXAMPLES, NODE_SHOPS, PYTHON_SHOPS, BrokenShop, source
from emulator.testing import Emulator


@pytest.fixture
def payments() -> Iterator[Emulator]:
    with Emulator(clock="2026-01-01T00:00:00Z", seed=7) as emulator:
        yield emulator


def story_of(shop_source: str, monkeypatch: pytest.MonkeyPatch) -> Callable[[Emulator], Any]:
    """Return the story of the Python example with this source of its shop, which loses no time between attempts."""
    shop, story = ModuleType("shop"), ModuleType("story")
    exec(shop_source, shop.__dict__)
    shop.__dict__["PAUSES"] = (0.01, 0.01, 0.01)
    monkeypatch.setitem(sys.modules, "shop", shop)
    exec((EXAMPLES / "python-shop/story.py").read_text("utf-8"), story.__dict__)
    played: Callable[[Emulator], Any] = story.__dict__["story"]
    return played


def test_the_sound_shop_ends_the_same(payments: Emulator, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the cases that find the mistakes; nor does the audit find anything."""
    sound = (EXAMPLES / "python-shop/shop.py").read_text("utf-8")
    cases = sorted({case for shop in PYTHON_SHOPS for case in shop.cases})
    report = payments.test_app(story_of(sound, monkeypatch), only=cases)
    assert (report.runs, report.unreached, report.audit) == (2 + len(cases), [], [])


@pytest.mark.parametrize("shop", NODE_SHOPS, ids=lambda shop: shop.mistake)
def test_the_shop_in_node_has_what_is_to_be_broken(shop: BrokenShop) -> None:
    """Under the command of this folder it is swept; here only the changes are made."""
    assert source(shop)


def test_both_shops_have_the_same_ten_mistakes() -> None:
    assert [shop.mistake for shop in PYTHON_SHOPS] == [shop.mistake for shop in NODE_SHOPS]
    assert len(PYTHON_SHOPS) == 10
