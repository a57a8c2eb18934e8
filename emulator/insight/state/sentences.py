"""The sentences about an object's state: the rows of a table that fit its facts.

``fixtures/status-sentences.yaml`` has by kind of object the sentences that say which state it is
in, why, and what happens to it next.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from emulator.core.records import Record
from emulator.core.world import World
from emulator.document.paths import fixture
from emulator.insight.names import job_texts
from emulator.insight.state.charges import planned_jobs
from emulator.insight.state.facts import ObjectFacts
from emulator.presentation.languages.language import Language


class Sentence(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One sentence, or the ``first`` of several, as in ``fixtures/status-sentences.yaml``."""

    when: Mapping[str, Sequence[Any]] = {}
    unless: Mapping[str, Sequence[Any]] = {}
    say: str = ""
    job: str = ""
    count: str = ""
    one: str = ""
    many: str = ""
    first: Sequence[Sentence] = ()


SENTENCES: Mapping[str, Sequence[Sentence | Sequence[Sentence]]] = msgspec.convert(
    fixture("status-sentences"), dict[str, list[Sentence | list[Sentence]]]
)
"""By kind. The fields of other kinds say everything."""


def status_sentences(world: World, record: Record, language: Language) -> str:
    facts = ObjectFacts(world, record, language)
    rows = SENTENCES.get(record.kind, ())
    listed = (row for group in rows for row in ([group] if isinstance(group, Sentence) else group))
    return " ".join(filter(None, (_sentence(facts, row) for row in listed)))


def _sentence(facts: ObjectFacts, row: Sentence) -> str:
    """Return a row's sentence; empty if it does not fit, or names an unknown fact."""
    if row.first:
        return next(filter(None, (_sentence(facts, alternative) for alternative in row.first)), "")
    if not facts.fits(row.when, row.unless):
        return ""
    if row.job:
        return _of_job(facts, row.job)
    number = facts.get(row.count) if row.count else None
    if row.count and not number:
        return ""
    try:
        words = facts.in_words(row.say, row.one, row.many)
    except KeyError:
        return ""
    language = facts.language
    return (
        language.ngettext(row.one, row.many, number, **words)
        if number
        else language.gettext(row.say, **words)
    )


def _of_job(facts: ObjectFacts, name: str) -> str:
    """Return the outcome of a planned job, or of the soonest (``next``) that has words."""
    outcomes = {
        job: text["next"]
        for job, text in job_texts().items()
        if "next" in text and name in (job, "next")
    }
    for job, due in planned_jobs(facts.world, facts.record.id).items():
        if job in outcomes:
            return facts.language.gettext(outcomes[job], day=facts.day(due))
    return facts.language.gettext("Nothing more is planned.") if name == "next" else ""
