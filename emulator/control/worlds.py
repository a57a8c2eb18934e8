"""A world as a whole: settings (B-90), reset, and snapshots to restore, export and import.

Of an imported snapshot every record must be one that can be shown, and every job one that can run.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections import ChainMap
from collections.abc import AsyncGenerator, Iterator
from typing import Any

import msgspec

from emulator.control import events
from emulator.control.objects import invalid_subject, page_of, schema_of, tables
from emulator.core import calendar
from emulator.core.calendar import Timestamp
from emulator.core.errors import ApiError, invalid_field
from emulator.core.ids import LENGTH
from emulator.core.jobs import Job
from emulator.core.limits import SNAPSHOTS
from emulator.core.lists import Page, Query
from emulator.core.records import Record
from emulator.core.unit_of_work import Event
from emulator.core.violations import Body, Violations, ruled_by
from emulator.core.world import World, encode
from emulator.engine.clock import ClockMode, parse_start
from emulator.engine.engine import Engine
from emulator.engine.fixtures import Fixture, Start
from emulator.engine.runtime import Runtime
from emulator.engine.storage import serialization
from emulator.engine.storage.serialization import InvalidState, WorldSnapshot
from emulator.insight.names import documented
from emulator.presentation.languages.catalogs import languages
from emulator.presentation.pictures import read_logo
from emulator.resources.app.clients import Key
from emulator.resources.app.idempotency import StoredResponse
from emulator.resources.app.settings import (
    OLDER_SETTINGS,
    changed,
    check,
    settings,
    values_of_assumptions,
)
from emulator.resources.faults import TRACES
from emulator.resources.simulation.emails import Email
from emulator.web.context import Stream

# -- Apps and their settings


def app_view(world: World) -> dict[str, Any]:
    values = msgspec.structs.asdict(settings(world))
    del values["id"]
    values["assumptions"] = values_of_assumptions(settings(world))
    key = str(Key.of(world))
    return {
        "id": world.app,
        "name": world.name,
        "livemode": world.livemode,
        "key": key,
        "settings": values,
    }


async def show_app(runtime: Runtime) -> dict[str, Any]:
    """GET /app."""
    return app_view(runtime.world)


async def list_apps(engine: Engine, query: Body) -> Page[Any]:
    """GET /apps: Apps with open worlds, the last used first; test and live side count apart."""
    runtimes = sorted(
        engine.runtimes.values(),
        key=lambda runtime: (-runtime.last_used, runtime.world.name, runtime.world.livemode),
    )
    return page_of(runtimes, query, _summary)


def _summary(runtime: Runtime) -> dict[str, Any]:
    """Return an App in a list, with what its world holds and for how long it has not been used."""
    world = runtime.world
    idle = asyncio.get_running_loop().time() - runtime.last_used if runtime.last_used else None
    return {
        "id": world.app,
        "name": world.name,
        "livemode": world.livemode,
        "objects": objects_in(world),
        "requests_count": len(runtime.journal.entries),
        "now": runtime.now(),
        "idle_seconds": None if idle is None else round(idle),
    }


def change_settings(world: World, body: Body) -> None:
    """Change settings; 422 for invalid values and for values that contradict each other."""
    changes: Any = body.get("settings", {})
    violations = Violations(body)
    own = msgspec.to_builtins(settings(world))
    check(violations, ChainMap(changes, own), read_logo, "settings.")
    violations.done()
    try:
        new = changed(settings(world), changes, read_logo)
    except ValueError as error:
        raise invalid_field("settings", str(error)) from None
    names = {*changes, *(OLDER_SETTINGS if "assumptions" in changes else ())}
    world.replace(settings(world), **{name: getattr(new, name) for name in names})


@ruled_by(change_settings)
async def update(runtime: Runtime, body: Body) -> dict[str, Any]:
    """PATCH /app: changes the settings that are sent, at once."""
    await runtime.serve(change_settings, {"body": body}, None)
    return app_view(runtime.world)


# -- the reset: a new world, settings and clock included


async def reset(engine: Engine, runtime: Runtime, body: Body) -> dict[str, Any]:
    """POST /reset: the defaults of fixtures, seed and clock are the server's at its start."""
    start = Start(_fixture(body.get("fixtures", {})), body.get("seed"), _clock(body.get("clock")))
    try:
        await engine.start_fresh(runtime, start)
    except (msgspec.ValidationError, ValueError) as error:
        raise invalid_field("fixtures", str(error)) from None
    app = app_view(runtime.world)
    world = {"object": "reset", "app": app["id"], "settings": app["settings"]}
    return {**world, "now": runtime.now(), "mode": runtime.clock.mode}


