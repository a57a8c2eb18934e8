"""Snapshots: copies of a world with names, to be restored, exported and imported."""

from __future__ import annotations

import asyncio
import re
from typing import Any

from emulator.control.snapshot_validation import validate
from emulator.core.errors import ApiError, invalid_field
from emulator.core.handlers import Page, Query
from emulator.core.limits import SNAPSHOTS
from emulator.engine import persistence
from emulator.engine.engine import Engine
from emulator.engine.persistence import WorldSnapshot
from emulator.engine.runtime import Runtime
from emulator.engine.storage.serialization import InvalidState
from emulator.resources.app.settings import Settings
from emulator.resources.simulation.reset import TRACES

NAME = re.compile(r"(?!\.\.?$)[A-Za-z0-9._-]{1,64}")


async def index(engine: Engine, runtime: Runtime, query: Query) -> Page[Any]:
    """GET /snapshots: newest first."""
    rows = [summary(name, snapshot) for name, snapshot in reversed(runtime.history.snapshots.items())]
    page, size = query["page"], query["page_size"]
    return Page(rows[(page - 1) * size : page * size], len(rows), page, size)


async def create(engine: Engine, runtime: Runtime, query: Query, body: Query) -> dict[str, Any]:
    """POST /snapshots: saves the world as it is now, in place of a snapshot with the same name."""
    await runtime.catch_up()
    return _save(runtime, body["name"], runtime.history.snapshot())


async def show(engine: Engine, runtime: Runtime, name: str, query: Query) -> dict[str, Any]:
    """GET /snapshots/{name}: exports a snapshot, with ``share`` one that is scrubbed."""
    snapshot = find(runtime, name)
    # In a thread, so that no other request waits for it: a snapshot never changes.
    return await asyncio.to_thread(persistence.export, snapshot, share=query["share"])


async def import_snapshot(engine: Engine, runtime: Runtime, name: str, query: Query, body: Query) -> dict[str, Any]:
    """PUT /snapshots/{name}: imports a snapshot that was exported from this world or another one."""
    if not NAME.fullmatch(name):
        raise ApiError(
            "NOT_FOUND", message="A snapshot has a name of 1 to 64 of A-Z a-z 0-9 . _ -, which is not . or .."
        )
    async with runtime.history.changing:
        try:
            snapshot = persistence.restore(body, runtime.world)
            # In a thread, so that no other request waits for it: this world is not served yet.
            await asyncio.to_thread(validate, snapshot.world)
        except InvalidState as error:
            raise invalid_field("worlds", " ".join(str(error).split())) from None
        return _save(runtime, name, snapshot)


async def restore(engine: Engine, runtime: Runtime, name: str, query: Query) -> dict[str, Any]:
    """POST /snapshots/{name}/restore: puts the world and its clock back to the snapshot."""
    snapshot = find(runtime, name)
    await runtime.history.restore(snapshot)
    return summary(name, snapshot)


async def delete(engine: Engine, runtime: Runtime, name: str, query: Query) -> None:
    """DELETE /snapshots/{name}: deletes a snapshot."""
    find(runtime, name)
    runtime.history.delete_snapshot(name)


def _save(runtime: Runtime, name: str, snapshot: WorldSnapshot) -> dict[str, Any]:
    if name not in runtime.history.snapshots and len(runtime.history.snapshots) >= SNAPSHOTS.most:
        raise invalid_field("name", f"there are {SNAPSHOTS.most} snapshots; delete one first")
    runtime.history.store_snapshot(name, snapshot)
    return summary(name, snapshot)


def find(runtime: Runtime, name: str) -> WorldSnapshot:
    """The snapshot with this name; 404 ``NOT_FOUND`` if there is none."""
    snapshot = runtime.history.snapshots.get(name)
    if snapshot is None:
        raise ApiError("NOT_FOUND", message=f"There is no snapshot {name[:60]!r}.")
    return snapshot


def summary(name: str, snapshot: WorldSnapshot) -> dict[str, Any]:
    """A snapshot as it is sent."""
    tables = (table for table in snapshot.world.tables() if table.kind not in (*TRACES, Settings))
    return {"object": "snapshot", "name": name, "now": snapshot.now, "objects": sum(map(len, tables))}


OPERATIONS = {
    "listSnapshots": index,
    "createSnapshot": create,
    "exportSnapshot": show,
    "importSnapshot": import_snapshot,
    "restoreSnapshot": restore,
    "deleteSnapshot": delete,
}
