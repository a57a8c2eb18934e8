"""Reports of runs, opened from their JSON: those of ``test app --json`` and of ``test all --json``."""

from __future__ import annotations

from typing import NamedTuple

import msgspec


class OpenedFinding(NamedTuple):
    """One finding: what happened, the details that show it, and what to do about it."""

    sentence: str
    details: list[str]
    fix: str


class OpenedArea(NamedTuple):
    """A part of a report. ``result`` is a mark, empty for a part without one."""

    name: str
    question: str
    result: str
    findings: list[OpenedFinding]


class OpenedReport(NamedTuple):
    """A report as it is shown: its command, its result, whether it passed, and its parts."""

    command: str
    result: str
    passed: bool
    areas: list[OpenedArea]


class _AllFinding(msgspec.Struct):
    sentence: str
    fix: str


class _AllArea(msgspec.Struct):
    name: str
    question: str
    mark: int | None
    findings: list[_AllFinding]
    not_asked: str | None = None


class _AllFile(msgspec.Struct):
    mark: int
    failure: str | None
    areas: list[_AllArea]


class _Disturbance(msgspec.Struct):
    title: str
    sentence: str
    differences: list[str]
    advice: str


class _AppFile(msgspec.Struct):
    passed: bool
    runs: int
    requests: int
    deliveries: int
    findings: list[_Disturbance]
    unstable: list[str]
    failure: str | None
    remaining: int


def opened(text: str) -> OpenedReport:
    """The report of a JSON text. Raises ``ValueError`` for one that is neither of these."""
    try:
        return _app(msgspec.json.decode(text, type=_AppFile))
    except (msgspec.DecodeError, RecursionError):
        pass
    try:
        return _all(msgspec.json.decode(text, type=_AllFile))
    except (msgspec.DecodeError, RecursionError):
        raise ValueError("not the JSON of test app or test all") from None


def _app(report: _AppFile) -> OpenedReport:
    findings = [OpenedFinding(each.sentence, each.differences, each.advice) for each in report.findings]
    counts = f"{report.requests} requests, {report.deliveries} deliveries, {report.runs} runs"
    more = f"; {report.remaining} runs left out" if report.remaining else ""
    areas = [OpenedArea("Findings", counts + more, "", findings)] if findings else []
    if report.unstable:
        areas.append(
            OpenedArea("Not the same twice", "", "", [OpenedFinding(each, [], "") for each in report.unstable])
        )
    return OpenedReport("test app", report.failure or counts + more, report.passed, areas)


def _all(report: _AllFile) -> OpenedReport:
    areas = [
        OpenedArea(
            area.name,
            area.not_asked or area.question,
            "" if area.mark is None else str(area.mark),
            [OpenedFinding(each.sentence, [], each.fix) for each in area.findings],
        )
        for area in report.areas
    ]
    passed = report.failure is None and not any(area.findings for area in report.areas)
    return OpenedReport("test all", report.failure or f"{report.mark} / 100", passed, areas)
