"""Jobs: everything that happens later, as plain records ordered by (due, sequence)."""

from __future__ import annotations

import heapq
from collections.abc import Collection
from typing import ClassVar

import msgspec

from emulator.core.calendar import Timestamp
from emulator.core.records import Record
from emulator.core.tables import Table


class Job(Record, frozen=True, kw_only=True):
    """One thing to be done at an instant of the world's clock; ``kind`` names the function that does it.

    ``about`` is the id of the object it concerns.
    """

    kind: ClassVar[str] = "job"
    prefix: ClassVar[str] = "job"
    indexes: ClassVar[tuple[str, ...]] = ("about",)
    paged: ClassVar[bool] = False

    name: str
    due: Timestamp
    sequence: int
    about: str | None = None
    data: dict[str, str] = msgspec.field(default_factory=dict)


class FailedJob(Record, frozen=True, kw_only=True):
    """A job that raised: it was rolled back wholly, does not run again and is kept to be looked at."""

    kind: ClassVar[str] = "failed_job"
    prefix: ClassVar[str] = "job"

    name: str
    due: Timestamp
    about: str | None
    error: str


MAX_STALE = 64
"""Stale entries of a schedule that are not worth a thought."""


class JobQueue(Table[Job]):
    """The jobs, and which of them comes next.

    An entry of the heap whose job is gone, or is now another one, is stale and passed over, so undo and cancelling
    never search the heap; when stale entries are the most of it, it is made anew.
    """

    def __init__(self, kind: type[Job] = Job) -> None:
        super().__init__(kind)
        self._heap: list[tuple[Timestamp, int, str]] = []

    def copy(self) -> JobQueue:
        twin = super().copy()
        twin._heap = self._heap.copy()
        return twin

    def add(self, record: Job, number: int) -> None:
        super().add(record, number)
        self._push(record)

    def replace(self, old: Job, new: Job, changed: Collection[str] | None = None) -> None:
        super().replace(old, new, changed)
        self._push(new)

    def next(self) -> Job | None:
        """The job that is due first (of those due at one instant, the one planned first), or None."""
        while self._heap:
            due, sequence, id = self._heap[0]
            job = self.get(id)
            # An undone turn gives its sequence numbers back, so an id alone may be that of a later job.
            if job is not None and (job.due, job.sequence) == (due, sequence):
                return job
            heapq.heappop(self._heap)
        return None

    def _push(self, job: Job) -> None:
        heapq.heappush(self._heap, (job.due, job.sequence, job.id))
        if len(self._heap) > 2 * len(self.slots) + MAX_STALE:
            self._heap = [(job.due, job.sequence, job.id) for job in self.unordered()]
            heapq.heapify(self._heap)
