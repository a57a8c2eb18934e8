"""The shortest recording at whose end an object is what it is in the recorded world."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from emulator.control.recording.id_search import ID
from emulator.control.recording.model import Recording
from emulator.control.recording.player import PlayedWorld, play
from emulator.control.recording.shrink import Shrunk, shrink

COUNTED = frozenset(["number", "receipt_number", "invoice_number", "url", "hosted_url", "pdf_url", "request"])
"""Fields that count documents of the whole world, and links, which hold the emulator's address.

The request of an event is among them: a buyer's page becomes a call of the control API, which no event names.
"""

MEASURED = frozenset(["duration_ms", "Service-Signature", "response_body"])
"""Fields of parts of an object that real time decides, or ids, or the receiver of a webhook."""

ACCOUNT = frozenset(["bank", "last4"])
"""The fields of a bank account: a recording has a test account in its place."""

NAMED = re.compile(rf"{ID.pattern}|\b[A-Z]+-\d{{4}}-\d{{6}}\b")
"""Ids and numbers of documents in a text."""

INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")

DELAY = timedelta(seconds=1)
"""By less than this do instants differ only because on a clock that runs a request or a delivery takes time."""


def reproduce(recording: Recording, object: Mapping[str, Any], world: PlayedWorld, seconds: float) -> Shrunk | str:
    """Shrink a recording whose one expectation reads the object, for at most so many seconds of real time.

    What is wrong, as a text, if a fresh world has another object at the end.
    """
    played = play(recording, world)
    if played.difference is not None:
        return played.difference
    found = played.read[0]
    if (field := _differing(object, found)) is not None:
        return f"{field} is {found.get(field)!r} instead of {object.get(field)!r}"

    def holds(candidate: Recording) -> bool:
        again = play(candidate, world)
        return again.difference is None and _differing(found, again.read[0]) is None

    return shrink(recording, holds, seconds)


def _differing(one: Mapping[str, Any], other: Mapping[str, Any]) -> str | None:
    """The first field in which two objects differ, but for ids; None if there is none."""
    ids: dict[str, str] = {}
    names = [name for name in one if name not in COUNTED and name in other]
    return next((name for name in names if not _equal(one[name], other[name], ids)), None)


def _equal(one: Any, other: Any, ids: dict[str, str]) -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        # An event has a whole object in it.
        ignored = MEASURED | (ACCOUNT if "bank" in one else frozenset()) | (COUNTED if "object" in one else frozenset())
        names = one.keys() - ignored
        return names == other.keys() - ignored and all(_equal(one[name], other[name], ids) for name in names)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(_equal(*pair, ids) for pair in zip(one, other, strict=True))
    if isinstance(one, str) and isinstance(other, str):
        if INSTANT.fullmatch(one) and INSTANT.fullmatch(other):
            return abs(datetime.fromisoformat(one) - datetime.fromisoformat(other)) < DELAY
        found = zip(NAMED.findall(one), NAMED.findall(other), strict=False)
        is_alike = NAMED.sub("", one) == NAMED.sub("", other)
        return is_alike and all(ids.setdefault(id, like) == like for id, like in found)
    return bool(one == other)
