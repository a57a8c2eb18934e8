"""Magic values: what a buyer gives to make the operator do something special, one line of a fixture each (B-54)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from fnmatch import translate
from functools import lru_cache
from typing import Any, Literal

import msgspec

from emulator.core.world import World

NOTHING = timedelta()


class MagicValue(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One line of ``fixtures/magic.yaml``, where each field is explained. Durations are of the world's clock."""

    name: str
    value: str
    example: str
    meaning: str
    code: str | None = None
    off_session: str | None = None
    after: timedelta = NOTHING
    step: bool = False
    settles: timedelta = NOTHING
    disputed: timedelta = NOTHING
    refund: Literal["succeeded", "failed", "unanswered"] = "succeeded"


MagicValues = Mapping[str, tuple[MagicValue, ...]]
"""The magic values of each payment method type."""

ORDINARY = MagicValue(name="", value="", example="", meaning="Succeeds at once.")
"""What any value is that is not magic."""


def of_value(world: World, type: str, value: str) -> MagicValue:
    """The first line that fits what a buyer gave for a method of this type; ``ORDINARY`` where none does."""
    return _fitting(world.reference_data, type, value)


@lru_cache(maxsize=4096)  # every payment asks several times; facts never change
def _fitting(facts: Any, type: str, value: str) -> MagicValue:
    return next((line for form, line in _forms(facts, type) if form.match(value)), ORDINARY)


@lru_cache(maxsize=64)
def _forms(facts: Any, type: str) -> tuple[tuple[re.Pattern[str], MagicValue], ...]:
    """The lines of a type, each with the form of the values that it fits."""
    return tuple((re.compile(translate(line.value)), line) for line in facts.magic.get(type, ()))


def named(world: World, type: str, name: str | None) -> MagicValue:
    """The line of this name; ``ORDINARY`` where there is none."""
    lines: tuple[MagicValue, ...] = world.reference_data.magic.get(type, ())
    return next((line for line in lines if line.name == name), ORDINARY)
