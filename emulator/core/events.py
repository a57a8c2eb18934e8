"""Events: records of what happened, each with its object as it was at that moment (B-80)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import msgspec

from emulator.core.calendar import Timestamp
from emulator.core.records import N_, Record, to_wire


class EventData(msgspec.Struct, frozen=True, gc=False):
    """The object of an event and, for some types, the metadata of related objects (B-80)."""

    object: Any
    metadata: Mapping[str, Any] | msgspec.UnsetType = msgspec.UNSET


class Event(Record, frozen=True, kw_only=True):
    """Something that happened to an object. ``request`` is the id of the request that caused it; null for a job."""

    kind: ClassVar[str] = "event"
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
