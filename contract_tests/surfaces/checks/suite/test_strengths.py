"""Three suites that do the same and look at less or more of it: the score rises with what they look at."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from contract_tests.surfaces.checks.suite.conftest import Play
from contract_tests.surfaces.checks.suite.stories import Story, customer, deposit, pay
from emulator.checks.report import as_junit
from emulator.checks.runs import ONE_AT_A_TIME, RunLimits
from emulator.checks.suite.search import Mutant, MutantRun, SuiteReport, try_mutants
from emulator.checks.suite.table import MUTANTS
from emulator.testing import Emulator


def shop(payments: Emulator) -> tuple[Any, Any, Any]:
    """What all three do: sell, refund a part, and let time pass."""
    buyer = customer(payments, metadata={"order": 7})
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


def mutated(play: Play, story: Story, limits: RunLimits = ONE_AT_A_TIME, **options: Any) -> SuiteReport:
    def run(row: Mutant | None) -> MutantRun:
        name = "" if row is None else row.name
        try:
            return MutantRun(None, play(story, name) if row is None else {name, *play(story, name)})
        except AssertionError as error:
            return MutantRun(str(error), {name})

    return try_mutants(run, MUTANTS, limits, **options)


def test_the_score_rises_with_what_a_suite_looks_at(play: Play) -> None:
    reports = [mutated(play, story) for story in (no_asserts, happy_path, thorough)]
    scores = [report.score for report in reports]
    assert scores[0] == 0 < scores[1] < 50 < scores[2]
    assert [row.name for row in reports[2].survived] == []


def test_only_what_the_suite_touches_is_asked(play: Play) -> None:
    report = mutated(play, no_asserts)
    assert {"refund-short", "payment-twice"} < {row.name for row in report.survived}
    assert {"refund-failed-never-sent", "renewal-never", "invoice-paid-twice"} < {row.name for row in report.untouched}
    assert {row.name for row in report.left_out} == {"payment-succeeded-never-sent", "transaction-never-sent"}
    assert report.tried + len(report.untouched) + len(report.left_out) == len(MUTANTS)


def test_a_suite_that_asserts_nothing_gets_one_sentence(play: Play) -> None:
    lines = mutated(play, no_asserts).report().text().splitlines()
    assert lines[1] == "1. The command passes whatever the service does wrong: it asserts nothing about it."
    assert len(lines) == 4
    assert lines[3].startswith("Left out, because a client must not depend on it (--all tries it): payment-succeeded-")
    everything = mutated(play, happy_path, every=True)
    assert (everything.left_out, everything.asserts_nothing) == ([], False)


def test_what_is_skipped_or_not_named_is_not_asked(play: Play) -> None:
    """A pattern names several."""
    report = mutated(play, happy_path, only=["refund-s*"], skip=["refund-succeeded-*"])
    assert [row.name for row in report.survived] == ["refund-short"]
    report = mutated(play, happy_path, only=["refund-short", "refund-never-answered"], skip=["refund-short"])
    assert ([row.name for row in report.caught], report.survived, report.untouched) == (
        ["refund-never-answered"],
        [],
        [],
    )
    assert report.passes(100)


def test_a_suite_that_fails_by_itself_is_not_examined(play: Play) -> None:
    def wrong(payments: Emulator) -> None:
        raise AssertionError("it is broken")

    report = mutated(play, wrong)
    assert report.report().text() == "The command fails with the right service, so nothing else was tried: it is broken"
    assert not report.passes(0)


def test_the_report_says_what_no_test_looked_at(play: Play, tmp_path: Path) -> None:
    report = mutated(play, happy_path, only=["refund-short", "refund-never-answered", "renewal-never"])
    assert report.report().text().splitlines() == [
        "50 %: 1 of 2 mutants caught, 1 survived; 1 other does not concern the command.",
        "1. no test fails when a refund says `succeeded` for less than was asked",
        "    again: --only refund-short",
        "    fix: Assert the amount of the refund.",
    ]
    suite = ElementTree.fromstring(as_junit(report.report()))
    assert [failure.get("message") for failure in suite.iter("failure")] == [report.survived[0].sentence]
    assert [case.get("name") for case in suite] == ["refund-short", "refund-never-answered"]
