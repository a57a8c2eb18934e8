"""Generated bodies are accepted or rejected as they are labelled."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings

from contract_tests.sandbox import Sandbox
from contract_tests.strategies.examinee import Examinee
from emulator import strategies
from emulator.document.operations import operation_specs
from emulator.event_types import EVENTS
from emulator.strategies.body_forms import forms

EXAMPLES = int(os.environ.get("PAYMENTS_EMULATOR_STRATEGY_EXAMPLES", "150"))

generated = settings(
    max_examples=EXAMPLES, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)


@pytest.fixture
def examinee(sandbox: Sandbox) -> Examinee:
    return Examinee(sandbox)


def test_generated_bodies_are_answered_as_labelled(examinee: Examinee) -> None:
    seen: list[bool] = []

    @generated
    @given(body=examinee.bodies())
    def answered(body: strategies.GeneratedBody) -> None:
        examinee.is_answered_as_labelled(body)
        seen.append(body.violation is None)

    answered()
    assert len(seen) >= EXAMPLES
    assert seen.count(True) > EXAMPLES / 10
    assert seen.count(False) > EXAMPLES / 10


def test_all_events_are_selected_alone_and_every_event_can_be() -> None:
    """Rejected by the service otherwise; few generated bodies have both, so the test above may not meet one."""
    allowed = strategies.OPERATIONS["updateWebhook"].schema["properties"]["events"]["items"]["enum"]
    seen: set[str] = set()

    @generated
    @given(body=strategies.valid("updateWebhook"))
    def selected(body: strategies.GeneratedBody) -> None:
        events = body.value.get("events", [])
        assert "*" not in events or events == ["*"]
        seen.update(events)

    selected()
    assert {*EVENTS, "*"} == set(allowed)
    assert {"*"} < seen <= set(allowed)


def test_each_operation_with_a_body_has_strategies() -> None:
    assert strategies.OPERATIONS.keys() == {name for name, spec in operation_specs().items() if spec.fields.names}


def test_each_field_stands_in_a_form_of_its_operation() -> None:
    left_out = [
        (spec.name, name)
        for spec in strategies.OPERATIONS.values()
        for name in spec.schema["properties"]
        if not any(name in (*form.required, *form.optional) for form in forms(spec))
    ]
    assert left_out == []


def test_violations_name_the_field_and_the_rule() -> None:
    found = strategies.violations("createSubscriptionPlan")
    assert ("interval", "enum") in found
    assert ("interval_count", "maximum") in found
    assert ("amount", "B-23") in found
    assert ("name", "required") in found
    assert ("metadata.key", "type") in found
    assert ("line_items.0.quantity", "minimum") in strategies.violations("createInvoice", customer="cust_1")


def test_a_missing_reference_is_named() -> None:
    with pytest.raises(ValueError, match="createRefund needs the id of an existing object for transaction"):
        strategies.valid("createRefund")
    with pytest.raises(ValueError, match="nope is no operation with a body"):
        strategies.invalid("nope")


def test_without_hypothesis_it_says_what_to_install() -> None:
    code = "import importlib.util as u; f = u.find_spec; u.find_spec = lambda n, *a: n != 'hypothesis' and f(n, *a)"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}; import emulator.strategies"], capture_output=True, text=True, check=False
    )
    assert "pip install 'payments-emulator[strategies]'" in done.stderr
