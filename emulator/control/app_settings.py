"""An App as the tester sees it: its key and its settings (B-90)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from emulator.core.handlers import Page
from emulator.core.world import World
from emulator.engine.engine import Engine
from emulator.engine.runtime import Runtime
from emulator.errors import invalid_field
from emulator.resources.app.keys import Key
from emulator.resources.app.settings import changed, settings

Body = Mapping[str, Any]


def face(world: World) -> dict[str, Any]:
    """The App as it goes on the wire."""
    own = msgspec.structs.asdict(settings(world))
    del own["id"]
    key = str(Key(world.name, world.livemode))
    return {"id": world.app, "name": world.name, "livemode": world.livemode, "key": key, "settings": own}


async def show(engine: Engine, runtime: Runtime, query: Body) -> dict[str, Any]:
    """GET /app."""
    return face(runtime.world)


async def index(engine: Engine, runtime: Runtime | None, query: Body) -> Page[Any]:
    """GET /apps: the Apps whose worlds are open, by name; the test and live side of one are two."""
    worlds = sorted((each.world for each in engine.runtimes.values()), key=lambda world: (world.name, world.livemode))
    page, size = query["page"], query["page_size"]
    shown = [known(world) for world in worlds[(page - 1) * size : page * size]]
    return Page(shown, len(worlds), page, size)


def known(world: World) -> dict[str, Any]:
    """An App in a list."""
    return {"id": world.app, "name": world.name, "livemode": world.livemode}


async def update(engine: Engine, runtime: Runtime, query: Body, body: Body) -> dict[str, Any]:
    """PATCH /app: the settings that are sent change at once."""
    await runtime.serve(change_settings, {"changes": body.get("settings", {})}, None)
    return face(runtime.world)


def change_settings(world: World, changes: Body) -> None:
    """Change settings as a turn; 422 for values that do not go together."""
    try:
        new = changed(settings(world), changes)
    except ValueError as fault:
        raise invalid_field("settings", str(fault)) from None
    world.replace(settings(world), **{name: getattr(new, name) for name in changes})


OPERATIONS = {"listApps": index, "getApp": show, "updateApp": update}