def _fixture(value: Body) -> Fixture:
    if "keys" in value:
        raise invalid_field(
            "fixtures", "keys are known from the start of the server; leave them out"
        )
    try:
        return msgspec.convert(value, Fixture)
    except msgspec.ValidationError as error:
        raise invalid_field("fixtures", str(error)) from None


def _clock(text: str | None) -> tuple[ClockMode, Timestamp | None] | None:
    try:
        return None if text is None else parse_start(text)
    except ValueError as error:
        raise invalid_field("clock", str(error)) from None


# -- snapshots


NAME = re.compile(r"(?!\.\.?$)[A-Za-z0-9._-]{1,64}")


async def index(runtime: Runtime, query: Query) -> Page[Any]:
    """GET /snapshots: newest first."""
    return page_of([summary(*item) for item in reversed(runtime.history.snapshots.items())], query)


async def create(runtime: Runtime, body: Query) -> dict[str, Any]:
    """POST /snapshots: saves the world as it is now, in place of a snapshot with the same name."""
    await runtime.catch_up()
    return await _save(runtime, body["name"], await runtime.history.snapshot())


async def show(runtime: Runtime, name: str, query: Query) -> Stream:
    """GET /snapshots/{name}: exports a snapshot, with ``share`` one that is scrubbed."""
    snapshot = find(runtime, name)
    if query["share"]:
        pieces = iter(await asyncio.to_thread(serialization.exported_to_share, snapshot))
    else:
        pieces = serialization.exported(snapshot)

    async def parts() -> AsyncGenerator[bytes, None]:
        for piece in pieces:
            yield piece

    return Stream(parts, runtime.broker.closed, "application/json", runtime.scheduler.pauses)


async def import_snapshot(runtime: Runtime, name: str, body: Query) -> dict[str, Any]:
    """PUT /snapshots/{name}: import a snapshot that this or another world exported."""
    if not NAME.fullmatch(name):
        raise ApiError(
            "NOT_FOUND",
            message="A snapshot has a name of 1 to 64 of A-Z a-z 0-9 . _ -, which is not . or ..",
        )
    async with runtime.history.changing:
        try:
            # In a thread, so that no other request waits for it: this world is not served yet.
            snapshot = await asyncio.to_thread(_imported, body, runtime.world.emptied())
        except InvalidState as error:
            raise invalid_field("worlds", " ".join(str(error).split())) from None
        return await _save(runtime, name, snapshot)


def _imported(body: Query, into: World) -> WorldSnapshot:
    snapshot = serialization.imported(body, into)
    validate(snapshot.world)
    return snapshot


async def restore(runtime: Runtime, name: str) -> dict[str, Any]:
    """POST /snapshots/{name}/restore: puts the world and its clock back to the snapshot."""
    snapshot = find(runtime, name)
    await runtime.history.restore(snapshot)
    return summary(name, snapshot)


async def delete(runtime: Runtime, name: str) -> None:
    """DELETE /snapshots/{name}: deletes a snapshot."""
    find(runtime, name)
    await runtime.history.store_snapshot(name, None)


async def _save(runtime: Runtime, name: str, snapshot: WorldSnapshot) -> dict[str, Any]:
    if name not in runtime.history.snapshots and len(runtime.history.snapshots) >= SNAPSHOTS.most:
        raise invalid_field("name", f"there are {SNAPSHOTS.most} snapshots; delete one first")
    await runtime.history.store_snapshot(name, snapshot)
    return summary(name, snapshot)


