"""Code ↔ documents ↔ specification: errors, events, states, kinds, constraints, assumptions."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from importlib import import_module
from pkgutil import walk_packages
from string import Formatter
from typing import Any

import pytest

from contract_tests import ROOT
from contract_tests.contract.document import specification
from contract_tests.contract.document.reader import (
    Part,
    operations,
    parameters,
    properties,
    request_schema,
    resolved,
)
from contract_tests.quality.docs.pages import PAGES
from contract_tests.quality.drift.constraints import constraints, declared, source_table
from contract_tests.quality.sources import parsed
from contract_tests.support.sandbox import RunningServer
from contract_tests.support.servers import CLIENT
from contract_tests.support.settings import SHOWN
from emulator import resources
from emulator.checks.document.exceptions import RULES
from emulator.core.errors import ERRORS, ApiError
from emulator.core.event_types import EVENTS
from emulator.core.state_machine import StateMachine
from emulator.document import bundles
from emulator.document.tree import resolve
from emulator.engine.reference_data import numbered_assumptions
from emulator.presentation.languages.wording import MONEY_FIELDS
from emulator.resources.app.settings import FEE_RATES, Settings
from emulator.resources.registry import JOBS, REACTIONS, REGISTRY
from emulator.ui.console import labels
from emulator.ui.console.render import COLUMNS, PILLS

SERVICE = bundles.load("service")
CONTROL = bundles.load("control")
SCHEMAS: dict[str, Any] = SERVICE["components"]["schemas"]
RULES_FOLDER = ROOT / "emulator/resources"

NESTED = {
    "customer_email_exists": (409, "DUPLICATE_EMAIL"),
    "transaction_not_refundable": (409, "INVALID_STATUS_TRANSITION"),
    "refund_amount_exceeds_available": (400, "AMOUNT_TOO_LARGE"),
}
"""The codes with a nested shape in the references, and their forms if flat is forced (B-10)."""

PUBLIC_CODES = {
    "PLAN_IN_USE": (409, "INVALID_STATUS_TRANSITION"),
    "DELIVERY_UNDER_WAY": (409, "INVALID_STATUS_TRANSITION"),
}
"""Errors without a code in the specification, and the code of ours that they have."""

CATEGORIES = {
    401: "AUTHENTICATION_ERROR",
    403: "PERMISSION_ERROR",
    404: "NOT_FOUND_ERROR",
    409: "CONFLICT_ERROR",
    400: "VALIDATION_ERROR",
    405: "VALIDATION_ERROR",
    422: "VALIDATION_ERROR",
    429: "RATE_LIMIT_ERROR",
    500: "API_ERROR",
}
"""Categories table; B-14 for 405."""

CODES = dict(specification.codes())


def test_the_errors_are_those_of_the_specification_and_of_the_document() -> None:
    """Business codes table; B-14 for the rows without a status."""
    expected = CODES | {code: status for code, (status, _) in (NESTED | PUBLIC_CODES).items()}
    assert {code: row.status for code, row in ERRORS.items()} == expected
    assert sorted(SCHEMAS["ErrorCode"]["enum"]) == sorted(CODES)
    assert {code: (row.status, row.flat) for code, row in ERRORS.items() if row.flat} == NESTED
    assert {
        code: (row.status, row.public_code) for code, row in ERRORS.items() if row.public_code
    } == PUBLIC_CODES
    assert {
        code: row.category for code, row in ERRORS.items() if row.category != CATEGORIES[row.status]
    } == {}
    assert {row.category for row in ERRORS.values()} <= set(SCHEMAS["ErrorType"]["enum"])


def test_every_message_is_a_sentence_also_with_nothing_to_fill_in() -> None:
    """B-94: a forced error knows no details."""
    for code, row in ERRORS.items():
        assert (row.message[0].isupper(), row.message[-1]) == (True, "."), code
        message = ApiError(code).message
        assert (message[0].isupper(), message[-1]) == (True, "."), code
        assert not re.search(r"[(){}]", message), message
        names = [name for _, name, _, _ in Formatter().parse(row.message) if name is not None]
        assert bool(names) == bool(row.plain), f"{code}: a plain message is for one with details"


def test_the_events_are_those_of_the_specification_and_of_the_document() -> None:
    probes = {"webhook.ping", "webhook.test"}
    assert EVENTS.keys() >= specification.EVENT_TYPES
    assert (
        SERVICE["x-webhooks"].keys() == EVENTS.keys() | probes == set(SCHEMAS["EventType"]["enum"])
    )
    for type, event in EVENTS.items():
        content = SERVICE["x-webhooks"][type]["post"]["requestBody"]["content"]["application/json"]
        own = resolve(SERVICE, content["schema"])["allOf"][1]["properties"]
        schema = resolve(SERVICE, own["data"]["properties"]["object"])
        assert own["type"]["enum"] == [type]
        assert schema["properties"]["object"]["enum"] == [event.object], type


def planned_jobs() -> Iterator[str]:
    """Yield the names of the jobs that rules plan: the second arguments of ``world.schedule``."""
    for file in RULES_FOLDER.rglob("*.py"):
        for node in ast.walk(parsed(file)):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr == "schedule"
            ):
                name = node.args[1]
                assert isinstance(name, ast.Constant), (
                    f"{file.name}:{node.lineno}: a job's name is written out"
                )
                yield name.value


def test_each_reaction_signal_and_job_has_its_cause_and_its_effect() -> None:
    sources = "".join(file.read_text("utf-8") for file in RULES_FOLDER.rglob("*.py"))
    signals = set(re.findall(r'world\.signal\("([^"]+)"', sources))
    assert REACTIONS.keys() - {"*"} - EVENTS.keys() == signals
    assert set(planned_jobs()) == JOBS.keys()
    assert [name for name in [*signals, *JOBS] if name in EVENTS] == []


STATE_MACHINES = {
    machine.kind.kind: machine
    for module in walk_packages(resources.__path__, f"{resources.__name__}.")
    for machine in vars(import_module(module.name)).values()
    if isinstance(machine, StateMachine)
}

SET_DIRECTLY = {"customer": {"inactive", "blocked"}, "payment_method": {"inactive"}}
"""The document's states without a life cycle's row: only the control API sets them (B-32)."""


@pytest.mark.parametrize("kind", STATE_MACHINES)
def test_a_life_cycle_leads_through_the_states_of_the_document_with_events_of_its_kind(
    kind: str,
) -> None:
    life: StateMachine[Any] = STATE_MACHINES[kind]
    status = resolved(SERVICE, properties(SERVICE, Part((), SCHEMAS[life.kind.__name__]))["status"])
    while "enum" not in status.node:
        status = resolved(SERVICE, Part((), status.node["allOf"][0]))
    reached: set[str | None] = {None}
    while more := {row.target for row in life.rows if row.source in reached} - reached:
        reached |= more
    assert {row.source for row in life.rows} <= reached
    assert reached - {None} == set(status.node["enum"]) - SET_DIRECTLY.get(kind, set())
    assert {EVENTS[row.event].object for row in life.rows if row.event} <= {kind}


def test_no_record_can_be_changed_in_place() -> None:
    """A unit of work that fails is undone by the records that were there before."""
    assert [kind for kind in REGISTRY.kinds if not kind.__struct_config__.frozen] == []


def test_the_console_has_names_and_columns_for_every_kind() -> None:
    kinds: list[str] = CONTROL["components"]["schemas"]["ObjectKind"]["enum"]
    assert [
        kind for kind in kinds if not (labels.KIND_NAMES.get(kind) and labels.KINDS.get(kind))
    ] == []
    assert COLUMNS.keys() == set(kinds)
    fields = {kind.kind: set(kind.__struct_fields__) for kind in REGISTRY.kinds}
    assert {
        kind: strange
        for kind in kinds
        if (strange := set(COLUMNS[kind]) - fields.get(kind, {*COLUMNS[kind]}))
    } == {}
    assert set().union(*COLUMNS.values()) >= PILLS


def test_the_fields_that_hold_amounts_are_those_of_the_document() -> None:
    names = {"".join(word.title() for word in kind.kind.split("_")) for kind in REGISTRY.kinds}
    documented = {
        field
        for name in names & SCHEMAS.keys()
        for field, schema in SCHEMAS[name]["properties"].items()
        if "minor units" in str(schema.get("description"))
    }
    assert documented == MONEY_FIELDS


# -- constraints of the service's document, and what the check of a document excuses


def test_each_constraint_has_a_source() -> None:
    """A new one cites an assumption in the document (x-assumption), or sources.yaml has it."""
    assert [str(constraint) for constraint in constraints() if not constraint.sources] == []


def test_a_source_that_is_a_number_is_an_assumption() -> None:
    numbers = {
        source
        for constraint in constraints()
        for source in constraint.sources
        if source.startswith("B-")
    }
    assert numbers <= numbered_assumptions().keys()


def test_each_line_of_the_table_of_sources_has_a_constraint() -> None:
    uncited = {str(constraint) for constraint in declared(SERVICE) if not constraint.sources}
    lines = [line for source in source_table().values() for line in source]
    assert [
        line for line in lines if not any(fnmatchcase(constraint, line) for constraint in uncited)
    ] == []
    assert len(lines) == len(set(lines))


def test_what_is_excused_is_there_to_be_excused() -> None:
    """An exception for an operation or a field that is gone would hide what comes after it."""
    known = {
        operation.node["operationId"]: (name, operation)
        for name in bundles.SOURCES
        for operation in operations(bundles.load(name))
    }
    assert RULES.keys() <= known.keys()
    for id, rules in RULES.items():
        name, operation = known[id]
        document = bundles.load(name)
        schema = request_schema(document, operation)
        fields = {parameter["name"] for parameter in parameters(document, operation)}
        fields |= set(properties(document, schema)) if schema else set()
        assert {rule.split("*")[0].split(".")[0] for rule in rules} - {""} <= fields, id


# -- assumptions: a cited number can be looked up, and quotes the defaults


HOUSE = ROOT / "emulator"
ASSUMPTIONS = numbered_assumptions()


def parts(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        yield node
    for part in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from parts(part)


def cited() -> Iterator[str]:
    for name in ("service", "control"):
        for part in parts(bundles.load(name)):
            numbers = part.get("x-assumption", ())
            yield from [numbers] if isinstance(numbers, str) else numbers


ELSEWHERE = {
    "B-01": "how worlds are distinguished; no field or status of the document shows it",
    "B-42": "when a period ends; the dates are plain timestamps",
    "B-44": "what a renewal does, and the order of its events",
    "B-61": "when a payment counts as received; statuses are as documented",
    "B-62": "that only one payment is under way; the error is a documented one",
    "B-67": "what emails and pages show",
    "B-72": "CORS headers, which OpenAPI does not describe",
    "B-96": "when a subscription recovers; statuses are as documented",
    "B-99": "assumptions, which are settings",
    "B-100": "how often a client tries again; the examinations look at that",
    "B-101": "how servers share a database; the error is a documented one",
    "B-102": "how sentences and steps word a state",
    "B-103": "what is stored before a response; the error is a documented one",
}
"""Assumptions that no place of a document shows, each with the cause."""


def test_documents_code_templates_and_pages_cite_assumptions_that_there_are() -> None:
    """And each assumption is cited in a document, or is not on the wire."""
    numbers = set(cited())
    assert (numbers - ASSUMPTIONS.keys(), ASSUMPTIONS.keys() - numbers - ELSEWHERE.keys()) == (
        set(),
        set(),
    )
    files = [*HOUSE.rglob("*.py"), *HOUSE.rglob("*.html"), *PAGES]
    named = {
        number for file in files for number in re.findall(r"\bB-\d{2,3}\b", file.read_text("utf-8"))
    }
    assert named - ASSUMPTIONS.keys() == set()
    assert {name for assumption in ASSUMPTIONS.values() for name in assumption.settings} <= set(
        Settings.__struct_fields__
    )


def test_readers_see_the_assumptions(server: RunningServer) -> None:
    """Descriptions link to their page: Swagger UI and generated clients hide ``x-assumption``."""
    described = [
        part for part in parts(bundles.load("service")) if isinstance(part.get("description"), str)
    ]
    assert [
        part
        for part in described
        if "x-assumption" in part and not part["description"].endswith("))")
    ] == []
    page = CLIENT.get(f"{server.url}/docs/assumptions")
    assert page.is_success, "each assumption needs a probe, or a line in `unknowable`: see the log"
    text = page.text
    assert [number for number in ASSUMPTIONS if f'id="{number}"' not in text] == []


def test_assumptions_quote_the_defaults() -> None:
    """Those of settings are filled in: ``{reactivation_days}`` in fixtures/assumptions.yaml."""
    decided = {
        number: " ".join(assumption.decided.split()) for number, assumption in ASSUMPTIONS.items()
    }
    assert re.search(
        "main currency is [A-Z]{3}, and ([A-Z]{3}(, | and ))+[A-Z]{3} are enabled", decided["B-24"]
    )
    assert re.search(r"Within \d+ days", decided["B-48"])
    *rates, last = map(str, FEE_RATES.values())
    *plans, largest = map(str.title, FEE_RATES)
    assert (
        f"{', '.join(rates)} or {last} per cent on {', '.join(plans)} and {largest}"
        in decided["B-56"]
    )


def test_the_documents_quote_the_defaults() -> None:
    """The tax rate of an example is one that the example of the request sets."""
    all_of_them = (part for part in parts(bundles.load("control")) if part.keys() >= SHOWN.keys())
    examples = [part for part in all_of_them if isinstance(part["currencies"], list)]
    assert len(examples) >= 3
    assert [part for part in examples if part != {**SHOWN, "tax_rate": 18}] == []
