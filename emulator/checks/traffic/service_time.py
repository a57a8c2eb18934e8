"""The time at the service, as its answers show it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any

PAST = ("created_at", "updated_at")
"""Fields whose instants are never ahead; so is that at which something expired."""

TRUSTED = timedelta(seconds=5)
"""How far a ``Date`` may be from what an object that was just created shows, for the service's clock to be that of its
dates."""

_INSTANT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d.*")


def latest(body: Any) -> str | None:
    """The latest instant in an answer that is not ahead (UTC, with milliseconds); None if there is none."""
    return max(_past(body), default=None)


def _past(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for each in value:
            yield from _past(each)
    elif isinstance(value, dict):
        past = (*PAST, "expires_at") if value.get("status") == "expired" else PAST
        for name, part in value.items():
            if name in past and isinstance(part, str) and _INSTANT.fullmatch(part):
                yield from normal(part)
            elif name != "metadata":
                yield from _past(part)


def normal(text: str) -> Iterator[str]:
    """An instant in the form of the emulator; nothing if it is none."""
    try:
        instant = datetime.fromisoformat(text)
        yield _written(instant if instant.tzinfo else instant.replace(tzinfo=UTC))
    except (ValueError, OverflowError):
        return


def of_date(header: str | None) -> str | None:
    """The instant of a ``Date`` header; None if there is none, or it is none."""
    try:
        return _written(parsedate_to_datetime(header)) if header else None
    except (ValueError, TypeError, OverflowError):
        return None


def agree(date: str, instant: str) -> bool:
    """Whether a ``Date`` and the instant of an object that was just created are of one clock."""
    return abs(datetime.fromisoformat(date) - datetime.fromisoformat(instant)) <= TRUSTED


def _written(instant: datetime) -> str:
    return instant.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