def find(runtime: Runtime, name: str) -> WorldSnapshot:
    """Return the snapshot with this name, or raise 404 ``NOT_FOUND``."""
    snapshot = runtime.history.snapshots.get(name)
    if snapshot is None:
        raise ApiError("NOT_FOUND", message=f"There is no snapshot {name[:60]!r}.")
    return snapshot


def summary(name: str, snapshot: WorldSnapshot) -> dict[str, Any]:
    return {
        "object": "snapshot",
        "name": name,
        "now": snapshot.head.now,
        "objects": objects_in(snapshot.world),
    }


def objects_in(world: World) -> int:
    """Return the number of a world's service objects, without reporting events and deliveries."""
    return sum(len(table) for kind, table in tables(world).items() if kind not in TRACES)


# -- validation of an imported snapshot


RANDOM_ID = re.compile(rf"[a-z]+_[0-9A-Za-z]{{{LENGTH}}}")
"""An id that took one of the numbers of the counter ``draw``."""


def validate(world: World) -> None:
    """Raise ``InvalidState``, with one line about the first record that is invalid."""
    _check_counters(world)
    for table in world.tables():
        for record in table:
            problem = next(_problems(world, record), None)
            if problem is not None:
                raise InvalidState(f"{record.kind} {record.id[:60]}: {problem}")


def _problems(world: World, record: Record) -> Iterator[str]:
    yield from _invalid_instants(record)
    if isinstance(record, Job) and record.name not in world.registry.jobs:
        yield f"there is no job {record.name[:60]!r}"
    if isinstance(record, Email):
        yield from _cannot_be_shown(record)
    if isinstance(record, Event):
        yield from (
            f"{path}: {message}" for path, message in invalid_subject(world, record.data.object)
        )
    if documented(type(record)):
        schema, document = schema_of(type(record)), json.loads(encode(record))
        if not schema.accepts(document):
            violations = schema.violations(document)
            yield from (f"{violation.path}: {violation.message}" for violation in violations)


def _check_counters(world: World) -> None:
    """Raise ``InvalidState`` for a counter that would give out used numbers or ids again."""
    # The id of a stored response is an Idempotency-Key, which the client chose.
    own = [table for table in world.tables() if table.kind is not StoredResponse]
    drawn = sum(
        RANDOM_ID.fullmatch(id) is not None for table in own for id in table.slots.all_keys()
    )
    least = {
        # Their number and not the highest one: that only orders records of a kind, and a file may
        # have left gaps.
        "record": sum(map(len, world.tables())),
        "draw": drawn,
        "job": max((job.sequence for job in world.jobs.unordered()), default=0),
    }
    for name, number in least.items():
        if world.counters.get(name, 0) < number:
            raise InvalidState(
                f"counters: {name} is less than {number}, which its records have used"
            )


def _invalid_instants(record: Record) -> Iterator[str]:
    """Yield the fields without an instant among ``due`` and those whose names end in ``_at``."""
    for name in record.__struct_fields__:
        value = getattr(record, name)
        if isinstance(value, str) and (name == "due" or name.endswith("_at")):
            try:
                is_written_so = calendar.normalise(value) == value
            except ValueError:
                is_written_so = False
            if not is_written_so:
                yield f"{name}: is not an instant"


def _cannot_be_shown(email: Email) -> Iterator[str]:
    """Yield why an email cannot be shown: its topic, language and objects do not fit together."""
    if email.language not in languages():
        yield f"language: is none of {', '.join(languages())}"
    try:
        events.email_shown(email)
    except Exception as error:  # rendering may fail in any way on records that were edited
        yield f"cannot be shown: {type(error).__name__}: {error}"


OPERATIONS = {
    "getApp": show_app,
    "updateApp": update,
    "listSnapshots": index,
    "createSnapshot": create,
    "exportSnapshot": show,
    "importSnapshot": import_snapshot,
    "restoreSnapshot": restore,
    "deleteSnapshot": delete,
}
OPERATIONS_OF_ENGINE = {"listApps": list_apps, "resetWorld": reset}
