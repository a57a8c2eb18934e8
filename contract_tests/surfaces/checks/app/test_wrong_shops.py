"""Wrong shops, each with one mistake that people make: the examination that names it in its first three lines.

Most sell credits and are in ``test_credits``; ten are the example shop in Python with a mistake; five are a club.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from contract_tests.surfaces.checks.app.broken import EXAMPLES, PYTHON_SHOPS, BrokenShop, source
from contract_tests.surfaces.checks.app.membership import a_members_test, scenario
from emulator.checks.suite.search import Mutant, MutantRun, SuiteReport, try_mutants
from emulator.checks.suite.table import MUTANTS
from emulator.checks.suite.wrong_service import WrongService
from emulator.testing import Emulator, LocalServer

EXAMPLE = {
    "no Idempotency-Key": "A request is sent again without an Idempotency-Key",
    "another Idempotency-Key for each attempt": "A request is sent again with another Idempotency-Key",
    "webhooks trusted without verification": "A webhook that was tampered with was accepted",
    "an event handled twice": "An event that comes twice is handled twice",
    "an older event undoes a newer one": "An event that comes late undoes a newer state",
    "a payment assumed from the return of the buyer": "an order was shipped that nobody paid",
    "a 429 not tried again": "A 429 is not retried after its delay",
    "the amount taken from the client": "the buyer paid 200 for what costs 4000",
    "a refund asked for twice": "2 refunds were made of one",
    "a 4xx tried again without end": "A request with a permanent error was sent again unchanged",
}
"""By mistake in the example shop: what `test app` says of it."""

CLUB = {
    "lets an old status overwrite a newer one": ("stale", "An event that comes late undoes a newer state"),
    "never asks": ("lost", "What a lost webhook would have said is never asked for"),
    "trusts the order of response and webhook": ("slow", "A webhook that arrives before the response is not handled"),
}
"""By mistake of the club: a kind of fault, and what `test app` says of it."""

TESTS = {
    "gives access when the subscription is created": ("first-charge-fails", "the first charge of a subscription fails"),
    "takes a 2xx for a payment": ("payment-failed-with-2xx", "is answered 2xx, and the payment has failed"),
}
"""By mistake of the club: a mutant, and what `test suite` says of the club's tests, which pass."""


def named(text: str) -> str:
    return "\n".join(text.splitlines()[:3])


def story_of(shop_source: str, monkeypatch: pytest.MonkeyPatch) -> Callable[[Emulator], Any]:
    """Return the story of the Python example with this source of its shop, which loses no time between attempts."""
    shop, story = ModuleType("shop"), ModuleType("story")
    exec(shop_source, shop.__dict__)
    shop.__dict__["PAUSES"] = (0.01, 0.01, 0.01)
    monkeypatch.setitem(sys.modules, "shop", shop)
    exec((EXAMPLES / "python-shop/story.py").read_text("utf-8"), story.__dict__)
    played: Callable[[Emulator], Any] = story.__dict__["story"]
    return played


def examined(play: object, only: object) -> str:
    with Emulator(clock="2026-01-01T00:00:00Z", seed=7) as payments:
        try:
            return payments.test_app(play, only=only).text()  # type: ignore[arg-type]  # of any of the shops
        except AssertionError as error:
            return str(error)


@pytest.mark.parametrize("shop", PYTHON_SHOPS, ids=lambda shop: shop.mistake)
def test_app_names_the_mistake_of_the_example_shop(shop: BrokenShop, monkeypatch: pytest.MonkeyPatch) -> None:
    text = examined(story_of(source(shop), monkeypatch), shop.cases)
    assert EXAMPLE[shop.mistake] in named(text), text
    for sentence in shop.sentences:
        assert sentence in text, text


def test_the_sound_shop_ends_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the cases that find the mistakes; nor does the audit find anything."""
    sound = (EXAMPLES / "python-shop/shop.py").read_text("utf-8")
    cases = sorted({case for shop in PYTHON_SHOPS for case in shop.cases})
    with Emulator(clock="2026-01-01T00:00:00Z", seed=7) as payments:
        report = payments.test_app(story_of(sound, monkeypatch), only=cases)
    assert (report.runs, report.unreached, report.audit) == (2 + len(cases), [], [])


@pytest.mark.parametrize("mistake", CLUB)
def test_app_names_the_mistake_of_the_club(mistake: str) -> None:
    kind, sentence = CLUB[mistake]
    looks_at_once = kind == "slow"
    text = examined(scenario(mistake, looks_at_once=looks_at_once), [kind])
    assert sentence in named(text), text
    assert examined(scenario("", looks_at_once=looks_at_once), [kind]).startswith("No problem in ")


def suite_report(mistake: str, row: str) -> SuiteReport:
    """What `test suite` says of the club's test, with one mutant."""

    def play(mutant: Mutant | None) -> MutantRun:
        service = WrongService([MUTANTS[row]], *([mutant] if mutant else []))
        server = LocalServer(7, parts=service.parts())
        try:
            with Emulator(clock="2026-01-01T00:00:00Z", server=server) as payments:
                a_members_test(mistake)(payments)
        except AssertionError as error:
            return MutantRun(str(error), service.reached)
        finally:
            server.stop()
        return MutantRun(None, service.reached)

    return try_mutants(play, MUTANTS, only=[row])


@pytest.mark.parametrize("mistake", TESTS)
def test_suite_names_what_survives_the_tests_of_the_club(mistake: str) -> None:
    row, sentence = TESTS[mistake]
    assert sentence in named(suite_report(mistake, row).report().text())
    assert [each.name for each in suite_report("", row).caught] == [row], "the tests of the sound club catch it"


@pytest.mark.long
def test_the_sound_club_ends_the_same() -> None:
    report = examined(
        scenario(""), ["stale", "lost", "slow", "together", "reissued", "days-later", "sent-together", "late"]
    )
    assert report.startswith("No problem in "), report
