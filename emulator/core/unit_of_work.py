"""A unit of work: what one request or one job does to a world, committed or undone as a whole.

It consists of changes of records, of events, which record what happened, each with its object as it
was at that moment (B-80), and of effects: values that say what to send out of the world. The engine
performs them after the commit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import msgspec

from emulator.core.calendar import Timestamp
from emulator.core.records import N_, Record, to_wire

# -- events


class EventData(msgspec.Struct, frozen=True, gc=False):
    """The object of an event and, for some types, the metadata of related objects (B-80)."""

    object: Any
    metadata: Mapping[str, Any] | msgspec.UnsetType = msgspec.UNSET


class Event(Record, frozen=True, kw_only=True):
    """An occurrence at an object. ``request`` is the id of the request behind it; null: a job."""

    prefix: ClassVar[str] = "evt"
    names: ClassVar[tuple[str, str] | None] = (N_("Event"), N_("Events"))
    indexes: ClassVar[tuple[str, ...]] = ("type",)

    object: str = "event"
    type: str
    api_version: str = "v1"
    app: str
    livemode: bool
    created_at: Timestamp
    request: str | None
    data: EventData

    @property
    def about(self) -> str:
        subject = self.data.object
        return str(subject["id"] if isinstance(subject, dict) else subject.id)

    def public_view(self) -> Self:
        """Return the event as it is sent, its object without hidden fields."""
        return self.replace(data=EventData(to_wire(self.data.object), self.data.metadata))


# -- effects


class Effect(msgspec.Struct, frozen=True, kw_only=True):
    """Something to send. It is performed only if the unit of work that enqueued it is committed."""


class DeliverWebhook(Effect, frozen=True, kw_only=True):
    """Attempt this webhook delivery now; attempts at one endpoint keep the order of enqueueing.

    A command that yields it continues once the attempt and its outcome are recorded.
    """

    webhook: str
    delivery: str


class PingEndpoint(Effect, frozen=True, kw_only=True):
    """Send the validation ping to a webhook endpoint; the yielding command needs the result (B-82).

    ``endpoint`` is the endpoint with its new values, ``event`` the id of the event in ``body``.
    """

    endpoint: Record
    event: str
    body: bytes


class OpenPage(Effect, frozen=True, kw_only=True):
    """Open this page on this machine, as the buyer's browser does."""

    url: str


class HttpResult(msgspec.Struct, frozen=True, kw_only=True):
    """The response to an HTTP request of ours: its status code, or why there is none, ``error``."""

    status_code: int | None
    error: str | None = None
    body: str | None = None
    duration_ms: int = 0

    @property
    def ok(self) -> bool:
        """Any 2xx is success (B-84)."""
        return self.status_code is not None and 200 <= self.status_code < 300

    @property
    def reason(self) -> str:
        return self.error or f"status {self.status_code}"


# -- units of work


class Change(msgspec.Struct, frozen=True, gc=False):
    """One record before and after: ``old`` is None for an added record, ``new`` for a removed one.

    ``number`` is the record's number in the order of creation. Changes hold records and nothing
    else, so the garbage collector need not track them either (see
    :class:`~emulator.core.records.Record`).
    """

    old: Record | None
    new: Record | None
    number: int

    @property
    def record(self) -> Record:
        """The record after the change; for one that was removed, the record before."""
        return self.new or self.old  # type: ignore[return-value]  # one of the two is a record


class UnitOfWork(msgspec.Struct, gc=False):
    """The changes, events and effects of one request or one job, in order.

    ``cause`` is the id of the request. ``counters`` are the world's counters before the unit began,
    for undo. ``cleared`` says that it removed all records of the App (a reset), ``is_arranged``
    that it set fields directly, past the rules, as a tester or a stored world does. ``checked``:
    the changes that the checks of the registry look at. ``failed_checks``: those that failed.
    """

    cause: str | None
    counters: dict[str, int]
    changes: list[Change] = []
    events: list[Event] = []
    effects: list[Effect] = []
    cleared: bool = False
    is_arranged: bool = False
    checked: list[Change] = []
    failed_checks: list[CheckFailed] = []

    @property
    def changed_nothing(self) -> bool:
        """Whether it only read: there is nothing to store, to report or to perform."""
        return not (self.changes or self.effects or self.cleared)

    def inverse(self) -> UnitOfWork:
        """Return the unit that undoes this one; to undo that is to do this one again."""
        changes = [
            Change(change.new, change.old, change.number) for change in reversed(self.changes)
        ]
        return UnitOfWork(None, self.counters, changes)

    def touches(self, id: str) -> bool:
        for change in self.changes:  # an explanation asks this of thousands of units
            record = change.new or change.old
            if record is not None and record.id == id:
                return True
        return False


class CheckFailed(Exception):
    """A failure that a check of the registry found in ``unit``, a unit of work since undone."""

    unit: UnitOfWork | None = None

    def concerns(self, unit: UnitOfWork) -> bool:
        """Return whether an earlier unit of work changed what is wrong now."""
        return False
