"""An object's standing and the ways on from there: the rows of two tables that fit its facts.

``fixtures/status-sentences.yaml`` has by kind the sentences that say how it stands, why, and what
happens to it next, ``fixtures/next-steps.yaml`` the steps: the label of each, what comes of it, the
request that does it, and the facts that it depends on, so that no step is offered that would change
nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from emulator.core.records import Record
from emulator.core.world import World
from emulator.document.paths import fixture
from emulator.document.references import filled
from emulator.insight.facts import Known, planned_jobs
from emulator.insight.names import job_texts
from emulator.presentation.languages.language import Language
from emulator.presentation.languages.wording import NEXT_STEPS

# -- sentences


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
"""By kind; of the others their fields say everything."""


def status_sentences(world: World, record: Record, language: Language) -> str:
    known = Known(world, record, language)
    rows = SENTENCES.get(record.kind, ())
    listed = (row for each in rows for row in ([each] if isinstance(each, Sentence) else each))
    return " ".join(filter(None, (_said(known, row) for row in listed)))


def _said(known: Known, row: Sentence) -> str:
    """Return a row's sentence; empty if it does not fit, or names an unknown fact."""
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
    language = known.language
    return (
        language.ngettext(row.one, row.many, number, **words)
        if number
        else language.gettext(row.say, **words)
    )


def _of_job(known: Known, name: str) -> str:
    """Return the outcome of a planned job, or of the soonest (``next``) that has words."""
    said = {
        job: text["next"]
        for job, text in job_texts().items()
        if "next" in text and name in (job, "next")
    }
    for job, due in planned_jobs(known.world, known.record.id).items():
        if job in said:
            return known.language.gettext(said[job], day=known.day(due))
    return known.language.gettext("Nothing more is planned.") if name == "next" else ""


# -- steps


class Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One step; ``fixtures/next-steps.yaml`` says how it is read."""

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


STEPS: Mapping[str, Mapping[str, Step]] = msgspec.convert(NEXT_STEPS, dict[str, dict[str, Step]])
"""By kind and name."""


def next_steps(world: World, record: Record, language: Language) -> Iterator[dict[str, Any]]:
    known = Known(world, record, language)
    for name, row in STEPS.get(record.kind, {}).items():
        if known.fits(row.when):
            with suppress(KeyError):
                yield _step(name, row, known)


def _step(name: str, row: Step, known: Known) -> dict[str, Any]:
    """Return a control API step. Raises ``KeyError`` if a fact that it names does not hold."""
    gettext, require = known.language.gettext, known.require
    return {
        "name": name,
        "label": gettext(row.label, **known.in_words(row.label)),
        "consequence": gettext(row.consequence),
        "method": row.method,
        "path": filled(row.path, require),
        "body": filled(row.body, require) if row.body else None,
        "amount": {"most": require(row.amount), "currency": require("currency")}
        if row.amount
        else None,
        "is_dangerous": row.danger,
        "refrain": gettext(row.refrain) if row.refrain else None,
    }
