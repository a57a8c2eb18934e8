"""Advances in the background: begun with ``Prefer: respond-async``, shown and stopped by their id (B-92)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from emulator.core.errors import ApiError
from emulator.core.handlers import Query
from emulator.core.world import encode
from emulator.engine.advances import Advance, AdvanceResult
from emulator.engine.engine import Engine
from emulator.engine.runtime import Runtime
from emulator.web.context import Response

PREFERENCE = "respond-async"


def prefers_async(headers: Mapping[str, str]) -> bool:
    """Whether the client prefers not to wait; letter case and other preferences are ignored (RFC 7240)."""
    return PREFERENCE in (each.strip().lower() for each in headers.get("Prefer", "").split(","))


def accepted(advance: Advance, app: str | None) -> Response:
    """The response 202 with the URL of the advance that has begun."""
    location = f"/_emulator/clock/advances/{advance.id}" + (f"?app={app}" if app else "")
    return Response(202, encode(advance_view(advance)), {"Location": location, "Preference-Applied": PREFERENCE})


def result_view(result: AdvanceResult) -> dict[str, Any]:
    """What happened during an advance, as it is sent."""
    return {
        "from": result.start,
        "now": result.now,
        "jobs": result.jobs,
        "events": dict(result.events),
        "deliveries": {"succeeded": result.deliveries[True], "failed": result.deliveries[False]},
        "failures": [
            {"job": failure.id, "kind": failure.name, "object": failure.about, "error": failure.error}
            for failure in result.failures
        ],
    }


def advance_view(advance: Advance) -> dict[str, Any]:
    """An advance as it is sent."""
    return {
        "id": advance.id,
        "status": advance.status,
        "to": advance.target.to,
        "progress": advance.progress,
        "error": _reason(advance.error),
        **result_view(advance.result),
    }


def _reason(error: BaseException | None) -> str | None:
    """What went wrong: the message of an API error; details of any other error are in the server's log only."""
    if error is None:
        return None
    return error.message if isinstance(error, ApiError) else f"{type(error).__name__}; the server's log says more."


async def show(engine: Engine, runtime: Runtime, id: str, query: Query) -> dict[str, Any]:
    """GET /clock/advances/{id}."""
    return advance_view(runtime.advances.find(id))


async def stop(engine: Engine, runtime: Runtime, id: str, query: Query) -> dict[str, Any]:
    """DELETE /clock/advances/{id}: stops it between two jobs; the clock stays at the instant reached."""
    advance = runtime.advances.find(id)
    await runtime.advances.stop(advance)
    return advance_view(advance)


OPERATIONS = {"getClockAdvance": show, "stopClockAdvance": stop}
