"""Magic values: phones, cards and accounts for which the operator decides in a special way (B-54)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from fnmatch import translate
from functools import lru_cache
from typing import Any, Literal

import msgspec

from emulator.core.world import World

AT_ONCE = timedelta()


class MagicValue(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One row of ``fixtures/magic.yaml``, where each field is explained. Durations are on the world's clock."""

    name: str
    value: str
    example: str
    meaning: str
    code: str | None = None
    off_session: str | None = None
    after: timedelta = AT_ONCE
    step: bool = False
    settles: timedelta = AT_ONCE
    disputed: timedelta = AT_ONCE
    refund: Literal["succeeded", "failed", "unanswered"] = "succeeded"


MagicValues = Mapping[str, tuple[MagicValue, ...]]
"""The magic values of each payment method type."""

ORDINARY = MagicValue(name="", value="", example="", meaning="Succeeds at once.")
"""What applies to all other values."""


def of_value(world: World, type: str, value: str) -> MagicValue:
    """The first row that matches a buyer's phone, card number, IBAN or email; ``ORDINARY`` if none does."""
    return _first_match(world.reference_data, type, value)


@lru_cache(maxsize=4096)  # each payment looks up its value several times; reference data never changes
def _first_match(reference_data: Any, type: str, value: str) -> MagicValue:
    return next((row for pattern, row in _patterns(reference_data, type) if pattern.match(value)), ORDINARY)


@lru_cache(maxsize=64)
def _patterns(reference_data: Any, type: str) -> tuple[tuple[re.Pattern[str], MagicValue], ...]:
    """The rows of a type of payment method, each with the pattern of its values."""
    return tuple((re.compile(translate(row.value)), row) for row in reference_data.magic.get(type, ()))


def named(world: World, type: str, name: str | None) -> MagicValue:
    """The row with this name; ``ORDINARY`` if there is none."""
    rows: tuple[MagicValue, ...] = world.reference_data.magic.get(type, ())
    return next((row for row in rows if row.name == name), ORDINARY)
