"""The reports that the package ``insight`` makes of a world: a row of the table for each."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from emulator.core.lists import Query
from emulator.engine.runtime import Runtime
from emulator.insight import coverage
from emulator.insight.audit.audit import audit_of
from emulator.insight.explain import explanation
from emulator.insight.recording.builder import Builder
from emulator.insight.recording.renderers import FORMS
from emulator.presentation.languages.language import language_of
from emulator.web.context import Response


async def _audit(runtime: Runtime) -> Any:
    """GET /audit: the broken rules, the kept ones, and those that no request was about."""
    return await runtime.examine(audit_of)


async def _explanation(runtime: Runtime, id: str, query: Query) -> Any:
    """GET /explain/{id}: why the object is in its present state."""
    language, responses = language_of(query["language"]), {**runtime.inbox.rules}
    return await runtime.examine(explanation.explain, id, language, responses)


async def _coverage(runtime: Runtime, query: Query) -> dict[str, Any]:
    """GET /coverage: the groups of the query's ``group``, or all."""
    used = coverage.report(runtime.journal.coverage, query.get("group", coverage.GROUPS))
    return {"object": "coverage", "app": runtime.world.app, **used}


async def _recording(runtime: Runtime, query: Query) -> Response:
    """GET /recording. Raises 409 where there is nothing to record, or it cannot be done again."""
    recording = Builder(runtime, query.get("since"), query.get("until")).build()
    return Response(
        200, FORMS[query["as"]](recording).encode(), media_type=b"text/plain; charset=utf-8"
    )


REPORTS: Mapping[str, Callable[..., Awaitable[Any]]] = {
    "audit": _audit,
    "explainObject": _explanation,
    "getCoverage": _coverage,
    "getRecording": _recording,
}


def _up_to_date(report: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """Return the handler of a report: first the jobs that are due run."""

    async def show(runtime: Runtime, **arguments: Any) -> Any:
        await runtime.catch_up()
        return await report(runtime, **arguments)

    return show


OPERATIONS = {name: _up_to_date(report) for name, report in REPORTS.items()}
