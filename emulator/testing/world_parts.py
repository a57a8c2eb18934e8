"""The parts of a world for a test: clock, emails, events, ledger, and the report of a failure.

Instants are UTC, ``YYYY-MM-DDTHH:MM:SS.mmmZ``; events and emails are oldest first (B-91).
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Any

from emulator.client.api import Api, RequestRefused
from emulator.client.messages import JSON
from emulator.testing.collector import Delivery

if TYPE_CHECKING:
    from emulator.testing import objects

# -- the failure report: clock, requests, events and webhooks as text


LATEST = 40
"""The number of requests, and of events, in a report."""

EXPLAINED = 5
"""The number of the last failed requests, and payments, that the report shows with errors."""

STANDING = 6
"""The most objects, of the last events, whose standing a report describes."""

ASKED = 12
"""The most objects whose standing is asked for, to find those with something under way."""

STANDING_KINDS = (
    "subscription",
    "invoice",
    "refund",
    "checkout_session",
    "payment_intent",
    "transaction",
)
"""Their kinds; the sentences about these cover the others."""

PAID = ("paid", "succeeded", "complete", "completed")
"""Statuses that a report leaves out beside others: they are not the cause of a failure."""

ERROR_LENGTH = 200
"""Characters of an error that are shown."""


def report(api: Api, clock: WorldClock, deliveries: Sequence[Delivery]) -> str:
    """Return what happened in a world so far, oldest first."""
    state = clock.show()
    requests = list(islice(api.newest("/_emulator/requests"), LATEST))[::-1]
    events: list[objects.Event] = list(islice(api.newest("/_emulator/events"), LATEST))[::-1]
    parts = [
        f"clock: {state['now']}, {state['mode']}",
        next_job(clock),
        _responses(api, events),
        _timeline(api, requests, events),
        received(deliveries) if deliveries else "",
    ]
    return "\n".join(part for part in parts if part)


def event_lines(events: Sequence[objects.Event], where: str = "so far") -> str:
    return (
        "\n".join([f"Events {where}:", *map(_event, events)])
        if events
        else f"No event happened {where}."
    )


def next_job(clock: WorldClock) -> str:
    job = clock.next_job()
    if job is None:
        return "No job is planned."
    state = clock.show()
    more = f" and {state['pending'] - 1} more" if state["pending"] > 1 else ""
    return (
        f"It is {state['now']}; next job, at {job['due_at']}: {job['kind']}"
        f" {job['object'] or ''}{more}."
    )


def received(deliveries: Iterable[Delivery]) -> str:
    lines = list(map(_delivery, deliveries))
    return "\n".join(["Webhooks received:", *lines]) if lines else "No webhook was received."


def _event(event: objects.Event, mark: str = " ") -> str:
    return (
        f"  {event['created_at']}  {mark} {event['type']}  {event['data']['object'].get('id', '')}"
    )


def _delivery(delivery: Delivery) -> str:
    event = delivery.event
    invalid = "" if delivery.genuine else ", its signature is WRONG"
    again = f", attempt {delivery.attempt}" if delivery.attempt > 1 else ""
    error = f" ({delivery.error})" if delivery.error else ""
    about = f"{event.get('type', 'no event')}  {event.get('id', '')}{again}{invalid}"
    return f"  {event.get('created_at', ''):24}  {about} -> {delivery.status}{error}"


def _responses(api: Api, events: Sequence[objects.Event]) -> str:
    """Return sentences on the last events' objects, last first: the unsettled ones, else all.

    Those with a payment or a refund under way are unsettled, whatever their status (B-102).
    """
    about = [
        event["data"]["object"]
        for event in events
        if event["data"]["object"]["object"] in STANDING_KINDS
    ]
    newest = {subject["id"]: subject for subject in about}
    ids = list(dict.fromkeys(subject["id"] for subject in reversed(about)))
    explained = {id: explanation for id in ids[:ASKED] if (explanation := _explanation(api, id))}
    unsettled = [
        id
        for id, explanation in explained.items()
        if explanation["under_way"] or newest[id].get("status") not in PAID
    ]
    lines = [
        f"  {' '.join(filter(None, [explained[id]['name'], f'({id})']))}:"
        f" {explained[id]['summary']}"
        for id in (unsettled or explained)
        if explained[id]["summary"]
    ][:STANDING]
    return "\n".join(["How the objects of the last events stand:", *lines]) if lines else ""


def _explanation(api: Api, id: str) -> JSON | None:
    try:
        return api.get(f"/_emulator/explain/{id}")
    except RequestRefused:  # the event was triggered about an object that is gone
        return None


def _timeline(api: Api, requests: Sequence[JSON], events: Sequence[objects.Event]) -> str:
    if not requests and not events:
        return "No requests and no events."
    failed = [request for request in requests if request["status"] >= 400][-EXPLAINED:]
    # That a buyer's payment is declined is no error of the request.
    failed += [
        request
        for request in requests
        if request["path"].endswith("/pay") and request["status"] < 400
    ][-EXPLAINED:]
    known = {request["id"] for request in requests}
    others = {event["id"]: event for event in events if event["request"] not in known}
    rows: list[tuple[str, str]] = []
    for request in requests:
        rows.append((request["created_at"], _request(api, request, request in failed, events)))
        # What a trigger or an advance caused comes after it, also where the clock stood still.
        ids = (
            api.get(f"/_emulator/requests/{request['id']}")["event_ids"]
            if request["events_count"]
            else []
        )
        own = [others.pop(id) for id in ids if id in others]
        rows += [(event["created_at"], _event(event, "·")) for event in own]
    rows += [(event["created_at"], _event(event, "·")) for event in others.values()]
    rows.sort(key=lambda row: row[0])
    head = "Requests with the events they caused (└), and events of jobs, buyers and triggers (·):"
    return "\n".join([head, *(row[1] for row in rows)])


def _request(api: Api, request: JSON, in_full: bool, events: Iterable[objects.Event]) -> str:
    line = (
        f"  {request['created_at']}  {request['method']} {request['path']} -> {request['status']}"
    )
    caused = [_event(event, "└") for event in events if event["request"] == request["id"]]
    return "\n".join([f"{line}{_error(api, request)}" if in_full else line, *caused])


def _error(api: Api, request: JSON) -> str:
    body = api.get(f"/_emulator/requests/{request['id']}").get("response_body")
    error = (body.get("last_error") or body.get("error") or body) if isinstance(body, dict) else {}
    declined = "" if request["status"] >= 400 else " declined,"
    return (
        f"{declined} {error['code']}: {error.get('message', '')}"[:ERROR_LENGTH]
        if "code" in error
        else ""
    )


# -- the clock, controlled by the test


CLOCK_PATH = "/_emulator/clock"


class WorldClock:
    """Shows and moves the clock. Due jobs run on the way; webhooks and emails are sent.

    ``around`` is given each move of the clock, and makes it: an examination looks at the state
    before and after it.
    """

    def __init__(self, api: Api) -> None:
        self._api = api
        self.around: Callable[[Callable[[], JSON]], JSON] | None = None

    @property
    def now(self) -> str:
        """The current instant of the world."""
        return str(self.show()["now"])

    @property
    def datetime(self) -> dt.datetime:
        """The current instant as an aware ``datetime`` in UTC."""
        return dt.datetime.fromisoformat(self.now)

    def show(self) -> objects.Clock:
        """Return ``now``, ``mode``, ``rate``, ``next_due_at`` and the count of ``pending`` jobs."""
        return self._api.get(CLOCK_PATH)

    def advance(
        self,
        by: str | dt.timedelta | None = None,
        *,
        to: str | dt.date | None = None,
        until: str | None = None,
        until_event: objects.EventType | None = None,
    ) -> objects.ClockAdvance:
        """Move the clock by a duration, to an instant or day, or until a job or an event.

        ``by``: ``31d``, ``P1M``; ``to``: an instant or a day; ``until="next"``: the next job;
        ``until_event``: an event type.

        Returns when all jobs that became due have run and all deliveries have ended, with counts of
        what happened. Raises ``AssertionError`` if a job failed.
        """
        body = {"by": _duration(by), "to": _instant(to), "until": until, "until_event": until_event}
        return self._advance({name: value for name, value in body.items() if value is not None})

    def freeze(self, at: str | dt.date | None = None) -> objects.Clock:
        """Stop the clock, now or at a later instant."""
        return self._api.post(f"{CLOCK_PATH}/freeze", {"at": _instant(at)} if at else {})

    def run(self, rate: float = 1) -> objects.Clock:
        """Let the clock run from the current instant, ``rate`` seconds for each real second."""
        return self._api.post(f"{CLOCK_PATH}/run", {"rate": rate})

    def schedule(self, until: str | None = None) -> list[objects.ScheduledJob]:
        """Return planned jobs by time; ``until`` (instant, duration) runs a copy of the world."""
        # The list is in order of time already.
        return list(self._api.newest("/_emulator/schedule", until=until))

    def next_job(self) -> objects.ScheduledJob | None:
        jobs: list[objects.ScheduledJob] = self._api.get("/_emulator/schedule", page_size=1)["data"]
        return jobs[0] if jobs else None

    def settle(self) -> objects.ClockAdvance:
        """Wait for the outcomes of webhooks, emails and due work; do not move a frozen clock."""
        return self._advance({"by": "0s"})

    def _advance(self, body: JSON) -> objects.ClockAdvance:

        def move() -> Any:
            return self._api.post(f"{CLOCK_PATH}/advance", body)

        # A look settles what is due, which an advance until an event may wait for.
        around = None if "until_event" in body else self.around
        done: Any = around(move) if around else move()
        if done["failures"]:
            raise AssertionError(
                f"jobs of the emulator failed before {done['now']}: {done['failures']}"
            )
        return done


def _duration(by: str | dt.timedelta | None) -> str | None:
    return f"PT{by.total_seconds():.3f}S" if isinstance(by, dt.timedelta) else by


def _instant(moment: str | dt.date | None) -> str | None:
    if not isinstance(moment, dt.datetime):
        return moment.isoformat() if isinstance(moment, dt.date) else moment
    return (moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)).isoformat()


# -- events, and the expectation that a block causes exactly some of them


EVENTS_PATH = "/_emulator/events"


class Events:
    """The event log, read from the emulator on each use."""

    def __init__(self, api: Api, clock: WorldClock) -> None:
        self._api = api
        self._clock = clock

    def __iter__(self) -> Iterator[objects.Event]:
        return iter(self.of())

    def __len__(self) -> int:
        return int(self._api.get(EVENTS_PATH, page_size=1)["pagination"]["count"])

    def __getitem__(self, index: int) -> objects.Event:
        return self.of()[index]

    def of(
        self, type: objects.EventType | None = None, object: objects.Ref | None = None
    ) -> list[objects.Event]:
        """Return events so far: all, of a type, or about an object (object or id); oldest first."""
        return self._api.oldest(EVENTS_PATH, type=type, object=identity(object))

    @property
    def types(self) -> list[objects.EventType]:
        """The types of all events so far, oldest first."""
        return [event["type"] for event in self.of()]

    def last(self, type: objects.EventType, object: objects.Ref | None = None) -> objects.Event:
        """Return the newest event of a type, optionally about an object.

        Raises ``AssertionError`` as ``wait_for`` if there is none so far.
        """
        __tracebackhide__ = True
        return self.wait_for(type, object, timeout=0)

    def wait_for(
        self, type: objects.EventType, object: objects.Ref | None = None, timeout: int = 10
    ) -> objects.Event:
        """Wait for an event of a type; return the newest. ``timeout``: real seconds, at most 30.

        Raises ``AssertionError`` with the events so far.
        """
        __tracebackhide__ = True
        newest: list[objects.Event] = self._api.get(
            EVENTS_PATH, type=type, object=identity(object), wait=timeout, page_size=1
        )["data"]
        if not newest:
            within = f" within {timeout} s" if timeout else ""
            raise AssertionError(f"{type} did not happen{within}.\n{self.summary()}")
        return newest[0]

    @contextmanager
    def expect(self, *types: objects.EventType) -> Iterator[None]:
        """Assert that a block and its pending deliveries cause just these events in any order."""
        __tracebackhide__ = True
        last = next(self._api.newest(EVENTS_PATH), {"id": None})["id"]
        yield
        self._clock.settle()
        since = takewhile(lambda event: event["id"] != last, self._api.newest(EVENTS_PATH))
        _compare(Counter(types), [*since][::-1], self._clock)

    def summary(self) -> str:
        """Return the events so far and the next job, as text for error messages."""
        return f"{event_lines(self.of())}\n{next_job(self._clock)}"


def identity(object: objects.Ref | None) -> str | None:
    """Return the id of an object given as object or id."""
    return object["id"] if isinstance(object, Mapping) else object


def _compare(types: Counter[str], happened: Sequence[objects.Event], clock: WorldClock) -> None:
    __tracebackhide__ = True
    actual: Counter[str] = Counter(event["type"] for event in happened)
    missing, extra = types - actual, actual - types
    if missing or extra:
        parts = [f"did not happen: {_counted(missing)}"] if missing else []
        parts += [f"happened, but was not expected: {_counted(extra)}"] if extra else []
        raise AssertionError("\n".join([*parts, event_lines(happened, "inside"), next_job(clock)]))


def _counted(types: Counter[str]) -> str:
    return ", ".join(type if times == 1 else f"{times} × {type}" for type, times in types.items())


# -- emails to customers


EMAILS_PATH = "/_emulator/emails"


class Emails:
    """The list of emails, read from the emulator on each use."""

    def __init__(self, api: Api) -> None:
        self._api = api

    def __iter__(self) -> Iterator[objects.Email]:
        return iter(self.of())

    def __len__(self) -> int:
        return int(self._api.get(EMAILS_PATH, page_size=1)["pagination"]["count"])

    def to(self, address: str, kind: objects.EmailKind | None = None) -> list[objects.Email]:
        """Return the emails to an address, optionally of a kind (``invoice``, ``receipt`` …)."""
        return self._api.oldest(EMAILS_PATH, to=address, kind=kind)

    def of(self, kind: objects.EmailKind | None = None) -> list[objects.Email]:
        """Return all emails so far, or those of one kind; oldest first."""
        return self._api.oldest(EMAILS_PATH, kind=kind)

    def wait_for(
        self, kind: objects.EmailKind | None = None, to: str | None = None, timeout: int = 10
    ) -> objects.Email:
        """Wait for an email (a kind, an address) and return the newest; ``timeout``: real seconds.

        Raises ``AssertionError`` with the emails so far.
        """
        __tracebackhide__ = True
        newest: list[objects.Email] = self._api.get(
            EMAILS_PATH, kind=kind, to=to, wait=timeout, page_size=1
        )["data"]
        if not newest:
            wanted = f"{kind or 'email'} to {to or 'anyone'}"
            raise AssertionError(f"no {wanted} was sent within {timeout} s.\n{self.summary()}")
        return newest[0]

    def html(self, email: objects.Email) -> str:
        """Return the HTML of an email."""
        return self._api.send("GET", f"{EMAILS_PATH}/{email['id']}/html").text

    def raw(self, email: objects.Email) -> bytes:
        """Return the MIME message of an email, attachments included."""
        return self._api.send("GET", f"{EMAILS_PATH}/{email['id']}/raw").content

    def summary(self) -> str:
        """Return the emails so far, as text for error messages."""
        lines = [
            f"  {mail['created_at']}  {mail['kind']} to {mail['to']}: {mail['subject']}"
            for mail in self
        ]
        return "\n".join(["Emails so far:", *lines]) if lines else "No email was sent."


# -- the ledger: where the money is


LEDGER_PATH = "/_emulator/ledger"


class Ledger:
    """Double entry over payments, refunds and invoices. Amounts are in minor units."""

    def __init__(self, api: Api) -> None:
        self._api = api

    @property
    def totals(self) -> dict[str, dict[str, int]]:
        """Accounts' balances by currency: ``{"XAF": {"buyers": -5000, "merchant": 4855, …}}``."""
        sums: dict[str, dict[str, int]] = {}
        for total in self._read()["totals"]:
            sums.setdefault(total["currency"], {})[total["account"]] = total["amount"]
        return sums

    def entries(
        self, object: str | None = None, currency: str | None = None
    ) -> list[objects.LedgerEntry]:
        """Return the journal's entries, oldest first, by object (its id) or currency, or all."""
        return self._api.oldest(LEDGER_PATH, object=object, currency=currency)

    @property
    def balanced(self) -> bool:
        """Whether everything adds up."""
        return bool(self._read()["balanced"])

    def assert_balanced(self) -> None:
        """Raise ``AssertionError`` with the requests and jobs that left wrong sums."""
        __tracebackhide__ = True
        books = self._read()
        if not books["balanced"]:
            broken = (f"  {cause['at']}  {cause['summary']}" for cause in books["broken_by"])
            raise AssertionError("\n".join(["The ledger is not balanced:", *broken]))

    def _read(self) -> JSON:
        return self._api.get(LEDGER_PATH)
