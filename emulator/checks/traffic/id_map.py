"""The ids of the same object at the service and in the world beside it."""

from __future__ import annotations

import re
from typing import Any

_TOKEN = re.compile(r"[\w-]{4,}")

_ID = re.compile(r"[a-z]{2,12}_[0-9A-Za-z]{8,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class IdMap:
    """Learns which ids belong together, and translates what was sent to the service."""

    def __init__(self) -> None:
        self._ours: dict[str, str] = {}
        self._theirs: dict[str, str] = {}

    def __bool__(self) -> bool:
        return bool(self._ours)

    def belong_together(self, theirs: str, ours: str) -> bool:
        """Whether both are ids of one object. Two that are both unknown do from now on."""
        if theirs not in self._ours and ours not in self._theirs:
            self._ours[theirs], self._theirs[ours] = ours, theirs
        return self._ours.get(theirs) == ours

    def ours(self, theirs: Any) -> str | None:
        """The id in the world; None if the object is not known."""
        return self._ours.get(theirs) if isinstance(theirs, str) else None

    def is_known(self, ours: str) -> bool:
        """Whether the service's id of an object of the world is known."""
        return ours in self._theirs

    def translated(self, text: str) -> str:
        """A text with the world's ids in place of the service's."""
        return _TOKEN.sub(lambda match: self._ours.get(match[0], match[0]), text)

    def unknown(self, text: str) -> list[str]:
        """What looks like an id in a text and is not known."""
        return [id for id in _ID.findall(text) if id not in self._ours]
