"""Chains of causes for people: the steps of an explanation by what started them, in lanes, repeats counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

ChainStep = Mapping[str, Any]
"""One step of an explanation, as the control API sends it."""

LANES = ("requests", "clock", "money", "webhooks", "mail")
"""The lanes: requests, jobs, money and states, events that are sent with their deliveries, emails."""

_LANE_OF = {
    "request": "requests",
    "job": "clock",
    "transition": "money",
    "event": "webhooks",
    "delivery": "webhooks",
    "email": "mail",
}

STARTS = ("request", "job")
"""The kinds of step that start an episode."""


class Entry(NamedTuple):
    """Equal steps of one episode: the last of them stands for all."""

    step: ChainStep
    lane: str
    times: int

    @property
    def shape(self) -> tuple[str, str, str | None, int]:
        """What entries of other episodes must have in common with it to count as repeats."""
        return self.step["kind"], self.step["subject"], self.step["outcome"], self.times


class Episode(NamedTuple):
    """What one request or job caused, or several that did the same one after the other."""

    first: str
    last: str
    times: int
    entries: list[Entry]


def episodes(chain: Sequence[ChainStep], object: str) -> list[Episode]:
    """The episodes of the explanation of ``object``, an id; repeats of an episode become one."""
    found: list[Episode] = []
    for episode in _by_start(chain, object):
        before = found[-1] if found else None
        if before is not None and _shape(before) == _shape(episode):
            found[-1] = Episode(before.first, episode.last, before.times + 1, episode.entries)
        else:
            found.append(episode)
    return found


def _shape(episode: Episode) -> list[tuple[str, str, str | None, int]]:
    return [entry.shape for entry in episode.entries]


def _by_start(chain: Sequence[ChainStep], object: str) -> list[Episode]:
    """Each step with the request or the job that it can be led back to."""
    start_of: dict[str, str] = {}
    steps: dict[str, list[ChainStep]] = {}
    for number, step in enumerate(chain):
        cause = start_of.get(step["caused_by"] or "")
        start = cause if cause and step["kind"] not in STARTS else step["id"] or f"step {number}"
        start_of[step["id"] or f"step {number}"] = start
        steps.setdefault(start, []).append(step)
    return [Episode(own[0]["at"], own[-1]["at"], 1, _entries(own, object)) for own in steps.values()]


def _entries(steps: Sequence[ChainStep], object: str) -> list[Entry]:
    """One entry for steps that differ only in their instant and what they caused."""
    found: dict[tuple[Any, ...], Entry] = {}
    for step in steps:
        same = (step["kind"], step["subject"], step["outcome"], step["object"])
        times = found[same].times if same in found else 0
        found[same] = Entry(step, _lane(step, object), times + step["times"])
    return list(found.values())


def _lane(step: ChainStep, object: str) -> str:
    """Events of other objects are what happened to the money; the object's own are what webhooks report."""
    is_another_s = step["kind"] == "event" and step["object"] != object
    return "money" if is_another_s else _LANE_OF[step["kind"]]
