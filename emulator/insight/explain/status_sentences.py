"""Sentences that say how an object stands, why, and what happens to it next: the rows of a table that fit it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from emulator.core.records import Record
from emulator.core.world import World
from emulator.document.paths import fixture
from emulator.insight.facts import Known, planned_jobs
from emulator.insight.names import job_texts
from emulator.presentation.languages.language import Language


class _Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One sentence, or the ``first`` of several; ``fixtures/status-sentences.yaml`` says how they are read."""

    when: Mapping[str, Sequence[Any]] = {}
    unless: Mapping[str, Sequence[Any]] = {}
    say: str = ""
    job: str = ""
    count: str = ""
    one: str = ""
    many: str = ""
    first: Sequence[_Row] = ()


SENTENCES: Mapping[str, Sequence[_Row | Sequence[_Row]]] = msgspec.convert(
    fixture("status-sentences"), dict[str, list[_Row | list[_Row]]]
)
"""By kind; of the others their fields say everything."""


def status_sentences(world: World, record: Record, language: Language) -> str:
    known = Known(world, record, language)
    return " ".join(filter(None, (_said(known, row) for row in _rows(SENTENCES.get(record.kind, ())))))


def _rows(rows: Sequence[_Row | Sequence[_Row]]) -> Iterator[_Row]:
    for row in rows:
        yield from [row] if isinstance(row, _Row) else row


def _said(known: Known, row: _Row) -> str:
    """Return the sentence of a row; empty where it does not fit, or something that it names is not known."""
    if row.first:
        return next(filter(None, (_said(known, each) for each in row.first)), "")
    if not known.fits(row.when, row.unless):
        return ""
    if row.job:
        return _of_job(known, row.job)
    number = known.get(row.count) if row.count else None
    if row.count and not number:
        return ""
    try:
        words = known.in_words(row.say, row.one, row.many)
    except KeyError:
        return ""
    return (
        known.language.ngettext(row.one, row.many, number, **words)
        if number
        else known.language.gettext(row.say, **words)
    )


def _of_job(known: Known, name: str) -> str:
    """Return what comes of a planned job, or of the soonest one (``next``) for which there are words."""
    said = {job: text["next"] for job, text in job_texts().items() if "next" in text and name in (job, "next")}
    for job, due in planned_jobs(known.world, known.record.id).items():
        if job in said:
            return known.language.gettext(said[job], day=known.day(due))
    return known.language.gettext("Nothing more is planned.") if name == "next" else ""
