"""Each mutant is caught by a test of a thorough suite, which passes with the right service; weaker suites catch fewer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from contract_tests.surfaces.checks.suite.stories import CAUGHT_BY, Story, deposit, pay
from emulator.checks.runs import ONE_AT_A_TIME
from emulator.checks.suite.mutants import MUTANTS, Mutant
from emulator.checks.suite.search import MutantRun, SuiteReport, try_mutants
from emulator.checks.suite.wrong_service import WrongService
from emulator.testing import Emulator, LocalServer

Play = Callable[[Story, str], set[str]]


@pytest.fixture(scope="module")
def service() -> WrongService:
    return WrongService(MUTANTS.values())


@pytest.fixture(scope="module")
def server(service: WrongService) -> Iterator[LocalServer]:
    """One server for all mutants: only one of them is active at a time."""
    server = LocalServer(7, parts=service.parts())
    yield server
    server.stop()


@pytest.fixture
def play(service: WrongService, server: LocalServer) -> Iterator[Play]:
    """Plays a test in a new world, with a service that is wrong in one way or, with "", in none; what was reached."""

    def run(story: Story, row: str) -> set[str]:
        service.active, service.reached = [MUTANTS[row]] if row in MUTANTS else [], set()
        with Emulator(key=f"sk_test_{row or story.__name__}", clock="2026-01-01T00:00:00Z", server=server) as payments:
            story(payments)
        return service.reached

    yield run
    service.active = []


# -- each mutant


STORIES = {story.__name__: story for story in CAUGHT_BY.values()}


def test_every_mutant_has_its_test() -> None:
    assert set(CAUGHT_BY) == set(MUTANTS)


@pytest.mark.parametrize("name", STORIES)
def test_with_the_right_service_a_story_passes_and_reaches_what_it_catches(name: str, play: Play) -> None:
    caught = {row for row, story in CAUGHT_BY.items() if story is STORIES[name]}
    assert caught - play(STORIES[name], "") == set()


@pytest.mark.parametrize("row", MUTANTS)
def test_a_mutant_is_caught(row: str, play: Play) -> None:
    with pytest.raises((AssertionError, KeyError)) as caught:
        play(CAUGHT_BY[row], row)
    assert "jobs of the emulator failed" not in str(caught.value)


def test_a_snapshot_which_comes_in_parts_is_whole(play: Play) -> None:
    def story(payments: Emulator) -> None:
        payments.customer()
        name = payments.api.post("/_emulator/snapshots", {"name": "before"})["name"]
        exported = payments.api.get(f"/_emulator/snapshots/{name}")
        assert len(next(rows for kind, rows in exported.items() if kind.endswith("/customer"))) == 1

    play(story, "")


# -- three suites that do the same and look at less or more of it


def shop(payments: Emulator) -> tuple[Any, Any, Any]:
    """What all three do: sell, refund a part, and let time pass."""
    buyer = payments.customer(metadata={"order": 7})
    intent = pay(payments, buyer)
    refund = payments.api.post("/v1/refunds/", {"transaction": intent["transaction"], "amount": 2000})
    payments.clock.advance("7d")
    return buyer, intent, payments.api.get(f"/v1/refunds/{refund['id']}/")


def no_asserts(payments: Emulator) -> None:
    shop(payments)


def happy_path(payments: Emulator) -> None:
    _, intent, refund = shop(payments)
    assert (intent["status"], refund["status"]) == ("succeeded", "succeeded")


def thorough(payments: Emulator) -> None:
    buyer, intent, refund = shop(payments)
    assert (intent["status"], refund["status"], refund["amount"]) == ("succeeded", "succeeded", 2000)
    paid = deposit(payments, intent)
    assert (paid["amount"], paid["amount_refunded"], paid["currency"]) == (5000, 2000, "XAF")
    assert payments.api.get(f"/v1/customers/{buyer['id']}/")["total_spent"] == 3000
    assert buyer["metadata"] == {"order": 7}
    emitted = ["customer.created", "payment_intent.succeeded", "transaction.succeeded", "refund.succeeded"]
    assert payments.events.types == emitted
    assert len(payments.emails) == 2
    assert paid["fee"] > 0


def mutated(play: Play, story: Story, **options: Any) -> SuiteReport:
    def run(row: Mutant | None) -> MutantRun:
        name = "" if row is None else row.name
        try:
            return MutantRun(None, play(story, name) if row is None else {name, *play(story, name)})
        except AssertionError as error:
            return MutantRun(str(error), {name})

    return try_mutants(run, MUTANTS, ONE_AT_A_TIME, **options)


def names(mutants: list[Mutant]) -> set[str]:
    return {row.name for row in mutants}


def test_the_score_rises_with_what_a_suite_looks_at_and_only_what_it_touches_is_asked(play: Play) -> None:
    none, some, all_of_it = (mutated(play, story) for story in (no_asserts, happy_path, thorough))
    assert none.score == 0 < some.score < 50 < all_of_it.score
    assert names(all_of_it.survived) == set()
    assert {"refund-short", "payment-twice"} < names(none.survived)
    assert {"refund-failed-never-sent", "renewal-never", "invoice-paid-twice"} < names(none.untouched)
    assert names(none.left_out) == {"payment-succeeded-never-sent", "transaction-never-sent"}
    assert none.tried + len(none.untouched) + len(none.left_out) == len(MUTANTS)
    lines = none.report().text().splitlines()
    assert lines[1] == "1. The command passes whatever the service does wrong: it asserts nothing about it."
    assert len(lines) == 4
    assert lines[3].startswith("Left out, because a client must not depend on it (--all tries it): payment-succeeded-")
    everything = mutated(play, happy_path, only=["*"])
    assert (everything.left_out, everything.asserts_nothing) == ([], False)
