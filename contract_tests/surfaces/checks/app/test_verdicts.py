"""``test app`` says that nothing is wrong only where something wrong could have been seen."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from contract_tests.surfaces.checks.app.test_app import Story, failing, order, sweep, two_customers
from emulator.checks.app.cases import FAULT_KINDS, REQUEST, Case, Place
from emulator.checks.app.endings import Ending, rule_differences
from emulator.checks.app.report import AppReport
from emulator.testing import Emulator


def buying(looks: bool) -> Story:
    """Return a story whose check looks at the payment, or at nothing that it changes."""

    def play(payments: Emulator) -> Callable[[], Any]:
        session = order(payments)
        payments.pay(session)
        return lambda: (
            payments.api.get(f"/v1/checkout-sessions/{session}/")["status"] if looks else 1
        )

    return play


def test_a_state_that_is_the_same_though_nobody_pays_is_a_problem(payments: Emulator) -> None:
    text = failing(payments, buying(looks=False), "refused-later")
    assert text.startswith("Your own state is the same whether the buyer pays or not\n1. ")


@pytest.mark.parametrize(("severity", "number"), [("error", 1), ("warning", 1), ("info", 0)])
def test_a_remark_of_the_audit_is_no_other_end(severity: str, number: int) -> None:
    broken = {"rule": "polling", "severity": severity, "title": "Objects were polled"}
    digest: Any = {}
    usual = Ending(None, 1, digest, True, (), {}, True)
    assert len(rule_differences(usual, usual._replace(audit=[broken]))) == number


def test_a_state_that_shows_the_payment_is_compared(payments: Emulator) -> None:
    assert payments.test_app(buying(looks=True), only=["refused-later"]).passed


def rejecting(*types: str) -> Story:
    """Return a story of a sale whose receiver rejects events of these types."""

    def play(payments: Emulator) -> None:
        def receive(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
            event = json.loads(environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])))
            start("401 Unauthorized" if event["type"] in types else "200 OK", [])
            return [b""]

        payments.webhooks.listen("checkout.session.completed", "payment_intent.succeeded")
        payments.webhooks.forward_to(receive)
        payments.pay(order(payments))

    return play


def test_deliveries_that_are_all_rejected_without_a_fault_are_the_problem(
    payments: Emulator,
) -> None:
    """A lost one or a second one would be no other, so nothing is tried and nothing counted."""
    types = ("checkout.session.completed", "payment_intent.succeeded")
    text = failing(payments, rejecting(*types), "lost", "twice")
    assert text.splitlines()[0] == (
        "All 2 deliveries are rejected without any fault: no webhook case can be tried"
    )
    assert "fix: Respond with 200 to every genuine delivery" in text
    assert "2 deliveries, 2 runs." in text


def test_a_rejected_delivery_beside_others_is_not_tried(payments: Emulator) -> None:
    report = payments.test_app(rejecting("payment_intent.succeeded"), only=["lost"])
    assert report.headline == "No problem in 1 case."
    assert "Rejected without any fault, so not tried: deliveries " in report.text()


def test_cases_that_all_show_nothing_are_no_success(payments: Emulator) -> None:
    def play(payments: Emulator) -> None:
        assert payments.pay(order(payments))["status"] == "succeeded"

    assert failing(payments, play, "pending").startswith("Nothing was shown in 1 case\n")


def test_a_budget_that_ends_before_each_kind_was_tried_fails(payments: Emulator) -> None:
    with pytest.raises(AssertionError, match=r"The budget ended before .* 0 of 2 cases"):
        payments.test_app(two_customers, budget=0, only=["drop-after"])


def test_a_budget_that_allows_a_case_of_each_kind_is_a_warning() -> None:
    first, second = (
        Case(Place(REQUEST, number, "POST /v1/x/"), FAULT_KINDS[0]) for number in (1, 2)
    )
    report = AppReport([first.place, second.place], 3, (), tried=[first], remaining=1)
    assert (report.passed, report.headline) == (True, "No problem in 1 of 2 cases.")


def test_a_problem_outdoes_the_end_of_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    report = AppReport([], 2, (), failure="it fails", remaining=1)
    monkeypatch.setattr("emulator.checks.app.driver.examine", lambda *_, **__: report)
    assert sweep("--", "true").status == 1


def test_a_scenario_that_wants_the_payment_at_once_shows_nothing(payments: Emulator) -> None:
    def play(payments: Emulator) -> None:
        assert payments.pay(order(payments))["status"] == "succeeded"

    report = payments.test_app(play, only=["pending", "refused-later"])
    assert [case.name for case in report.unjudged] == ["1:pending"]
    assert report.headline == "No problem in 1 case.", "the other one is not counted"
    assert (
        "Nothing was shown, since the scenario wants the payment at once: 1:pending.\n"
        in f"{report.text()}\n"
    )
