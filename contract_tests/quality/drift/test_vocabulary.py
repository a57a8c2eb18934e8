"""Errors and events ↔ document ↔ specification: one word for one thing, wherever it is said."""

from __future__ import annotations

import re
from string import Formatter
from typing import Any

import pytest

from contract_tests import ROOT
from contract_tests.contract.document import specification
from emulator.core.errors import ERRORS, ApiError, ErrorSpec
from emulator.core.event_types import EVENTS
from emulator.document import bundles
from emulator.document.tree import resolve
from emulator.resources.registry import JOBS, REACTIONS, SIGNALS

SERVICE = bundles.load("service")
SCHEMAS: dict[str, Any] = SERVICE["components"]["schemas"]

NESTED = {
    "customer_email_exists": (409, "DUPLICATE_EMAIL"),
    "transaction_not_refundable": (409, "INVALID_STATUS_TRANSITION"),
    "refund_amount_exceeds_available": (400, "AMOUNT_TOO_LARGE"),
}
"""The codes the resource references show in the nested shape, and how they read when flat is forced (B-10)."""

PUBLIC_CODES = {
    "PLAN_IN_USE": (409, "INVALID_STATUS_TRANSITION"),
    "DELIVERY_UNDER_WAY": (409, "INVALID_STATUS_TRANSITION"),
}
"""Errors without a code in the specification, and the code of ours that they have."""

CODES = dict(specification.codes())


def test_the_errors_are_those_of_the_specification() -> None:
    """Business codes table; B-14 for the rows without a status."""
    assert len(CODES) == 66
    expected = CODES | {code: status for code, (status, _) in (NESTED | PUBLIC_CODES).items()}
    assert {code: row.status for code, row in ERRORS.items()} == expected


def test_the_document_knows_the_same_codes() -> None:
    assert set(SCHEMAS["ErrorCode"]["enum"]) == CODES.keys()
    assert len(SCHEMAS["ErrorCode"]["enum"]) == len(CODES)


def test_the_nested_codes_have_a_flat_name() -> None:
    assert {code: (row.status, row.flat) for code, row in ERRORS.items() if row.flat} == NESTED
    assert {code: (row.status, row.public_code) for code, row in ERRORS.items() if row.public_code} == PUBLIC_CODES
    assert {other for _, other in (NESTED | PUBLIC_CODES).values()} <= CODES.keys()


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


@pytest.mark.parametrize(("code", "row"), ERRORS.items(), ids=ERRORS)
def test_the_category_goes_with_the_status(code: str, row: ErrorSpec) -> None:
    assert row.category == CATEGORIES[row.status]
    assert row.category in SCHEMAS["ErrorType"]["enum"]


@pytest.mark.parametrize(("code", "row"), ERRORS.items(), ids=ERRORS)
def test_every_message_is_a_sentence_also_with_nothing_to_fill_in(code: str, row: ErrorSpec) -> None:
    """B-94: a forced error knows no details."""
    assert row.message[0].isupper()
    assert row.message.endswith(".")
    message = ApiError(code).message
    for _, name, _, _ in Formatter().parse(row.message):
        assert name is None or f"({name})" in message


def test_the_events_are_those_of_the_specification_and_of_the_document() -> None:
    probes = {"webhook.ping", "webhook.test"}
    assert EVENTS.keys() >= specification.EVENT_TYPES
    assert SERVICE["x-webhooks"].keys() == EVENTS.keys() | probes
    assert set(SCHEMAS["EventType"]["enum"]) == EVENTS.keys() | probes


@pytest.mark.parametrize("type", EVENTS)
def test_an_event_shows_the_object_that_the_document_says(type: str) -> None:
    content = SERVICE["x-webhooks"][type]["post"]["requestBody"]["content"]["application/json"]
    own = resolve(SERVICE, content["schema"])["allOf"][1]["properties"]
    shown = resolve(SERVICE, own["data"]["properties"]["object"])
    assert own["type"]["enum"] == [type]
    assert shown["properties"]["object"]["enum"] == [EVENTS[type].object]


def test_reactions_are_to_events_that_there_are() -> None:
    assert REACTIONS.keys() - {"*"} <= EVENTS.keys()


def test_every_signal_has_its_listeners_and_no_name_of_an_event_or_a_job() -> None:
    sources = "".join(file.read_text("utf-8") for file in (ROOT / "emulator/resources").rglob("*.py"))
    assert set(re.findall(r'world\.signal\("([^"]+)"', sources)) == SIGNALS.keys()
    assert not [name for name in [*SIGNALS, *JOBS] if name in EVENTS]
    assert not [name for name in SIGNALS if "." in name]
