"""Reports of runs, opened from their JSON: those of ``sweep --json`` and of ``grade --json``."""

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


class _GradeFinding(msgspec.Struct):
    sentence: str
    fix: str


class _GradeArea(msgspec.Struct):
    name: str
    question: str
    mark: int | None
    findings: list[_GradeFinding]
    not_asked: str | None = None


class _GradeFile(msgspec.Struct):
    mark: int
    failure: str | None
    areas: list[_GradeArea]


class _Disturbance(msgspec.Struct):
    title: str
    sentence: str
    differences: list[str]
    advice: str


class _SweepFile(msgspec.Struct):
    passed: bool
    runs: int
    requests: int
    deliveries: int
    findings: list[_Disturbance]
    unstable: list[str]
    failure: str | None
    remaining: int


def opened(text: str) -> OpenedReport:
    """The report of a JSON text. Raises ``ValueError`` for one that is neither a sweep's nor a grade's."""
    try:
        return _sweep(msgspec.json.decode(text, type=_SweepFile))
    except (msgspec.DecodeError, RecursionError):
        pass
    try:
        return _grade(msgspec.json.decode(text, type=_GradeFile))
    except (msgspec.DecodeError, RecursionError):
        raise ValueError("not the JSON of a sweep or a grade") from None


def _sweep(sweep: _SweepFile) -> OpenedReport:
    findings = [OpenedFinding(each.sentence, each.differences, each.advice) for each in sweep.findings]
    counts = f"{sweep.requests} requests, {sweep.deliveries} deliveries, {sweep.runs} runs"
    more = f"; {sweep.remaining} runs left out" if sweep.remaining else ""
    areas = [OpenedArea("Findings", counts + more, "", findings)] if findings else []
    if sweep.unstable:
        areas.append(OpenedArea("Not the same twice", "", "", [OpenedFinding(each, [], "") for each in sweep.unstable]))
    return OpenedReport("sweep", sweep.failure or counts + more, sweep.passed, areas)


def _grade(grade: _GradeFile) -> OpenedReport:
    areas = [
        OpenedArea(
            area.name,
            area.not_asked or area.question,
            "" if area.mark is None else str(area.mark),
            [OpenedFinding(each.sentence, [], each.fix) for each in area.findings],
        )
        for area in grade.areas
    ]
    passed = grade.failure is None and not any(area.findings for area in grade.areas)
    return OpenedReport("grade", grade.failure or f"{grade.mark} / 100", passed, areas)
