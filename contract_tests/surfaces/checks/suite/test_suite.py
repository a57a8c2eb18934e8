"""``test suite``: thorough tests catch all mutants, weaker ones fewer; also as a command."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from contract_tests.surfaces.checks.suite.stories import CAUGHT_BY, Story, deposit, pay
from contract_tests.surfaces.cli.terminal import Ended, run
from emulator.checks.runs import ONE_AT_A_TIME
from emulator.checks.suite.mutants import AREAS, MUTANTS, Mutant
from emulator.checks.suite.search import MutantRun, SuiteReport, try_mutants
from emulator.checks.suite.wrong_service import WrongService
from emulator.cli.serve import serve
from emulator.server.sandbox import Options, Parts
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
    """Play a test in a new world of a wrong or, with "", right service; return reached places."""

    def run(story: Story, row: str) -> set[str]:
        service.active = [MUTANTS[row]] if row in MUTANTS else []
        service.reached.clear()
        with Emulator(
            key=f"sk_test_{row or story.__name__}", clock="2026-01-01T00:00:00Z", server=server
        ) as payments:
            story(payments)
        return {*service.reached}

    yield run
    service.active = []


STORIES = {story.__name__: story for story in CAUGHT_BY.values()}


def test_every_mutant_has_its_test() -> None:
    assert set(CAUGHT_BY) == set(MUTANTS)


@pytest.mark.parametrize("name", STORIES)
def test_with_the_right_service_a_story_reaches_what_it_catches(name: str, play: Play) -> None:
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
    refund = payments.api.post(
        "/v1/refunds/", {"transaction": intent["transaction"], "amount": 2000}
    )
    payments.clock.advance("7d")
    return buyer, intent, payments.api.get(f"/v1/refunds/{refund['id']}/")


def no_asserts(payments: Emulator) -> None:
    shop(payments)


def happy_path(payments: Emulator) -> None:
    _, intent, refund = shop(payments)
    assert (intent["status"], refund["status"]) == ("succeeded", "succeeded")


def thorough(payments: Emulator) -> None:
    buyer, intent, refund = shop(payments)
    assert (intent["status"], refund["status"], refund["amount"]) == (
        "succeeded",
        "succeeded",
        2000,
    )
    paid = deposit(payments, intent)
    assert (paid["amount"], paid["amount_refunded"], paid["currency"]) == (5000, 2000, "XAF")
    assert payments.api.get(f"/v1/customers/{buyer['id']}/")["total_spent"] == 3000
    assert buyer["metadata"] == {"order": 7}
    emitted = [
        "customer.created",
        "payment_intent.succeeded",
        "transaction.succeeded",
        "refund.succeeded",
    ]
    assert payments.events.types == emitted
    assert len(payments.emails) == 2
    assert paid["fee"] > 0


def mutated(play: Play, story: Story, **options: Any) -> SuiteReport:
    def run(row: Mutant | None) -> MutantRun:
        name = "" if row is None else row.name
        try:
            reached = play(story, name) | ({name} if name else set())
            return MutantRun(None, dict.fromkeys(reached, ()))
        except AssertionError as error:
            return MutantRun(str(error), {name: ()})

    return try_mutants(run, MUTANTS, ONE_AT_A_TIME, **options)


def names(mutants: list[Mutant]) -> set[str]:
    return {row.name for row in mutants}


def test_the_score_rises_with_what_a_suite_looks_at(play: Play) -> None:
    """Only what it touches is asked."""
    none, some, all_of_it = (mutated(play, story) for story in (no_asserts, happy_path, thorough))
    assert none.score == 0 < some.score < 50 < all_of_it.score
    assert names(all_of_it.survived) == set()
    assert {"refund-short", "payment-twice"} < names(none.survived)
    assert {"refund-failed-never-sent", "renewal-never", "invoice-paid-twice"} < names(
        none.untouched
    )
    assert names(none.left_out) == {"payment-succeeded-never-sent", "transaction-never-sent"}
    assert none.tried + len(none.untouched) + len(none.left_out) == len(MUTANTS)
    lines = none.report().text().splitlines()
    assert (
        lines[1]
        == "1. The command passes whatever the service does wrong: it asserts nothing about it."
    )
    assert len(lines) == 4
    assert lines[3].startswith(
        "Left out, because a client must not depend on it (--only '*' tries it): payment-succe"
    )
    everything = mutated(play, happy_path, only=["*"])
    assert (everything.left_out, "asserts nothing" in everything.report().text()) == ([], False)


SUITE = (sys.executable, str(Path(__file__).with_name("suite.py")))


def examined(*arguments: str | Path) -> Ended:
    return run("test", "suite", *map(str, arguments))


def test_a_suite_that_does_not_look_at_the_amount_catches_nothing(tmp_path: Path) -> None:
    report = tmp_path / "suite.xml"
    ended = examined("--only", "refund-short", "--junit", report, "--", *SUITE)
    assert ended.status == 1, ended.errors
    assert ended.output.splitlines()[:7] == [
        "0 %: 0 of 1 mutant caught, 1 survived; 0 not applicable.",
        "1. no test fails when a refund says `succeeded` for less than was asked",
        f"    again: payments-emulator test suite --only refund-short -- {shlex.join(SUITE)}",
        "    fix: Assert the amount of the refund.",
        "",
        "What the tests never used, with 5 requests:",
        "  no test sees a payment that fails (payment_intent canceled)",
    ]
    assert len([*ElementTree.parse(report).iter("failure")]) == 1


def test_a_lower_score_can_be_enough() -> None:
    chosen = ("--only", "refund-short", "--only", "payment-twice", "--only", "renewal-never")
    ended = examined("--json", "--fail-on", "50", *chosen, "--", *SUITE, "amount")
    assert ended.status == 0, ended.errors
    report = json.loads(ended.output)
    assert (report["score"], report["caught"], report["untouched"]) == (
        50.0,
        ["refund-short"],
        ["renewal-never"],
    )
    assert [finding["name"] for finding in report["findings"]] == ["payment-twice"]


def test_a_run_that_does_not_end_has_caught_its_mutant(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("emulator.cli.suite.SUITE_RUN_SECONDS", 0.1)
    ended = examined("--json", "--only", "refund-short", "--", *SUITE, "waits")
    assert (ended.status, json.loads(ended.output)["caught"]) == (0, ["refund-short"])


TESTS = """
import os, threading

