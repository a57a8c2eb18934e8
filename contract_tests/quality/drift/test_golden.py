"""Records ↔ released states: whatever a release wrote can be read as the records of today."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from contract_tests.robustness.state import golden
from emulator.core.events import Event
from emulator.core.jobs import FailedJob, Job
from emulator.core.records import Record
from emulator.engine.storage import serialization
from emulator.resources.registry import REGISTRY

KINDS: tuple[type[Record], ...] = (Job, FailedJob, Event, *REGISTRY.kinds)

ADVICE = (
    "Users have states that {release} wrote, and they must open. Give a new field a default in its record"
    " (`tax_code: str | None = None`), or raise FORMAT in emulator/engine/storage/serialization.py and add a migration to"
    " MIGRATIONS that makes old records fit."
)


def unreadable(release: str, kinds: tuple[type[Record], ...]) -> Iterator[str]:
    """Yield why records of a release are no records of today, once for each cause."""
    tables: dict[str, dict[str, Any]] = serialization.up_to_date(golden.tables(release))
    for kind in kinds:
        causes = set()
        for row in tables.get(f"{golden.KEY}/{kind.kind}", {}).values():
            try:
                msgspec.convert(row, kind)
            except msgspec.ValidationError as error:
                causes.add(str(error))
        yield from (f"{kind.__name__}: {cause}. {ADVICE.format(release=release)}" for cause in sorted(causes))


@pytest.mark.parametrize("release", golden.RELEASES)
def test_a_record_of_a_release_is_one_of_today(release: str) -> None:
    assert list(unreadable(release, KINDS)) == []


@pytest.mark.parametrize("release", golden.RELEASES)
def test_every_kind_of_a_release_is_still_a_kind(release: str) -> None:
    """A kind that is gone needs a migration that removes its records."""
    names = serialization.up_to_date(golden.tables(release))
    kinds = {name.partition("/")[2] for name in names if "/" in name}
    assert kinds - {kind.kind for kind in KINDS} == set()


def test_a_required_field_that_is_added_is_found() -> None:
    """A new field of a customer or of something within one; one with a default is fine."""
    customer = next(kind for kind in KINDS if kind.kind == "customer")
    required = msgspec.defstruct("Customer", [("tax_code", str | None)], bases=(customer,), frozen=True, kw_only=True)
    optional = msgspec.defstruct(
        "Customer", [("tax_code", str | None, None)], bases=(customer,), frozen=True, kw_only=True
    )
    (found,) = unreadable(golden.RELEASES[0], (required,))
    assert found.startswith("Customer: Object missing required field `tax_code`. Users have states that 0.1.0 wrote")
    assert "Give a new field a default" in found
    assert list(unreadable(golden.RELEASES[0], (optional,))) == []
