"""Jobs: everything that happens later, as records that run in the order of (due, sequence)."""

from __future__ import annotations

import heapq
from collections.abc import Collection
from typing import ClassVar, Self

import msgspec

from emulator.core.calendar import Timestamp
from emulator.core.heaps import is_mostly_stale
from emulator.core.records import Record
from emulator.core.tables import Contents, Table


class Job(Record, frozen=True, kw_only=True):
    """A call of the registry's function ``name``, due at an instant of the world's clock.

    ``about`` is the id of the object it concerns; jobs due at the same instant run in the order of
    ``sequence``.
    """

    prefix: ClassVar[str] = "job"
    indexes: ClassVar[tuple[str, ...]] = ("about",)
    paged: ClassVar[bool] = False

    name: str
    due: Timestamp
    sequence: int
    about: str | None = None
    data: dict[str, str] = msgspec.field(default_factory=dict)


class FailedJob(Record, frozen=True, kw_only=True):
    """A job that raised ``error``: its changes were undone, and it does not run again."""

    prefix: ClassVar[str] = "job"

    name: str
    due: Timestamp
    about: str | None
    error: str


class JobQueue(Table[Job]):
    """The table of jobs, with a heap that finds the next one.

    An entry of the heap whose job was removed or replaced is stale and is skipped, so that undo and
    cancelling never search the heap. When most entries are stale, the heap is rebuilt.
    """

    __slots__ = ("_heap",)

    def __init__(self, kind: type[Job] = Job) -> None:
        super().__init__(kind)
        self._heap: list[tuple[Timestamp, int, str]] = []

    @classmethod
    def of(cls, kind: type[Job], contents: Contents[Job]) -> Self:
        queue = super().of(kind, contents)
        queue._rebuild()
        return queue

    def add(self, record: Job, number: int) -> None:
        super().add(record, number)
        self._push(record)

    def replace(self, old: Job, new: Job, changed: Collection[str] | None = None) -> int:
        number = super().replace(old, new, changed)
        self._push(new)
        return number

    def next(self) -> Job | None:
        """Return the job due first, or None; of jobs due at one instant, the one planned first."""
        while self._heap:
            due, sequence, id = self._heap[0]
            slot = self.slots[id]
            # Undo takes back sequence numbers too, so the same id may since have been given to
            # another job.
            if slot is not None and (job := slot.record).due == due and job.sequence == sequence:
                return job
            heapq.heappop(self._heap)
        return None

    def _push(self, job: Job) -> None:
        heapq.heappush(self._heap, (job.due, job.sequence, job.id))
        if is_mostly_stale(self._heap, self):
            self._rebuild()

    def _rebuild(self) -> None:
        self._heap = [(job.due, job.sequence, job.id) for job in self.unordered()]
        heapq.heapify(self._heap)
