"""A time slice alone: how long work goes on before other tasks run."""

from __future__ import annotations

import asyncio

import pytest

from emulator.engine.clock import LOOPS_PER_PAUSE, SLICE_SECONDS, TimeSlice


def test_other_tasks_run_after_a_slice_of_work_in_few_steps_or_many(monkeypatch: pytest.MonkeyPatch) -> None:
    worked = 0.0
    monkeypatch.setattr(TimeSlice, "_elapsed", lambda self: worked)
    seen: list[int] = []

    async def others() -> None:
        while True:
            await asyncio.sleep(0)
            seen.append(number)

    async def work() -> None:
        nonlocal worked, number
        watching = asyncio.create_task(others())
        await asyncio.sleep(0)
        time_slice = TimeSlice()
        for step in [0.3] * 8 + [5, 5, 0.3, 0.3]:
            worked += step * SLICE_SECONDS
            number += 1
            await time_slice.pause_if_over()
        watching.cancel()

    number = 0
    asyncio.run(work())
    assert seen == [number for number in (4, 8, 9, 10) for _ in range(LOOPS_PER_PAUSE)]
