"""Why an object is in the state that it is in."""

from __future__ import annotations

from typing import Any

from emulator.core.handlers import Query
from emulator.engine.engine import Engine
from emulator.engine.runtime import Runtime
from emulator.insight.explain import explanation
from emulator.presentation.languages.language import language_of


async def explain(engine: Engine, runtime: Runtime, id: str, query: Query) -> dict[str, Any]:
    """GET /explain/{id}."""
    await runtime.catch_up()
    return explanation.explain(runtime, id, language_of(query["language"]))


OPERATIONS = {"explainObject": explain}