def ran(name):
    with open(os.environ["RAN"], "a") as file:
        file.write(name + " ")

ran("loaded")
if "THREAD" in os.environ:
    threading.Thread(target=threading.Event().wait, daemon=True).start()

def test_refund(payments):
    ran("refund")
    with payments.another("scenario") as world:  # as test_app does
        world.pay(world.invoice())
        (deposit,) = world.api.get("/v1/transactions/")["data"]
        refund = world.api.post("/v1/refunds/", {"transaction": deposit["id"], "amount": 2000})
        world.clock.advance("1d")
        assert world.api.get(f"/v1/refunds/{refund['id']}/")["amount"] == 2000

def test_customer(payments):
    ran("customer")
    payments.customer()

def test_without_a_world():
    ran("other")
"""

ALL = "loaded refund customer other "


@pytest.mark.long
@pytest.mark.parametrize(
    ("variables", "ran"),
    [
        ({}, f"{ALL}loaded refund refund refund "),
        ({"THREAD": "1"}, f"{ALL}loaded {3 * 'loaded refund '}"),
    ],
    ids=["forked", "no fork beside a thread"],
)
def test_a_mutant_runs_the_tests_that_reached_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], ran: str
) -> None:
    """They first run twice with the right service: some pass only with others, or only once."""
    monkeypatch.setenv("RAN", str(tmp_path / "ran"))
    monkeypatch.delenv(
        "PYTEST_XDIST_WORKER", raising=False
    )  # its runs are no workers, even where this one is
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    suite = tmp_path / "test_shop.py"
    suite.write_text(TESTS, encoding="utf-8")
    command = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", suite)
    ended = examined("--json", "--only", "refund-short", "--", *command)
    assert (ended.status, json.loads(ended.output)["caught"]) == (0, ["refund-short"])
    assert (tmp_path / "ran").read_text("utf-8") == ran


def test_where_nothing_is_tried_nothing_is_said_to_be_good() -> None:
    ended = examined("--", sys.executable, "-c", "")
    assert (ended.status, ended.output) == (
        1,
        (
            "No mutant concerns what the command does; if it sends requests, let it use"
            " PAYMENTS_EMULATOR_URL and PAYMENTS_EMULATOR_KEY.\n"
        ),
    )
    ended = examined("--budget", "0", "--only", "refund-short", "--", *SUITE)
    assert ended.status == 3
    assert ended.output.startswith(
        "No mutant was tried.\nThe budget ended before 1 of them.\n\nWhat the tests"
    )
    ended = examined("--only", "refund-long", "--", *SUITE)
    assert (ended.status, "refund-long: there is no such mutant" in ended.errors) == (2, True)


def test_all_are_listed_by_area_with_what_to_look_at() -> None:
    own = ((f"  {row.name}", f"    {row.wrong}", f"    {row.look}") for row in MUTANTS.values())
    lines = examined("--list").output.splitlines()
    assert [line for line in lines if line.startswith(" ")] == [*chain.from_iterable(own)]
    assert [line for line in lines if not line.startswith(" ")] == [*AREAS]


def test_no_other_command_reaches_a_mutant() -> None:
    """No option or variable of serve chooses the parts of a sandbox; the plain ones are right."""
    assert Options().parts == Parts()
    assert "parts" not in {parameter.name for parameter in serve.params}
