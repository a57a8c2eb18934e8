"""Why an object is as it is: the chain of requests, jobs, transitions, events, deliveries and emails."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from emulator.control import names
from emulator.control.explain.answers import answer_text
from emulator.control.explain.explanation import Explanation
from emulator.control.objects import find
from emulator.engine.engine import Engine
from emulator.engine.runtime import Runtime
from emulator.presentation.languages.language import language_of

MAX_STEPS = 1000
"""The most steps of a chain; of a longer one the latest are sent."""


async def show(engine: Engine, runtime: Runtime, id: str, query: Mapping[str, Any]) -> dict[str, Any]:
    """GET /explain/{id}."""
    await runtime.catch_up()
    record, language = find(runtime.world, id), language_of(query["language"])
    explanation = Explanation(runtime, record, language)
    explanation.build()
    chain = sorted(explanation.steps, key=lambda step: step.at)
    return {
        "id": id,
        "kind": record.kind,
        "status": getattr(record, "status", None),
        "name": names.name(runtime.world, record, language),
        "summary": answer_text.answer(runtime.world, record, language),
        "complete": explanation.complete and len(chain) <= MAX_STEPS,
        "chain": chain[-MAX_STEPS:],
    }


OPERATIONS = {"explainObject": show}
