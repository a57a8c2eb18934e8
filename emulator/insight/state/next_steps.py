"""The next steps from an object's state: the rows of a table that fit its facts.

``fixtures/next-steps.yaml`` has by kind of object the steps: the label and the consequence of each,
the request that takes it, and the facts that it depends on, so that no step is offered that would
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
from emulator.insight.state.arranged import Responses
from emulator.insight.state.facts import ObjectFacts
from emulator.presentation.languages.language import Language
from emulator.presentation.languages.wording import NEXT_STEPS


class Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One step; ``fixtures/next-steps.yaml`` says how it is read."""

    label: str
    consequence: str
    path: str
    while_under_way: str = ""
    method: str = "POST"
    when: Mapping[str, Sequence[Any]] = {}
    body: Mapping[str, Any] = {}
    amount: str = ""
    danger: bool = False
    refrain: str | None = None
    buyer: str | None = None


STEPS: Mapping[str, Mapping[str, Step]] = msgspec.convert(NEXT_STEPS, dict[str, dict[str, Step]])
"""By kind and name."""


def next_steps(
    world: World, record: Record, language: Language, responses: Responses
) -> Iterator[dict[str, Any]]:
    """Yield the steps, given the responses of the world's inboxes, which are not part of it."""
    facts = ObjectFacts(world, record, language, responses)
    for name, row in STEPS.get(record.kind, {}).items():
        if facts.fits(row.when):
            with suppress(KeyError):
                yield _step(name, row, facts)


def _step(name: str, row: Step, facts: ObjectFacts) -> dict[str, Any]:
    """Return a control API step. Raises ``KeyError`` if a fact that it names does not hold."""
    gettext, require = facts.language.gettext, facts.require
    is_charging = bool(row.while_under_way and facts.get("charge"))
    consequence = row.while_under_way if is_charging else row.consequence
    return {
        "name": name,
        "label": gettext(row.label, **facts.in_words(row.label)),
        "consequence": gettext(consequence, **facts.in_words(consequence)),
        "method": row.method,
        "path": filled(row.path, require),
        "body": filled(row.body, require) if row.body else None,
        "amount": {"most": require(row.amount), "currency": require("currency")}
        if row.amount
        else None,
        "is_dangerous": row.danger,
        "refrain": gettext(row.refrain) if row.refrain else None,
    }
