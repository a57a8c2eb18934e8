"""Search over all objects of a world: by id, then by name, the best match first."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

from emulator.control import names
from emulator.control.objects_by_kind import tables
from emulator.core.events import Event
from emulator.core.handlers import Page, Query
from emulator.core.records import Record
from emulator.core.world import World
from emulator.engine.engine import Engine
from emulator.engine.runtime import Runtime
from emulator.presentation.languages.language import Language, language_of
from emulator.resources.webhooks.deliveries import WebhookDelivery

NAMED_BY_OTHERS = (Event, WebhookDelivery)
"""Kinds whose name is that of another object, which is found itself; these are found by their id alone."""


class SearchHit(NamedTuple):
    """A record with its name; of two hits that with the lower rank is shown first."""

    rank: int
    record: Record
    name: str


async def index(engine: Engine, runtime: Runtime, query: Query) -> Page[Any]:
    """GET /search: exact ids first, then the starts of ids, of names, of words in names, then what is within names."""
    await runtime.catch_up()
    hits = sorted(_hits(runtime.world, query["query"].strip(), language_of(query["language"])), key=_order)
    page, size = query["page"], query["page_size"]
    return Page([_shown(hit) for hit in islice(hits, (page - 1) * size, page * size)], len(hits), page, size)


def _order(hit: SearchHit) -> int:
    """Hits of one rank stay as they were found: kind by kind, the newest first."""
    return hit.rank


def _shown(hit: SearchHit) -> dict[str, Any]:
    record = hit.record
    return {"id": record.id, "kind": record.kind, "name": hit.name, "status": getattr(record, "status", None)}


def _hits(world: World, text: str, language: Language) -> Iterator[SearchHit]:
    for table in tables(world).values():
        for slot in reversed(table.order):
            record = slot.record
            name = "" if isinstance(record, NAMED_BY_OTHERS) else names.name(world, record, language)
            rank = _rank(text, record.id, name)
            if rank is not None:
                yield SearchHit(rank, record, name or names.name(world, record, language))


def _rank(text: str, id: str, name: str) -> int | None:
    """How well a record fits, 0 best; None if it does not. Within an id, which is random, a text is no match."""
    if id.startswith(text):
        return 0 if id == text else 1
    sought, known = text.casefold(), name.casefold()
    if sought not in known:
        return None
    if known.startswith(sought):
        return 2
    return 3 if f" {sought}" in known else 4


OPERATIONS = {"searchObjects": index}
