"""Kinds of object ↔ console: everything that the pages look up by kind is there for every kind of the document."""

from __future__ import annotations

import pytest

from emulator.document import bundles
from emulator.presentation.languages.wording import MONEY_FIELDS
from emulator.resources.registry import REGISTRY
from emulator.ui.console import labels
from emulator.ui.console.render import COLUMNS, PILLS

KINDS: list[str] = bundles.load("control")["components"]["schemas"]["ObjectKind"]["enum"]
FIELDS = {kind.kind: set(kind.__struct_fields__) for kind in REGISTRY.kinds}


@pytest.mark.parametrize("kind", KINDS)
def test_a_record_declares_the_names_of_its_kind(kind: str) -> None:
    """What one and several are called. ``contract_tests/surfaces/i18n`` tests that all messages are translated."""
    assert labels.KIND_NAMES.get(kind), f"the record of {kind} declares no names"
    assert labels.KINDS.get(kind), f"the record of {kind} declares no names"


def test_a_list_has_columns_for_every_kind_and_no_other() -> None:
    assert COLUMNS.keys() == set(KINDS)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind in FIELDS])
def test_the_columns_are_fields_of_the_kind(kind: str) -> None:
    assert COLUMNS[kind]
    assert set(COLUMNS[kind]) <= FIELDS[kind]


def test_fields_that_are_shown_in_a_special_way_are_columns() -> None:
    assert set().union(*COLUMNS.values()) >= PILLS


def test_the_fields_that_hold_amounts_are_those_of_the_document() -> None:
    schemas = bundles.load("service")["components"]["schemas"]
    names = {"".join(word.title() for word in kind.split("_")) for kind in FIELDS}
    documented = {
        field
        for name in names & schemas.keys()
        for field, schema in schemas[name]["properties"].items()
        if "minor units" in str(schema.get("description"))
    }
    assert documented == MONEY_FIELDS
