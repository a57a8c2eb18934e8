"""The ledger of a world as it is shown: what stands on the books, what was posted, and what broke the balance."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from emulator.control import explanation_text
from emulator.control.causality import Causality, LoggedUnit
from emulator.core.handlers import Page, Query
from emulator.engine.engine import Engine
from emulator.engine.runtime import Runtime
from emulator.resources import ledger
from emulator.resources.ledger import Imbalance, Posting


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
    broken = [
        _break(causality, entries, LoggedUnit(number, unit), failure)
        for number, unit in runtime.journal.failed_units
        for failure in unit.failed_checks
        if isinstance(failure, Imbalance)
    ]
    return {
        "balanced": not broken,
        "totals": [
            {"account": account, "amount": amount, "currency": currency}
            for (account, currency), amount in ledger.totals(runtime.world).items()
            if query.get("currency") in (None, currency)
        ],
        "entries": Page(shown, len(found), page, size),
        "broken_by": broken,
    }


def _entries(causality: Causality) -> Iterator[LedgerEntry]:
    """Every posting that the journal knows, oldest first."""
    for logged in causality.units:
        for id, posting in ledger.entries(logged.unit):
            yield LedgerEntry(id, posting, logged)


def _shown(causality: Causality, entry: LedgerEntry) -> dict[str, Any]:
    return {
        "object": entry.object,
        "account": entry.posting.name,
        "amount": entry.posting.amount,
        "currency": entry.posting.currency,
        "at": entry.logged.at,
        "cause": _cause(causality, entry.logged),
    }


def _break(causality: Causality, entries: list[LedgerEntry], logged: LoggedUnit, failure: Imbalance) -> dict[str, Any]:
    """What a unit of work broke, with the last one before it that touched the account."""
    posting = failure.posting
    before = (
        entry.logged
        for entry in reversed(entries)
        if entry.logged.number < logged.number and posting.owner in (entry.object, entry.posting.owner)
    )
    earlier = next(before, None) if posting.owner else None
    return {
        "account": posting.name,
        "amount": posting.amount,
        "currency": posting.currency,
        "at": logged.at,
        "cause": _cause(causality, logged),
        "earlier": None if earlier is None else _cause(causality, earlier),
    }


def _cause(causality: Causality, logged: LoggedUnit) -> dict[str, Any]:
    """The request or the job that a unit of work ran for."""
    if (job := logged.job) is not None:
        return {"id": job.id, "summary": explanation_text.of_jobs(job.name, job.about, 1)}
    id = causality.request_of(logged)
    entry = None if id is None else causality.request(id)
    return {"id": id, "summary": "a request" if entry is None else f"{entry.method} {entry.target}"}


OPERATIONS = {"getLedger": show}
