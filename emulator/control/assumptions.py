"""The assumptions of an App: which sentences of the specification can be read in two ways, and how they are (B-99)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from emulator.core.handlers import Page
from emulator.engine.engine import Engine
from emulator.engine.reference_data import assumptions_of
from emulator.engine.runtime import Runtime
from emulator.resources.app.settings import settings


async def index(engine: Engine, runtime: Runtime, query: Mapping[str, Any]) -> Page[Any]:
    """GET /assumptions: every assumption with its value in this App; PATCH /app changes them."""
    rows = assumptions_of(settings(runtime.world))
    page, size = query["page"], query["page_size"]
    return Page(rows[(page - 1) * size : page * size], len(rows), page, size)


OPERATIONS = {"listAssumptions": index}
