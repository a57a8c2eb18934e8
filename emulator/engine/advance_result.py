"""What happens during an advance of the clock, counted as it happens."""

from __future__ import annotations

from collections import Counter

from emulator.core.calendar import Timestamp
from emulator.core.jobs import FailedJob


class AdvanceResult:
    """An advance that began at ``start`` and has come to ``now``.

    ``events`` are counted by type, ``deliveries`` (attempts) by whether they succeeded; ``jobs`` are those that did
    not fail.
    """

    def __init__(self, start: Timestamp) -> None:
        self.start = self.now = start
        self.jobs = 0
        self.events: Counter[str] = Counter()
        self.deliveries: Counter[bool] = Counter()
        self.failures: list[FailedJob] = []
