"""Facts of the service and the emulator: the catalog, the assumptions and the health check.

The catalog has every magic value, error code with its recipe, event type and life cycle, for
programs to read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from emulator.control.objects import page_of
from emulator.core.errors import ERRORS
from emulator.core.event_types import EVENTS
from emulator.core.lists import Page
from emulator.engine.engine import Engine
from emulator.engine.reference_data import assumptions_of, error_examples
from emulator.engine.runtime import Runtime
from emulator.resources.app.settings import settings
from emulator.resources.registry import STATE_MACHINES
from emulator.version import VERSION


async def show(engine: Engine) -> dict[str, Any]:
    """GET /catalog."""
    return {
        "magic_values": msgspec.to_builtins(engine.reference_data.magic),
        "magic_keys": msgspec.to_builtins(engine.reference_data.magic_keys),
        "error_codes": [
            _error(code, recipe) for code, recipe in msgspec.to_builtins(error_examples()).items()
        ],
        "event_types": [
            {"type": type, "object": row.object, "meaning": row.meaning}
            for type, row in EVENTS.items()
        ],
        "life_cycles": {
            machine.kind.kind: [row._asdict() for row in machine.rows] for machine in STATE_MACHINES
        },
    }


def _error(code: str, recipe: dict[str, Any]) -> dict[str, Any]:
    row = ERRORS[code]
    about = {"explain": recipe["explain"], "recipe": recipe["steps"]}
    return {"code": code, "status": row.status, "type": row.category, **about}


async def list_assumptions(runtime: Runtime, query: Mapping[str, Any]) -> Page[Any]:
    """GET /assumptions: every assumption with its value in this App; PATCH /app changes them."""
    return page_of(assumptions_of(settings(runtime.world)), query)


async def show_health(engine: Engine) -> dict[str, Any]:
    """GET /health: ``apps`` is the number of worlds opened so far."""
    return {"status": "ok", "version": VERSION, "apps": len(engine.runtimes)}


OPERATIONS = {"listAssumptions": list_assumptions}
OPERATIONS_OF_ENGINE = {"getCatalog": show, "getHealth": show_health}
