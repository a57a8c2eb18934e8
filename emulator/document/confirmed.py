"""The marks of a calibrated service in a served document: which assumptions were confirmed there, and which not."""

from __future__ import annotations

from typing import Any, NamedTuple

from emulator.document.profile import Profile

ASSUMPTION, CONFIRMED, REFUTED = "x-assumption", "x-confirmed", "x-refuted"


class Marks(NamedTuple):
    """The assumptions that a service confirmed, on ``date``, and those that it refuted and that no setting follows."""

    date: str
    confirmed: frozenset[str]
    refuted: frozenset[str]

    @classmethod
    def of(cls, profile: Profile) -> Marks:
        """The marks of the service that a profile is about."""
        return cls(profile.date, frozenset(profile.confirmed), frozenset(profile.broken()))


def with_marks(node: Any, marks: Marks) -> Any:
    """A copy of a document in which ``x-assumption`` has only what is not confirmed.

    Where all is confirmed ``x-confirmed`` is the date; what was refuted stands in ``x-refuted`` beside it.
    """
    if isinstance(node, list):
        return [with_marks(part, marks) for part in node]
    if not isinstance(node, dict):
        return node
    marked = {name: with_marks(part, marks) for name, part in node.items() if name != ASSUMPTION}
    if ASSUMPTION not in node:
        return marked
    cited = node[ASSUMPTION] if isinstance(node[ASSUMPTION], list) else [node[ASSUMPTION]]
    left = [number for number in cited if number not in marks.confirmed]
    refuted = [number for number in cited if number in marks.refuted]
    if not left:
        marked[CONFIRMED] = marks.date
    else:
        marked[ASSUMPTION] = left if isinstance(node[ASSUMPTION], list) else left[0]
    return {**marked, REFUTED: refuted} if refuted else marked
