"""``payments-emulator test suite``: a suite that is a command, a suite of pytest, and what is no such thing."""

from __future__ import annotations

import json
import shlex
import sys
from itertools import chain
from pathlib import Path
from xml.etree import ElementTree

import pytest

from contract_tests.surfaces.cli.terminal import Ended, run
from emulator.checks.suite.mutants import AREAS, MUTANTS
from emulator.cli.serve import serve
from emulator.server.sandbox import Options, Parts

SUITE = (sys.executable, str(Path(__file__).with_name("suite.py")))


def examined(*arguments: str | Path) -> Ended:
    return run("test", "suite", *map(str, arguments))


def test_a_suite_that_does_not_look_at_the_amount_catches_nothing(tmp_path: Path) -> None:
    report = tmp_path / "suite.xml"
    ended = examined("--only", "refund-short", "--junit", report, "--", *SUITE)
    assert ended.status == 1, ended.errors
    assert ended.output.splitlines()[:7] == [
        "0 %: 0 of 1 mutant caught, 1 survived; 0 others do not concern the command.",
        "1. no test fails when a refund says `succeeded` for less than was asked",
        f"    again: payments-emulator test suite --only refund-short -- {shlex.join(SUITE)}",
        "    fix: Assert the amount of the refund.",
        "",
        "What the tests never used, with 5 requests:",
        "  no test sees a payment that fails (payment_intent canceled)",
    ]
    assert len([*ElementTree.parse(report).iter("failure")]) == 1


def test_one_that_looks_does_and_a_lower_score_can_be_enough() -> None:
    chosen = ("--only", "refund-short", "--only", "payment-twice", "--only", "renewal-never")
    ended = examined("--json", "--fail-on", "50", *chosen, "--", *SUITE, "amount")
    assert ended.status == 0, ended.errors
    report = json.loads(ended.output)
    assert (report["score"], report["caught"], report["untouched"]) == (50.0, ["refund-short"], ["renewal-never"])
    assert [each["name"] for each in report["findings"]] == ["payment-twice"]


def test_a_run_that_does_not_end_is_ended_and_has_caught_its_mutant(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("emulator.cli.suite.PATIENCE", 0.1)
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
    """They are tried twice with the right service first: some pass only with others, or only once in a process."""
    monkeypatch.setenv("RAN", str(tmp_path / "ran"))
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)  # its runs are no workers, even where this one is
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
        "No mutant concerns what the command does; if it sends requests, let it use PAYMENTS_EMULATOR_URL and "
        "PAYMENTS_EMULATOR_KEY.\n",
    )
    ended = examined("--budget", "0", "--only", "refund-short", "--", *SUITE)
    assert ended.status == 3
    assert ended.output.startswith("No mutant was tried.\nThe budget ended before 1 of them.\n\nWhat the tests")
    ended = examined("--only", "refund-long", "--", *SUITE)
    assert (ended.status, "refund-long: there is no such mutant" in ended.errors) == (2, True)


def test_all_are_listed_by_area_with_what_to_look_at() -> None:
    own = ((f"  {row.name}", f"    {row.wrong}", f"    {row.look}") for row in MUTANTS.values())
    lines = examined("--list").output.splitlines()
    assert [line for line in lines if line.startswith(" ")] == [*chain.from_iterable(own)]
    assert [line for line in lines if not line.startswith(" ")] == [*AREAS]


def test_no_other_command_reaches_a_mutant() -> None:
    """No option and no environment variable of serve chooses the parts of a sandbox, and the plain ones are right."""
    assert Options().parts == Parts()
    assert "parts" not in {parameter.name for parameter in serve.params}
