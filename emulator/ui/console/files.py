"""Files: an email as HTML and as its raw source, its attachments, snapshots, recordings; and reports of runs, opened.

Reports are those of ``test app --json`` and of ``test all --json``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from starlette.responses import Response

from emulator.ui.console import actions
from emulator.ui.console.api_client import CONTROL
from emulator.ui.console.request import ConsoleRequest

if TYPE_CHECKING:
    from email.message import EmailMessage


# -- downloads


FORWARDED = ("content-type", "content-security-policy", "referrer-policy", "x-content-type-options")


async def html(request: ConsoleRequest) -> Response:
    """Return an email as HTML. The page shows it in a sandboxed frame."""
    answer = await request.response("GET", _path(request, "html"))
    return Response(
        answer.content, headers={name: answer.headers[name] for name in FORWARDED if name in answer.headers}
    )


async def raw(request: ConsoleRequest) -> Response:
    """Return the raw source of an email, as text."""
    answer = await request.response("GET", _path(request, "raw"))
    return Response(answer.content, media_type="text/plain; charset=utf-8")


async def attachment(request: ConsoleRequest) -> Response:
    """Return an attachment of an email, by its name."""
    # Loaded on first use: most servers never show an email.
    from email import message_from_bytes, policy

    answer = await request.response("GET", _path(request, "raw"))
    message: EmailMessage = message_from_bytes(answer.content, policy=policy.default)
    for part in message.iter_attachments():
        if part.get_filename() == request.http.path_params["name"]:
            return Response(part.get_content(), media_type=part.get_content_type())
    raise request.not_found()


async def export(request: ConsoleRequest) -> Response:
    """Return a snapshot as a file; by the link to share it, a scrubbed one."""
    name = request.id
    share = request.query.get("share") == "true"
    answer = await request.response("GET", f"{CONTROL}/snapshots/{name}", {"share": str(share).lower()})
    saved = {"Content-Disposition": f'attachment; filename="{name}{"-shared" * share}.json"'}
    return Response(answer.content, headers=saved, media_type="application/json")


def _path(request: ConsoleRequest, form: str) -> str:
    return f"{CONTROL}/emails/{request.id}/{form}"


HANDLERS: Mapping[str, Callable[[ConsoleRequest], Awaitable[Response]]] = {
    "emails/{id}/html": html,
    "emails/{id}/raw": raw,
    "emails/{id}/attachments/{name}": attachment,
    "snapshots/{id}/export": export,
    **actions.HANDLERS,
}
"""By path below ``/_emulator/console/``."""


# -- reports of runs


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
    again: str


class _AllArea(msgspec.Struct):
    name: str
    question: str
    mark: int | None
    findings: list[_AllFinding]
    not_examined: str | None = None


class _AllFile(msgspec.Struct):
    headline: str
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
    """Return the report of a JSON text. Raises ``ValueError`` for one that is neither of these."""
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
            area.not_examined or area.question,
            "" if area.mark is None else str(area.mark),
            [OpenedFinding(each.sentence, [each.again], each.fix) for each in area.findings],
        )
        for area in report.areas
    ]
    passed = report.failure is None and not any(area.findings for area in report.areas)
    return OpenedReport("test all", report.headline, passed, areas)
