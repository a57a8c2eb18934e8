"""Validation of an imported snapshot: every record must be one that can be shown, and every job one that can run."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from emulator.control import emails
from emulator.control.objects import documented, schema_of
from emulator.core import calendar
from emulator.core.events import Event
from emulator.core.idempotency import StoredResponse
from emulator.core.ids import LENGTH
from emulator.core.jobs import Job
from emulator.core.records import Record
from emulator.core.world import World, encode
from emulator.engine.storage.serialization import InvalidState
from emulator.presentation.languages.catalogs import languages
from emulator.resources.simulation.emails import Email

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
        yield from _unreadable(record)
    if isinstance(record, Event):
        yield from _invalid_subject(world, record.data.object)
    if documented(type(record)):
        for violation in schema_of(type(record)).violations(json.loads(encode(record))):
            yield f"{violation.path}: {violation.message}"


def _invalid_subject(world: World, subject: Any) -> Iterator[str]:
    """The object of an event is one as its kind was then: fields may have been added since, but it has an id."""
    name = subject.get("object") if isinstance(subject, dict) else None
    kind = next((kind for kind in world.kinds if kind.kind == name and documented(kind)), None)
    if kind is None or "id" not in subject:
        yield "data.object: is no object of the service"
        return
    for violation in schema_of(kind).violations(subject):
        if violation.keyword not in ("required", "additionalProperties"):
            yield f"data.object.{violation.path}: {violation.message}"


def _check_counters(world: World) -> None:
    """Counters behind the records would give out numbers and ids again that are taken."""
    # The id of a stored response is an Idempotency-Key, which the client chose.
    own = [table for table in world.tables() if table.kind is not StoredResponse]
    drawn = sum(RANDOM_ID.fullmatch(id) is not None for table in own for id in table.slots.all_keys())
    least = {
        # Their number and not the highest one: that only orders records of a kind, and a file may have left gaps.
        "record": sum(map(len, world.tables())),
        "draw": drawn,
        "job": max((job.sequence for job in world.jobs.unordered()), default=0),
    }
    for name, number in least.items():
        if world.counters.get(name, 0) < number:
            raise InvalidState(f"counters: {name} is less than {number}, which its records have used")


def _invalid_instants(record: Record) -> Iterator[str]:
    """Fields that hold instants are ``due`` and those whose names end in ``_at``, in every kind of record."""
    for name in record.__struct_fields__:
        value = getattr(record, name)
        if isinstance(value, str) and (name == "due" or name.endswith("_at")):
            try:
                calendar.parse(value)
            except ValueError:
                yield f"{name}: is not an instant"


def _unreadable(email: Email) -> Iterator[str]:
    """An email whose topic, language or objects do not fit together cannot be shown, whatever is missing."""
    if email.language not in languages():
        yield f"language: is none of {', '.join(languages())}"
    try:
        emails.shown(email)
    except Exception as error:  # rendering may fail in any way on records that were edited
        yield f"cannot be shown: {type(error).__name__}: {error}"
