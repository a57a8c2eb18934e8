"""Steps that lead on from the present state of an object: the label of each, what comes of it, and the request that does it.

``fixtures/next-steps.yaml`` has them by kind, with the facts that they depend on, so that no step is offered that would
change nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from emulator.core.records import Record
from emulator.core.world import World
from emulator.document.references import filled
from emulator.insight.facts import Known
from emulator.presentation.languages.language import Language
from emulator.presentation.languages.wording import NEXT_STEPS


class Amount(msgspec.Struct, frozen=True):
    """An amount that a step can be given, at most ``most``, in minor units of the currency."""

    most: int
    currency: str


class NextStep(msgspec.Struct, frozen=True):
    """One step. Without its ``amount`` all of it is meant; ``refrain`` is the way back from a step that asks first."""

    name: str
    label: str
    consequence: str
    method: str
    path: str
    body: Mapping[str, Any] | None
    amount: Amount | None
    is_dangerous: bool
    refrain: str | None


class _Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    label: str
    consequence: str
    path: str
    method: str = "POST"
    when: Mapping[str, Sequence[Any]] = {}
    body: Mapping[str, Any] = {}
    amount: str = ""
    danger: bool = False
    refrain: str | None = None
    buyer: str | None = None


STEPS: Mapping[str, Mapping[str, _Row]] = msgspec.convert(NEXT_STEPS, dict[str, dict[str, _Row]])
"""By kind and name."""


def next_steps(world: World, record: Record, language: Language) -> Iterator[NextStep]:
    known = Known(world, record, language)
    for name, row in STEPS.get(record.kind, {}).items():
        if known.fits(row.when):
            with suppress(KeyError):
                yield _step(name, row, known)


def _step(name: str, row: _Row, known: Known) -> NextStep:
    """Return a step. Raises ``KeyError`` where a fact that it names does not hold."""

    def look_up(fact: str) -> Any:
        if (value := known.get(fact)) is None:
            raise KeyError(fact)
        return value

    gettext = known.language.gettext
    return NextStep(
        name,
        gettext(row.label, **known.in_words(row.label)),
        gettext(row.consequence),
        row.method,
        filled(row.path, look_up),
        filled(row.body, look_up) if row.body else None,
        Amount(look_up(row.amount), look_up("currency")) if row.amount else None,
        row.danger,
        gettext(row.refrain) if row.refrain else None,
    )
