"""How well the client follows the service's guidance."""

from __future__ import annotations

from typing import Any

from emulator.core.lists import Query
from emulator.engine.engine import Engine
from emulator.engine.runtime import Runtime
from emulator.insight.audit.audit import audit_of


async def show(engine: Engine, runtime: Runtime, query: Query) -> dict[str, Any]:
    """GET /audit: the broken rules, the kept ones, and those that no request was about."""
    await runtime.catch_up()
    return await runtime.examine(audit_of)


OPERATIONS = {"audit": show}
