"""The health check: version, and number of worlds."""

from __future__ import annotations

from typing import Any

from emulator.engine.engine import Engine
from emulator.engine.runtime import Runtime
from emulator.version import VERSION


async def show(engine: Engine, runtime: Runtime | None) -> dict[str, Any]:
    """GET /health: ``apps`` is the number of worlds opened so far."""
    return {"status": "ok", "version": VERSION, "apps": len(engine.runtimes)}


OPERATIONS = {"getHealth": show}
