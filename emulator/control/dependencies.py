"""The requests that an object depends on: those that made or changed it, or anything that it refers to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from emulator.control import objects
from emulator.control.causality import Causality, LoggedUnit
from emulator.core.jobs import Job
from emulator.core.world import World
from emulator.recording.exchanges import Exchange
from emulator.recording.id_search import ID, request_ids

CONTROL = "/_emulator/"


def needed(exchanges: Sequence[Exchange], id: str, causality: Causality, world: World) -> set[str]:
    """The ids of the requests, as far as the journal knows them.

    A request to the control API that names no other object counts as well: an arranged outcome or a setting can have
    an effect on every object.
    """
    found = _Dependencies(exchanges, causality, world)
    found.add(id)
    steering = (each for each in exchanges if each.path.startswith(CONTROL) and each.status < 400)
    return found.requests | {each.id for each in steering if request_ids(each) <= found.objects}


class _Dependencies:
    """What one object depends on. ``objects`` are ids."""

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

    def add(self, id: str) -> None:
        """Add an object with what it refers to, what its requests name, and all that those depend on."""
        waiting = [id]
        while waiting:
            if (each := waiting.pop()) in self.objects:
                continue
            self.objects.add(each)
            waiting += self._referred(each)
            for request in {*self._causes(self._touching[each])} - self.requests:
                self.requests.add(request)
                waiting += self._named.get(request, ())

    def _causes(self, units: Iterable[LoggedUnit]) -> Iterator[str]:
        """The requests that did this, and those that planned the jobs that did."""
        for logged in units:
            origin = self._origin(logged.job) if logged.job is not None else logged
            if origin is not None and (request := self._causality.request_of(origin)) is not None:
                yield request

    def _origin(self, job: Job) -> LoggedUnit | None:
        """The unit of work that planned a job, or the job that planned that, and so on."""
        planned = [job, *self._causality.planners(job)]
        return self._causality.creator(planned[-1])

    def _referred(self, id: str) -> list[str]:
        record = objects.get(self._world, id)
        found = ID.findall(msgspec.json.encode(record).decode()) if record is not None else []
        return [each for each in found if objects.get(self._world, each) is not None]
