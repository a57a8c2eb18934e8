"""Apps and their settings (B-90)."""

from __future__ import annotations

import asyncio
from operator import itemgetter
from typing import Any

import msgspec

from emulator.control.objects_by_kind import tables
from emulator.core.errors import invalid_field
from emulator.core.handlers import Page
from emulator.core.validation import Body
from emulator.core.world import World
from emulator.engine.engine import Engine
from emulator.engine.runtime import Runtime
from emulator.resources.app.keys import Key
from emulator.resources.app.settings import OLDER_SETTINGS, changed, settings, values_of_assumptions


def app_view(world: World) -> dict[str, Any]:
    """An App as it is sent."""
    values = msgspec.structs.asdict(settings(world))
    del values["id"]
    values["assumptions"] = values_of_assumptions(settings(world))
    key = str(Key(world.name, world.livemode))
    return {"id": world.app, "name": world.name, "livemode": world.livemode, "key": key, "settings": values}


async def show(engine: Engine, runtime: Runtime, query: Body) -> dict[str, Any]:
    """GET /app."""
    return app_view(runtime.world)


async def index(engine: Engine, runtime: Runtime | None, query: Body) -> Page[Any]:
    """GET /apps: the Apps whose worlds are open, by name; the test side and the live side are listed separately."""
    apps = sorted(map(_summary, engine.runtimes.values()), key=itemgetter("name", "livemode"))
    page, size = query["page"], query["page_size"]
    return Page(apps[(page - 1) * size : page * size], len(apps), page, size)


def _summary(runtime: Runtime) -> dict[str, Any]:
    """An App in a list, with what its world holds and for how long it has not been used."""
    world = runtime.world
    idle = asyncio.get_running_loop().time() - runtime.last_used if runtime.last_used else None
    return {
        "id": world.app,
        "name": world.name,
        "livemode": world.livemode,
        "objects": sum(map(len, tables(world).values())),
        "requests_count": len(runtime.journal.entries),
        "now": runtime.now(),
        "idle_seconds": None if idle is None else round(idle),
    }


async def update(engine: Engine, runtime: Runtime, query: Body, body: Body) -> dict[str, Any]:
    """PATCH /app: changes the settings that are sent, at once."""
    await runtime.serve(change_settings, {"changes": body.get("settings", {})}, None)
    return app_view(runtime.world)


def change_settings(world: World, changes: Body) -> None:
    """Change settings; 422 for invalid values and for values that contradict each other."""
    try:
        new = changed(settings(world), changes)
    except ValueError as error:
        raise invalid_field("settings", str(error)) from None
    names = {*changes, *(OLDER_SETTINGS if "assumptions" in changes else ())}
    world.replace(settings(world), **{name: getattr(new, name) for name in names})


OPERATIONS = {"listApps": index, "getApp": show, "updateApp": update}
