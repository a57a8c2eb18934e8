"""The ledger of a world, as it is shown, and its metrics in the text format of Prometheus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any, NamedTuple

import msgspec

from emulator.control.objects import page_of
from emulator.core import calendar
from emulator.core.lists import Page, Query
from emulator.core.unit_of_work import Event, UnitOfWork
from emulator.core.world import World, encode
from emulator.engine.engine import Engine
from emulator.engine.journal import Failure
from emulator.engine.logged_requests import LoggedRequest
from emulator.engine.reading import View
from emulator.engine.runtime import SHORT_CATCH_UP_SECONDS, Runtime
from emulator.insight.explain.causality import Causality, LoggedUnit
from emulator.insight.explain.explanation_text import StepTexts
from emulator.presentation.languages.catalogs import SOURCE
from emulator.presentation.languages.language import language_of, plain_money
from emulator.resources import ledger
from emulator.resources.billing.invoices import Invoice
from emulator.resources.billing.subscriptions import Subscription
from emulator.resources.ledger import Imbalance, Posting
from emulator.resources.payments.payment_intents import PaymentIntent
from emulator.resources.webhooks.deliveries import WebhookDelivery
from emulator.version import VERSION
from emulator.web.context import Response

# -- the ledger: what stands on the books, what was posted, and what broke the balance


class LedgerEntry(NamedTuple):
    """One posting: the object it comes from, and the unit of work that posted it."""

    object: str
    posting: Posting
    logged: LoggedUnit

    def concerns(self, query: Query) -> bool:
        """Return whether the entry is of a query's object or its account, account and currency."""
        one = self.posting
        own = {
            "object": (self.object, one.owner),
            "account": (one.name,),
            "currency": (one.currency,),
        }
        return all(query.get(name) in (None, *values) for name, values in own.items())


async def show_ledger(runtime: Runtime, query: Query) -> dict[str, Any]:
    """GET /ledger: filters ``object``, ``account``, ``currency``; totals by ``currency`` too."""
    await runtime.catch_up()
    return await runtime.examine(_ledger_of, query)


def _ledger_of(view: View, query: Query) -> dict[str, Any]:
    causality = Causality(view.journal)
    entries = [
        LedgerEntry(object, posting, logged)
        for logged in causality.units
        for object, posting in ledger.entries(logged.unit)
    ]
    entries.reverse()
    broken = [
        _break(view, failure)
        for failure in view.journal.failures
        if isinstance(failure.error, Imbalance)
    ]
    return {
        "balanced": not broken,
        "totals": [
            {"account": account, "amount": amount, "currency": currency}
            for (account, currency), amount in ledger.totals(view.world).items()
            if query.get("currency") in (None, currency)
        ],
        "entries": _page(entries, causality, query),
        "broken_by": broken,
    }


def _movement_of(entry: LedgerEntry) -> tuple[str | None, str | None]:
    """Return when an entry was posted, and by which job or request."""
    return entry.logged.at, entry.logged.job.id if entry.logged.job else entry.logged.unit.cause


def _page(newest: list[LedgerEntry], causality: Causality, query: Query) -> Page[Any]:
    """Return the page of entries; if ``grouped``, pages count whole movements of money."""
    chosen = [entry for entry in newest if entry.concerns(query)]
    if not query.get("grouped"):
        return page_of(chosen, query, lambda entry: _row_of(causality, entry))
    concerned = {_movement_of(entry) for entry in chosen}
    others = {name: value for name, value in query.items() if name != "object"}
    whole = (
        [entry for entry in own if entry.concerns(others)]
        for key, own in groupby(newest, _movement_of)
        if key in concerned
    )
    movements = page_of([*whole], query)
    entries = [_row_of(causality, entry) for movement in movements.data for entry in movement]
    return msgspec.structs.replace(movements, data=entries)


def _row_of(causality: Causality, entry: LedgerEntry) -> dict[str, Any]:
    return {
        "object": entry.object,
        "account": entry.posting.name,
        "amount": entry.posting.amount,
        "currency": entry.posting.currency,
        "at": entry.logged.at,
        "cause": _cause(
            entry.logged, causality.requests.get(causality.request_of(entry.logged) or "")
        ),
    }


def _break(view: View, failure: Failure) -> dict[str, Any]:
    """Return a unit's imbalance, with the unit before it that touched the account."""
    assert isinstance(failure.error, Imbalance)
    posting = failure.error.posting
    cause, earlier = _cause_of(failure), _earlier(view, failure, posting)
    off = f"{posting.name} is off by {plain_money(posting.amount, posting.currency)}"
    before = f"; before it {earlier['summary']}" if earlier else ""
    return {
        "summary": f"{off}: {cause['summary']} ({cause['id']}){before}",
        "account": posting.name,
        "amount": posting.amount,
        "currency": posting.currency,
        "at": LoggedUnit(failure.number, failure.unit).at,
        "undone": failure.is_undone,
        "cause": cause,
        "earlier": earlier,
    }


def _earlier(view: View, failure: Failure, posting: Posting) -> dict[str, Any] | None:
    """Return the request or job before; of one no longer in the journal, its last event's facts."""
    if (earlier := view.journal.before(failure)) is not None:
        return _cause_of(earlier)
    event = _last_event(view.world, failure.unit, posting.owner) if posting.owner else None
    if event is None:
        return None
    cause = "a job" if event.request is None else "a request"
    summary = f"{cause} that is no longer in the journal, which sent {event.type} of {event.about}"
    return {"id": event.request, "summary": summary}


