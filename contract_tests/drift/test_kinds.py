"""Kinds of object ↔ console: everything that the pages look up by kind is there for every kind of the document."""

from __future__ import annotations

import pytest

from emulator.console import labels
from emulator.console.columns import COLUMNS, MONEY, PILLS
from emulator.document import bundles
from emulator.resources.registry import REGISTRY

KINDS: list[str] = bundles.load("control")["components"]["schemas"]["ObjectKind"]["enum"]
FIELDS = {kind.kind: set(kind.__struct_fields__) for kind in REGISTRY.kinds}


@pytest.mark.parametrize("kind", KINDS)
def test_a_record_declares_the_names_of_its_kind(kind: str) -> None:
    """What one and several are called. ``contract_tests/i18n`` tests that all messages are translated."""
    assert labels.KIND_NAMES.get(kind), f"the record of {kind} declares no names"
    assert labels.KINDS.get(kind), f"the record of {kind} declares no names"


def test_a_list_has_columns_for_every_kind_and_no_other() -> None:
    assert COLUMNS.keys() == set(KINDS)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind in FIELDS])
def test_the_columns_are_fields_of_the_kind(kind: str) -> None:
    assert COLUMNS[kind]
    assert set(COLUMNS[kind]) <= FIELDS[kind]


def test_fields_that_are_shown_in_a_special_way_are_columns() -> None:
    assert set().union(*COLUMNS.values()) >= MONEY | PILLS
