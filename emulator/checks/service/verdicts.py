"""Verdicts: the result for each assumption, its evidence, and the resulting profile."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, get_args

import msgspec

from emulator.checks.report import Finding, Report
from emulator.checks.service.service import Evidence
from emulator.document.probes import Collected
from emulator.document.profile import Profile, Refuted

VerdictKind = Literal["confirmed", "differs", "not_answered", "not_asked"]

KINDS: tuple[VerdictKind, ...] = get_args(VerdictKind)

LONGEST_LINE = 300


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one probe: whether its assumption holds.

    ``assumptions`` and ``settings`` are values of the service, ``learnt`` others that no setting
    follows. ``observed`` are the values that were looked at. ``why`` is the reason where
    there is no result.
    """

    probe: str
    number: str
    verdict: VerdictKind
    assumptions: dict[str, str] = {}
    settings: dict[str, Any] = {}
    learnt: dict[str, Any] = {}
    observed: dict[str, Any] = {}
    why: str = ""
    evidence: list[Evidence] = []

    def finding(self, severity: str) -> Finding:
        """Return the verdict with the values to follow, the observation, and the last request."""
        values = ", ".join(
            f"{name}={value}" for name, value in {**self.assumptions, **self.settings}.items()
        )
        name = f"{self.number} {self.probe}"
        title = f"{name}: {self.verdict.replace('_', ' ')}{values and f' ({values})'}"
        seen = (
            [self.why]
            if self.why
            else [f"{path} is {value!r}" for path, value in self.observed.items()]
        )
        last = [
            f"{exchange.request} {exchange.status} {exchange.request_id or ''}"
            for exchange in self.evidence[-1:]
        ]
        return Finding(
            name, title, [line[:LONGEST_LINE] for line in (*seen, *last)], severity=severity
        )

    @property
    def followed(self) -> bool:
        """Whether the emulator can be made to do the same."""
        return bool(self.assumptions or self.settings)


class CalibrationReport(msgspec.Struct, frozen=True, kw_only=True):
    """Every verdict of one run; ``date`` is its day (UTC), ``requests`` the number of requests."""

    url: str
    date: str
    requests: int
    verdicts: list[Verdict]

    def of(self, kind: VerdictKind) -> list[Verdict]:
        return [verdict for verdict in self.verdicts if verdict.verdict == kind]

    def as_json(self) -> dict[str, object]:
        """Return, per kind of verdict, a list of ``{number, assumption, value, evidence, …}``."""
        lists: dict[str, object] = {
            kind: [_row(verdict) for verdict in self.of(kind)] for kind in KINDS
        }
        return {"url": self.url, "date": self.date, "requests": self.requests, **lists}

    def report(self, profile: Profile, drift: Sequence[str] = ()) -> Report:
        """Return the differences from a profile, the wrong assumptions, and the open questions."""
        findings = [Finding("the profile", line) for line in drift]
        findings += [verdict.finding("warning") for verdict in self.of("differs")]
        findings += [verdict.finding("info") for verdict in self.of("not_answered")]
        counted = ", ".join(f"{len(self.of(kind))} {kind.replace('_', ' ')}" for kind in KINDS)
        return Report(
            "compare service",
            f"{counted}; {self.requests} requests.",
            findings,
            right=[f"{verdict.number} {verdict.probe}" for verdict in self.of("confirmed")],
            notes=[f"{profile.sentence()}."],
            facts=self.as_json(),
        )


def _row(verdict: Verdict) -> dict[str, object]:
    assumption, value = next(
        iter({**verdict.assumptions, **verdict.settings}.items()), (None, None)
    )
    fields = {name: getattr(verdict, name) for name in ("observed", "learnt", "why")}
    return {
        "number": verdict.number,
        "probe": verdict.probe,
        "assumption": assumption,
        "value": value,
        **fields,
        "evidence": msgspec.to_builtins(verdict.evidence),
    }


# -- the profile of the service


def profile_of(known: Collected, report: CalibrationReport, known_numbers: int) -> Profile:
    """Return the service's profile; ``known_numbers`` counts the emulator's assumptions.

    An assumption is confirmed if a probe confirmed it and none differs in a way that no setting
    follows.
    """
    confirmed, differing = report.of("confirmed"), report.of("differs")
    values = {
        name: {
            key: value
            for verdict in (*confirmed, *differing)
            for key, value in getattr(verdict, name).items()
        }
        for name in ("settings", "assumptions", "learnt")
    }
    broken = {verdict.number for verdict in differing if not verdict.followed}
    held = {verdict.number for verdict in (*confirmed, *differing)}
    return Profile(
        service=report.url,
        date=report.date,
        of=known_numbers,
        confirmed=sorted(held - broken),
        refuted=[
            Refuted(
                number=verdict.number,
                probe=verdict.probe,
                asked=known.probes[verdict.probe].asks,
                observed=verdict.observed,
                followed=verdict.followed,
                request_ids=[
                    exchange.request_id for exchange in verdict.evidence if exchange.request_id
                ],
            )
            for verdict in differing
        ],
        **values,
    )
