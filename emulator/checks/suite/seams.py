"""The seams of the service at which something can be wrong, and a row of the table of wrong services."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, NamedTuple

import msgspec

from emulator.core.records import Record, hidden_fields

Alteration = Callable[..., Any]
"""The wrong value in place of a right one; the right one itself where the row does not concern it."""


class Seam(Enum):
    """A place where a value passes. A change gets the value and what is named after it here."""

    REQUESTED = "a ClientRequest, before it is handled"
    ANSWERED = "a ServiceAnswer to a request of /v1"
    SHOWN = "a JSON object in an answer, or in an event on its way to an endpoint"
    DELIVERED = "the JSON of an event on its way to an endpoint, before it is signed; the world"
    SIGNED = "the SignedRequest to an endpoint; the endpoint"
    STORED = "a record that is added or changed; the record before, or None"
    EMITTED = "the type of an event, or None for one that is never emitted; its record"
    SCHEDULED = "when a job is due; its name, and the record that it is about"
    RUN = "a job that is due, or None for one that does nothing; the world"
    REACTED = "the reaction to an event, or None for one that is left out; the world, the event"


class Doubt(NamedTuple):
    """A service that is wrong in one way.

    ``wrong`` completes the sentence "no test fails when …". ``look`` says what a test has to assert to notice. ``at``
    is the seam at which the service is wrong, and the change there.
    """

    name: str
    wrong: str
    look: str
    at: tuple[Seam, Alteration]

    @property
    def sentence(self) -> str:
        """What is said of a test suite that does not notice."""
        return f"no test fails when {self.wrong}"


class ClientRequest(NamedTuple):
    """What a request asks for; names of headers are in lower case."""

    method: str
    path: str
    query: bytes
    headers: Mapping[bytes, bytes]


class ServiceAnswer(NamedTuple):
    """An answer with a JSON body."""

    status: int
    body: Any


def never_emitted(*types: str) -> tuple[Seam, Alteration]:
    """Events of these types do not exist. What the rules do because of them still happens."""
    return Seam.EMITTED, lambda emitted, record: None if emitted in types else emitted


def never_run(*names: str) -> tuple[Seam, Alteration]:
    """Jobs of these names do nothing when they are due."""
    return Seam.RUN, lambda job, world: None if job.name in names else job


def left_out(*reactions: Callable[..., Any]) -> tuple[Seam, Alteration]:
    """These reactions to events never happen."""
    return Seam.REACTED, lambda reaction, world, event: None if reaction in reactions else reaction


def shown(kind: type[Record], fields: Callable[[Mapping[str, Any]], Mapping[str, Any]]) -> tuple[Seam, Alteration]:
    """Objects of a kind are shown with wrong ``fields``; empty where an object is shown as it is."""
    whole = set(kind.__struct_fields__) - set(hidden_fields(kind))

    def change(right: Mapping[str, Any]) -> Mapping[str, Any]:
        # Some answers have only a few fields of an object.
        concerned = right["object"] == kind.kind and right.keys() >= whole
        return {**right, **fields(right)} if concerned else right

    return Seam.SHOWN, change


def shown_as(kind: type[Record], status: str, other: str, **fields: Any) -> tuple[Seam, Alteration]:
    """Objects of a kind with this status are shown with another one, and with other wrong ``fields``."""
    return shown(kind, lambda right: {"status": other, **fields} if right["status"] == status else {})


def created(kind: type[Record], fields: Callable[[Any], Mapping[str, Any]]) -> tuple[Seam, Alteration]:
    """New records of a kind are stored with wrong ``fields``."""

    def change(new: Record, old: Record | None) -> Record:
        return msgspec.structs.replace(new, **fields(new)) if old is None and isinstance(new, kind) else new

    return Seam.STORED, change


def changed(kind: type[Record], fields: Callable[[Any, Any], Mapping[str, Any]]) -> tuple[Seam, Alteration]:
    """Changes of records of a kind, from ``old`` to ``new``, are stored with wrong ``fields``."""

    def change(new: Record, old: Record | None) -> Record:
        return msgspec.structs.replace(new, **fields(old, new)) if old is not None and isinstance(new, kind) else new

    return Seam.STORED, change


def delivered(fields: Callable[[Mapping[str, Any], Any], Mapping[str, Any]]) -> tuple[Seam, Alteration]:
    """Events are delivered with an object that has wrong ``fields``; the signature is right."""

    def change(event: Mapping[str, Any], world: Any) -> Mapping[str, Any]:
        subject = event["data"]["object"]
        return {**event, "data": {**event["data"], "object": {**subject, **fields(subject, world)}}}

    return Seam.DELIVERED, change
