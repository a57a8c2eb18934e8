"""Life cycles ↔ status enums ↔ events, and jobs planned ↔ jobs performed."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

import pytest

from contract_tests.contract.document.reader import Part, properties, resolved
from emulator import resources
from emulator.core.event_types import EVENTS
from emulator.core.state_machine import StateMachine
from emulator.document import bundles
from emulator.resources.registry import JOBS

SERVICE = bundles.load("service")


def life_cycles() -> Iterator[StateMachine[Any]]:
    for module in walk_packages(resources.__path__, f"{resources.__name__}."):
        yield from (each for each in vars(import_module(module.name)).values() if isinstance(each, StateMachine))


STATE_MACHINES = list({id(life): life for life in life_cycles()}.values())


SET_DIRECTLY = {"customer": {"inactive", "blocked"}, "payment_method": {"inactive"}}
"""States of the document that no row of a life cycle leads to: the control API alone sets them (B-32)."""


def states(life: StateMachine[Any]) -> set[str]:
    """Return the states the document knows."""
    schema = Part((), SERVICE["components"]["schemas"][life.kind.__name__])
    status = resolved(SERVICE, properties(SERVICE, schema)["status"])
    while "enum" not in status.node:
        status = resolved(SERVICE, Part((), status.node["allOf"][0]))
    return set(status.node["enum"])


@pytest.mark.parametrize("life", STATE_MACHINES, ids=lambda life: life.kind.kind)
def test_a_life_cycle_leads_through_the_states_of_the_document(life: StateMachine[Any]) -> None:
    """No other state is in the table, and every one can be reached."""
    named = {row.source for row in life.rows} | {row.target for row in life.rows}
    assert named - {None} <= states(life)
    unreached = states(life) - {row.target for row in life.rows}
    assert unreached == SET_DIRECTLY.get(life.kind.kind, set())


@pytest.mark.parametrize("life", STATE_MACHINES, ids=lambda life: life.kind.kind)
def test_every_state_can_be_reached_from_the_beginning(life: StateMachine[Any]) -> None:
    reached: set[str | None] = {None}
    while more := {row.target for row in life.rows if row.source in reached} - reached:
        reached |= more
    assert {row.source for row in life.rows} <= reached


@pytest.mark.parametrize("life", STATE_MACHINES, ids=lambda life: life.kind.kind)
def test_its_events_are_of_its_kind(life: StateMachine[Any]) -> None:
    emitted = {row.event for row in life.rows if row.event}
    assert {EVENTS[event].object for event in emitted} <= {life.kind.kind}


def planned_jobs() -> Iterator[str]:
    """Yield the names of the jobs that the rules plan: second argument of every ``world.schedule``."""
    for file in Path(resources.__path__[0]).rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "schedule":
                name = node.args[1]
                assert isinstance(name, ast.Constant), f"{file.name}:{node.lineno}: a job's name is written out"
                yield name.value


def test_every_planned_job_is_performed_and_every_performed_one_planned() -> None:
    assert set(planned_jobs()) == JOBS.keys()
