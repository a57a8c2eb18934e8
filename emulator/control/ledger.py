"""The ledger of a world as it is shown: what stands on the books, what was posted, and what broke the balance."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from emulator.control.explain.causality import Causality, LoggedUnit
from emulator.control.explain.explanation_text import StepTexts
from emulator.core.events import Event
from emulator.core.handlers import Page, Query
from emulator.core.unit_of_work import UnitOfWork
from emulator.core.world import World, encode
from emulator.engine.engine import Engine
from emulator.engine.journal import Failure, LoggedRequest, NumberedUnit
from emulator.engine.runtime import Runtime
from emulator.presentation.languages.catalogs import SOURCE
from emulator.presentation.languages.language import language_of
from emulator.resources.ledger import accounts
from emulator.resources.ledger.accounts import Posting
from emulator.resources.ledger.balance import Imbalance


class LedgerEntry(NamedTuple):
    """One posting: the object it comes from, and the unit of work that posted it."""

    object: str
    posting: Posting
    logged: LoggedUnit

    def concerns(self, query: Query) -> bool:
        """Whether it comes from the object of the query, or is on its account; and is in the currency."""
        return query.get("object") in (None, self.object, self.posting.owner) and query.get("currency") in (
            None,
            self.posting.currency,
        )


async def show(engine: Engine, runtime: Runtime, query: Query) -> dict[str, Any]:
    """GET /ledger: ``object`` and ``currency`` filter the entries, ``currency`` the totals too."""
    await runtime.catch_up()
    causality = Causality(runtime.journal)
    entries = [*_entries(causality)]
    found = [entry for entry in reversed(entries) if entry.concerns(query)]
    page, size = query["page"], query["page_size"]
    shown = [_shown(causality, entry) for entry in found[(page - 1) * size : page * size]]
    broken = [_break(runtime, failure) for failure in runtime.journal.failures if isinstance(failure.error, Imbalance)]
    return {
        "balanced": not broken,
        "totals": [
            {"account": account, "amount": amount, "currency": currency}
            for (account, currency), amount in accounts.totals(runtime.world).items()
            if query.get("currency") in (None, currency)
        ],
        "entries": Page(shown, len(found), page, size),
        "broken_by": broken,
    }


def _entries(causality: Causality) -> Iterator[LedgerEntry]:
    """Every posting that the journal knows, oldest first."""
    for logged in causality.units:
        for id, posting in accounts.entries(logged.unit):
            yield LedgerEntry(id, posting, logged)


def _shown(causality: Causality, entry: LedgerEntry) -> dict[str, Any]:
    return {
        "object": entry.object,
        "account": entry.posting.name,
        "amount": entry.posting.amount,
        "currency": entry.posting.currency,
        "at": entry.logged.at,
        "cause": _cause(entry.logged, _request_of(causality, entry.logged)),
    }


def _request_of(causality: Causality, logged: LoggedUnit) -> LoggedRequest | None:
    id = causality.request_of(logged)
    return None if id is None else causality.request(id)


def _break(runtime: Runtime, failure: Failure) -> dict[str, Any]:
    """What a unit of work broke, with the last one before it that touched the account."""
    assert isinstance(failure.error, Imbalance)
    posting = failure.error.posting
    return {
        "account": posting.name,
        "amount": posting.amount,
        "currency": posting.currency,
        "at": _logged(failure.unit).at,
        "undone": failure.unit.is_undone,
        "cause": _cause(_logged(failure.unit), failure.unit.request),
        "earlier": _earlier(runtime, failure, posting),
    }


def _earlier(runtime: Runtime, failure: Failure, posting: Posting) -> dict[str, Any] | None:
    """The request or the job before it; of one that the journal has dropped, what its last event says."""
    if failure.earlier is not None:
        return _cause(_logged(failure.earlier), failure.earlier.request)
    event = _last_event(runtime.world, failure.unit.unit, posting.owner) if posting.owner else None
    if event is None:
        return None
    cause = "a job" if event.request is None else "a request"
    summary = f"{cause} that is no longer in the journal, which sent {event.type} of {event.about}"
    return {"id": event.request, "summary": summary}


def _last_event(world: World, unit: UnitOfWork, id: str) -> Event | None:
    """The last event before a unit of work whose object has this id or refers to it."""
    before = unit.counters.get("record", 0)
    slots = (slot for slot in reversed(world.table(Event).order) if slot.number <= before)
    return next((slot.record for slot in slots if id.encode() in encode(slot.record.data.object)), None)


def _logged(numbered: NumberedUnit) -> LoggedUnit:
    return LoggedUnit(numbered.number, numbered.unit)


def _cause(logged: LoggedUnit, request: LoggedRequest | None) -> dict[str, Any]:
    """The job that a unit of work ran, or else the request that it belongs to."""
    if (job := logged.job) is not None:
        return {"id": job.id, "summary": StepTexts(language_of(SOURCE)).of_jobs(job.name, job.about, 1).summary}
    if request is None:
        return {"id": logged.unit.cause, "summary": "a request that is no longer in the journal"}
    return {"id": request.id, "summary": f"{request.method} {request.target}"}


OPERATIONS = {"getLedger": show}
