"""The readings of an App: which sentences of the specification can be read in two ways, and how they are (B-99)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from emulator.core.handlers import Page
from emulator.engine.engine import Engine
from emulator.engine.readings import readings_of
from emulator.engine.runtime import Runtime
from emulator.resources.app.settings import settings


async def index(engine: Engine, runtime: Runtime, query: Mapping[str, Any]) -> Page[Any]:
    """GET /readings: every reading with its value in this App; PATCH /app changes them."""
    rows = readings_of(settings(runtime.world))
    page, size = query["page"], query["page_size"]
    return Page(rows[(page - 1) * size : page * size], len(rows), page, size)


OPERATIONS = {"listReadings": index}
