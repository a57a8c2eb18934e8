"""What follows from a report: the profile of the service."""

from __future__ import annotations

from typing import Any

from emulator.checks.service.verdicts import CalibrationReport, Verdict
from emulator.document.probes import Collected
from emulator.document.profile import Profile, Refuted


def profile_of(known: Collected, report: CalibrationReport, known_numbers: int) -> Profile:
    """The profile of the service; ``known_numbers`` is how many assumptions the emulator has.

    An assumption is confirmed if a probe confirmed it and none differs in a way that no setting follows.
    """
    differing = report.of("differs")
    assumptions: dict[str, str] = {}
    settings: dict[str, Any] = {}
    learnt: dict[str, Any] = {}
    for verdict in (*report.of("confirmed"), *differing):
        assumptions |= verdict.assumptions
        settings |= verdict.settings
        learnt |= verdict.learnt
    broken = {each.number for each in differing if not each.followed}
    held = {each.number for each in (*report.of("confirmed"), *(each for each in differing if each.followed))}
    return Profile(
        service=report.url,
        date=report.date,
        of=known_numbers,
        settings=settings,
        assumptions=assumptions,
        confirmed=sorted(held - broken),
        refuted=[_refuted(known, each) for each in differing],
        learnt=learnt,
    )


def _refuted(known: Collected, verdict: Verdict) -> Refuted:
    return Refuted(
        number=verdict.number,
        probe=verdict.probe,
        asked=known.probes[verdict.probe].asks,
        observed=verdict.observed,
        followed=verdict.followed,
        request_ids=[each.request_id for each in verdict.evidence if each.request_id],
    )
