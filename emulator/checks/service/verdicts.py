"""Verdicts: what was found out about each assumption, with the evidence, and the profile that follows."""

from __future__ import annotations

from collections import Counter
from typing import Any, Literal

import msgspec

Answered = Literal["confirmed", "differs", "not_answered", "not_asked"]
KINDS: tuple[Answered, ...] = ("confirmed", "differs", "not_answered", "not_asked")


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """A request that was made, with its answer; secrets in both are masked."""

    request: str
    sent: Any
    status: int
    request_id: str | None
    body: Any


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What one probe found out about its assumption.

    ``assumptions`` and ``settings`` are values of the service, ``learnt`` others that no setting follows. ``observed``
    are the values that were looked at. ``why`` says what hindered an answer.
    """

    probe: str
    number: str
    verdict: Answered
    assumptions: dict[str, str] = {}
    settings: dict[str, Any] = {}
    learnt: dict[str, Any] = {}
    observed: dict[str, Any] = {}
    why: str = ""
    evidence: list[Evidence] = []

    @property
    def followed(self) -> bool:
        """Whether the emulator can be made to do the same."""
        return bool(self.assumptions or self.settings)


class CalibrationReport(msgspec.Struct, frozen=True, kw_only=True):
    """Every verdict of one run; ``date`` is its day (UTC), ``requests`` how many requests were made."""

    url: str
    date: str
    requests: int
    verdicts: list[Verdict]

    def of(self, kind: Answered) -> list[Verdict]:
        """The verdicts of one kind."""
        return [each for each in self.verdicts if each.verdict == kind]

    def as_json(self) -> dict[str, Any]:
        """The report: a list of ``{number, assumption, value, evidence, …}`` for each kind."""
        lists: dict[str, Any] = {kind: [_row(each) for each in self.of(kind)] for kind in KINDS}
        return {"url": self.url, "date": self.date, "requests": self.requests, **lists}

    def counted(self) -> str:
        """How many probes ended how, in one line."""
        counted = Counter(each.verdict for each in self.verdicts)
        return ", ".join(f"{counted[kind]} {kind.replace('_', ' ')}" for kind in KINDS)


def _row(verdict: Verdict) -> dict[str, Any]:
    found = {**verdict.assumptions, **verdict.settings}
    assumption = next(iter(found), None)
    value = found[assumption] if assumption else None
    return {
        "number": verdict.number,
        "probe": verdict.probe,
        "assumption": assumption,
        "value": value,
        "observed": verdict.observed,
        "learnt": verdict.learnt,
        "why": verdict.why,
        "evidence": msgspec.to_builtins(verdict.evidence),
    }
