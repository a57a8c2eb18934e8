"""The event log of a world, newest first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from emulator.control.long_poll import first_match
from emulator.core.events import Event
from emulator.core.handlers import Page, paginate
from emulator.engine.engine import Engine
from emulator.engine.runtime import Runtime


def _is_about(event: Event, id: str) -> bool:
    return event.about == id


async def index(engine: Engine, runtime: Runtime, query: Mapping[str, Any]) -> Page[Event]:
    """GET /events: filters ``type`` and ``object`` (an id); ``wait`` answers as soon as one matches (real seconds)."""
    filters = {name: value for name, value in query.items() if name not in ("app", "wait")}
    return await first_match(
        runtime,
        query["wait"],
        lambda: paginate(runtime.world.table(Event), filters, {"object": _is_about}),
    )


OPERATIONS = {"listEvents": index}
