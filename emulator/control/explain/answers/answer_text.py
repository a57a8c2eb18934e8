"""The answer about any record: how it stands, why, and what happens to it next.

``Past due since 12 January 2026. 2 charges of Airtel +241 …0001 failed, the last with INSUFFICIENT_FUNDS. …`` The
sentences are made of what the records and the planned jobs say now, not of the journal, which forgets.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from emulator.control.explain.answers import billing_answers, customer_answers, payment_answers, webhook_answers
from emulator.control.explain.answers.answer import AnswerWriter
from emulator.core.records import Record
from emulator.core.world import World
from emulator.presentation.languages.language import Language

ANSWERS: Mapping[type[Record], Callable[[AnswerWriter, Any], list[str]]] = {
    **billing_answers.ANSWERS,
    **payment_answers.ANSWERS,
    **customer_answers.ANSWERS,
    **webhook_answers.ANSWERS,
}
"""The kinds that have an answer; the fields of the others say everything."""


def answer(world: World, record: Record, language: Language) -> str:
    """The sentences about a record; empty for a kind that has none."""
    about = ANSWERS.get(type(record))
    return " ".join(filter(None, about(AnswerWriter(world, record, language), record))) if about else ""