def _last_event(world: World, unit: UnitOfWork, id: str) -> Event | None:
    """Return the last event before a unit of work whose object has this id or refers to it."""
    before = unit.counters.get("record", 0)
    slots = (slot for slot in reversed(world.table(Event).order) if slot.number <= before)
    return next(
        (slot.record for slot in slots if id.encode() in encode(slot.record.data.object)), None
    )


def _cause_of(failure: Failure) -> dict[str, Any]:
    return _cause(LoggedUnit(failure.number, failure.unit), failure.request)


def _cause(logged: LoggedUnit, request: LoggedRequest | None) -> dict[str, Any]:
    """Return the job that a unit of work ran, or else the request that it belongs to."""
    if (job := logged.job) is not None:
        return {
            "id": job.id,
            "summary": StepTexts(language_of(SOURCE)).of_jobs(job.name, job.about, 1).summary,
        }
    if request is None:
        return {"id": logged.unit.cause, "summary": "a request that is no longer in the journal"}
    return {"id": request.id, "summary": f"{request.method} {request.target}"}


# -- metrics


MEDIA_TYPE = b"text/plain; version=0.0.4; charset=utf-8"

PREFIX = "payments_emulator_"

COUNTER, GAUGE = "counter", "gauge"

BY_STATUS: Mapping[str, tuple[type[Any], str]] = {
    "subscriptions": (Subscription, "Subscriptions by status."),
    "invoices": (Invoice, "Invoices by status."),
    "payment_intents": (PaymentIntent, "Payment intents by status."),
    "webhook_deliveries": (WebhookDelivery, "Webhook deliveries by status."),
}
"""Records that are counted by their status."""


class Sample(NamedTuple):
    labels: Mapping[str, str]
    value: float


class Metric(NamedTuple):
    """A metric with its samples. ``name`` has no prefix; that of a counter ends in ``_total``."""

    name: str
    type: str
    help: str
    samples: Iterable[Sample]

    def lines(self) -> Iterable[str]:
        name = PREFIX + self.name
        yield f"# HELP {name} {self.help}"
        yield f"# TYPE {name} {self.type}"
        for sample in self.samples:
            labels = ",".join(
                f'{label}="{_escaped(value)}"' for label, value in sample.labels.items()
            )
            yield (
                f"{name}{{{labels}}} {sample.value:.17g}"
                if labels
                else f"{name} {sample.value:.17g}"
            )


async def show_metrics(engine: Engine, runtime: Runtime) -> Response:
    """GET /metrics."""
    await runtime.catch_up(SHORT_CATCH_UP_SECONDS)
    lines = [line for metric in metrics(len(engine.runtimes), runtime) for line in metric.lines()]
    return Response(200, "\n".join([*lines, ""]).encode(), media_type=MEDIA_TYPE)


def metrics(apps: int, runtime: Runtime) -> Iterable[Metric]:
    """Yield the metrics of the emulator and of one world, whose samples have the label ``app``."""
    world, state = runtime.world, runtime.clock_state()
    app = {"app": world.name, "mode": "live" if world.livemode else "test"}

    def one(name: str, type: str, help: str, value: float) -> Metric:
        return Metric(name, type, help, [Sample(app, value)])

    yield Metric("info", GAUGE, "The version of the emulator.", [Sample({"version": VERSION}, 1)])
    yield Metric("apps", GAUGE, "Worlds that are open.", [Sample({}, apps)])
    responses = Counter[int]()
    for (operation, status), number in runtime.journal.coverage.responses.items():
        # Requests to the control API have no operation of the service.
        if operation is not None:
            responses[status] += number
    samples = [
        Sample({**app, "status": str(status)}, number)
        for status, number in sorted(responses.items())
    ]
    yield Metric("requests_total", COUNTER, "Requests to the service by status.", samples)
    yield one(
        "changes_total", COUNTER, "Requests and jobs that changed something.", runtime.journal.count
    )
    yield one(
        "clock_seconds",
        GAUGE,
        "The instant of the clock, as Unix time.",
        calendar.parse(state.now).timestamp(),
    )
    yield one("clock_lag_seconds", GAUGE, "How far the world is behind its own clock.", state.lag)
    yield one("jobs", GAUGE, "Jobs that are planned.", state.pending)
    objects = [
        Sample({**app, "kind": table.kind.kind}, len(table))
        for table in world.tables()
        if len(table)
    ]
    yield Metric("objects", GAUGE, "Objects by kind.", objects)
    for name, (kind, help) in BY_STATUS.items():
        by_status = world.table(kind).index("status")
        counts = {status: len(by_status.run(status)) for status in by_status.all_keys()}
        samples = [
            Sample({**app, "status": status}, count)
            for status, count in sorted(counts.items())
            if count
        ]
        yield Metric(name, GAUGE, help, samples)
    yield one("snapshots", GAUGE, "Named snapshots.", len(runtime.history.snapshots))
    yield one(
        "ledger_balanced",
        GAUGE,
        "1 if the ledger adds up, 0 otherwise.",
        int(not runtime.journal.failures),
    )


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


OPERATIONS = {"getLedger": show_ledger}
OPERATIONS_OF_ENGINE = {"getMetrics": show_metrics}
