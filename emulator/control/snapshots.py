"""Snapshots: whole worlds under a name, to come back to, to export and to bring in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from emulator.core.handlers import Page
from emulator.engine import snapshots
from emulator.engine.engine import Engine
from emulator.engine.runtime import Runtime
from emulator.engine.snapshots import Snapshot
from emulator.errors import ApiError, invalid_field
from emulator.resources.app.settings import Settings
from emulator.resources.sandbox.reset import TRACES
from emulator.state.serialization import InvalidState

Query = Mapping[str, Any]

NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")

AT_MOST = 100
"""Snapshots of one world that are kept."""


async def index(engine: Engine, runtime: Runtime, query: Query) -> Page[Any]:
    """GET /snapshots: the newest first."""
    rows = [summary(name, snapshot) for name, snapshot in reversed(runtime.history.snapshots.items())]
    page, size = query["page"], query["page_size"]
    return Page(rows[(page - 1) * size : page * size], len(rows), page, size)


async def create(engine: Engine, runtime: Runtime, query: Query, body: Query) -> dict[str, Any]:
    """POST /snapshots: the world as it is now; one of the same name is replaced."""
    return _keep(runtime, body["name"], runtime.history.snapshot())


async def show(engine: Engine, runtime: Runtime, name: str, query: Query) -> dict[str, Any]:
    """GET /snapshots/{name}: exports it."""
    return snapshots.export(find(runtime, name))


async def bring_in(engine: Engine, runtime: Runtime, name: str, query: Query, body: Query) -> dict[str, Any]:
    """PUT /snapshots/{name}: what was exported, from this world or from another, under this name."""
    if not NAME.fullmatch(name):
        raise ApiError("NOT_FOUND", message="A snapshot has a name of 1 to 64 of A-Z a-z 0-9 . _ -")
    try:
        snapshot = snapshots.restore(body, runtime.world)
    except InvalidState as fault:
        raise invalid_field("worlds", str(fault)) from None
    return _keep(runtime, name, snapshot)


async def restore(engine: Engine, runtime: Runtime, name: str, query: Query) -> dict[str, Any]:
    """POST /snapshots/{name}/restore: the world, its clock included, as it was then."""
    snapshot = find(runtime, name)
    await runtime.history.restore(snapshot)
    return summary(name, snapshot)


async def delete(engine: Engine, runtime: Runtime, name: str, query: Query) -> None:
    """DELETE /snapshots/{name}."""
    find(runtime, name)
    runtime.history.delete_snapshot(name)


def _keep(runtime: Runtime, name: str, snapshot: Snapshot) -> dict[str, Any]:
    if name not in runtime.history.snapshots and len(runtime.history.snapshots) >= AT_MOST:
        raise invalid_field("name", f"there are {AT_MOST} snapshots; delete one first")
    runtime.history.store_snapshot(name, snapshot)
    return summary(name, snapshot)


def find(runtime: Runtime, name: str) -> Snapshot:
    """A snapshot by its name; 404 ``NOT_FOUND``."""
    snapshot = runtime.history.snapshots.get(name)
    if snapshot is None:
        raise ApiError("NOT_FOUND", message=f"There is no snapshot {name[:60]!r}.")
    return snapshot


def summary(name: str, snapshot: Snapshot) -> dict[str, Any]:
    """A snapshot in a list."""
    tables = (table for table in snapshot.world.tables() if table.kind not in (*TRACES, Settings))
    return {"object": "snapshot", "name": name, "now": snapshot.now, "objects": sum(map(len, tables))}


OPERATIONS = {
    "listSnapshots": index,
    "createSnapshot": create,
    "exportSnapshot": show,
    "importSnapshot": bring_in,
    "restoreSnapshot": restore,
    "deleteSnapshot": delete,
}
