"""Why an object is as it is: the chain of requests, jobs, moves, events, deliveries and emails that led there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from emulator.control.explanation import Explanation
from emulator.control.objects import find
from emulator.engine.engine import Engine
from emulator.engine.runtime import Runtime

MOST = 1000
"""Steps of one chain; of a longer one the last are told."""


async def show(engine: Engine, runtime: Runtime, id: str, query: Mapping[str, Any]) -> dict[str, Any]:
    """GET /explain/{id}."""
    runtime.run_due()
    record = find(runtime.world, id)
    story = Explanation(runtime, record)
    story.build()
    chain = sorted(story.steps, key=lambda step: step.at)
    return {
        "id": id,
        "kind": record.kind,
        "status": getattr(record, "status", None),
        "complete": story.complete and len(chain) <= MOST,
        "chain": chain[-MOST:],
    }


OPERATIONS = {"explainObject": show}
