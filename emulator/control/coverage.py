"""The parts of the OpenAPI document that were used in a world, and those that were not."""

from __future__ import annotations

from typing import Any

from emulator.core.lists import Query
from emulator.engine.engine import Engine
from emulator.engine.runtime import Runtime
from emulator.insight import coverage


async def show(engine: Engine, runtime: Runtime, query: Query) -> dict[str, Any]:
    """GET /coverage: the groups asked for in ``group``, or all."""
    await runtime.catch_up()
    used = coverage.report(runtime.journal.coverage, query.get("group", coverage.GROUPS))
    return {"object": "coverage", "app": runtime.world.app, **used}


OPERATIONS = {"getCoverage": show}
