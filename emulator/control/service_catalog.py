"""The catalog: every magic value, error code with its recipe, event type and life cycle, for programs to read."""

from __future__ import annotations

from typing import Any

import msgspec

from emulator.core.errors import ERRORS
from emulator.core.event_types import EVENTS
from emulator.engine.engine import Engine
from emulator.engine.reference_data import error_examples
from emulator.engine.runtime import Runtime
from emulator.resources.registry import STATE_MACHINES


async def show(engine: Engine, runtime: Runtime | None) -> dict[str, Any]:
    """GET /catalog."""
    return {
        "magic_values": msgspec.to_builtins(engine.reference_data.magic),
        "magic_keys": msgspec.to_builtins(engine.reference_data.magic_keys),
        "error_codes": [_error(code, recipe) for code, recipe in msgspec.to_builtins(error_examples()).items()],
        "event_types": [{"type": type, "object": row.object, "meaning": row.meaning} for type, row in EVENTS.items()],
        "life_cycles": {machine.kind.kind: [row._asdict() for row in machine.rows] for machine in STATE_MACHINES},
    }


def _error(code: str, recipe: dict[str, Any]) -> dict[str, Any]:
    row = ERRORS[code]
    about = {"explain": recipe["explain"], "recipe": recipe["steps"]}
    return {"code": code, "status": row.status, "type": row.category, **about}


OPERATIONS = {"getCatalog": show}
