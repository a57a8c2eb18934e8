"""The requests that objects depend on: those that made or changed them, or anything that they refer to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from emulator.control import objects
from emulator.control.explain.causality import Causality, LoggedUnit
from emulator.control.recording.exchanges import Exchange
from emulator.control.recording.id_search import ID, request_ids
from emulator.core.jobs import Job
from emulator.core.world import World

CONTROL = "/_emulator/"


def needed(exchanges: Sequence[Exchange], ids: Iterable[str], causality: Causality, world: World) -> set[str]:
    """The ids of the requests, as far as the journal knows them.

    A request to the control API that names no other object counts as well: an arranged outcome or a setting can have
    an effect on every object.
    """
    found = _Dependencies(exchanges, causality, world)
    found.add(ids)
    steering = (each for each in exchanges if each.path.startswith(CONTROL) and each.status < 400)
    return found.requests | {each.id for each in steering if request_ids(each) <= found.objects}


class _Dependencies:
    """What objects depend on. ``objects`` are ids."""

    def __init__(self, exchanges: Sequence[Exchange], causality: Causality, world: World) -> None:
        self.objects: set[str] = set()
        self.requests: set[str] = set()
        self._named = {each.id: request_ids(each) for each in exchanges}
        self._causality = causality
        self._world = world
        self._touching: dict[str, list[LoggedUnit]] = defaultdict(list)
        for logged in causality.units:
            for touched in {change.record.id for change in logged.unit.changes}:
                self._touching[touched].append(logged)

    def add(self, ids: Iterable[str]) -> None:
        """Add objects with what they refer to, what their requests name, and all that those depend on."""
        waiting = [*ids]
        while waiting:
            if (each := waiting.pop()) in self.objects:
                continue
            self.objects.add(each)
            waiting += self._referred(each)
            for request in {*causes(self._touching[each], self._causality)} - self.requests:
                self.requests.add(request)
                waiting += self._named.get(request, ())

    def _referred(self, id: str) -> list[str]:
        record = objects.get(self._world, id)
        found = ID.findall(msgspec.json.encode(record).decode()) if record is not None else []
        return [each for each in found if objects.get(self._world, each) is not None]


def causes(units: Iterable[LoggedUnit], causality: Causality) -> Iterator[str]:
    """The requests that did this, and those that planned the jobs that did."""
    for logged in units:
        origin = _origin(logged.job, causality) if logged.job is not None else logged
        if origin is not None and (request := causality.request_of(origin)) is not None:
            yield request


def _origin(job: Job, causality: Causality) -> LoggedUnit | None:
    """The unit of work that planned a job, or the job that planned that, and so on."""
    planned = [job, *causality.planners(job)]
    return causality.creator(planned[-1])
