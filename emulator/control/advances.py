"""Advances that are not waited for: begun with ``Prefer: respond-async``, looked at and stopped by their id (B-92)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from emulator.core.world import encode
from emulator.engine.advance_result import AdvanceResult
from emulator.engine.advances import Advance
from emulator.engine.engine import Engine
from emulator.engine.runtime import Runtime
from emulator.errors import ApiError
from emulator.web.response import Response

PREFERENCE = "respond-async"

Query = Mapping[str, Any]


def preferred(headers: Mapping[str, str]) -> bool:
    """Whether the client would rather not wait; letter case and other preferences do not count (RFC 7240)."""
    return PREFERENCE in (each.strip().lower() for each in headers.get("Prefer", "").split(","))


def accepted(advance: Advance, app: str | None) -> Response:
    """202: it has begun, and here is where to ask about it."""
    location = f"/_emulator/clock/advances/{advance.id}" + (f"?app={app}" if app else "")
    return Response(202, encode(face(advance)), {"Location": location, "Preference-Applied": PREFERENCE})


def told(tally: AdvanceResult) -> dict[str, Any]:
    """What happened on the way, as it goes on the wire."""
    return {
        "from": tally.start,
        "now": tally.now,
        "jobs": tally.jobs,
        "events": dict(tally.events),
        "deliveries": {"succeeded": tally.deliveries[True], "failed": tally.deliveries[False]},
        "failures": [
            {"job": failure.id, "kind": failure.name, "object": failure.about, "error": failure.error}
            for failure in tally.failures
        ],
    }


def face(advance: Advance) -> dict[str, Any]:
    """An advance as it goes on the wire."""
    return {
        "id": advance.id,
        "status": advance.status,
        "to": advance.target.to,
        "progress": advance.progress,
        "error": _reason(advance.error),
        **told(advance.result),
    }


def _reason(error: BaseException | None) -> str | None:
    """What went wrong, for the eyes of others: a refusal says it, anything else is in the server's log."""
    if error is None:
        return None
    return error.message if isinstance(error, ApiError) else f"{type(error).__name__}; the server's log says more."


async def show(engine: Engine, runtime: Runtime, id: str, query: Query) -> dict[str, Any]:
    """GET /clock/advances/{id}."""
    return face(runtime.advances.find(id))


async def stop(engine: Engine, runtime: Runtime, id: str, query: Query) -> dict[str, Any]:
    """DELETE /clock/advances/{id}: between two jobs; the clock stays where it has come to."""
    advance = runtime.advances.find(id)
    await runtime.advances.stop(advance)
    return face(advance)


OPERATIONS = {"getClockAdvance": show, "stopClockAdvance": stop}
