"""A pace alone: how long work goes on before others have their turn."""

from __future__ import annotations

import asyncio

import pytest

from emulator.engine.time_slice import LOOPS_PER_PAUSE, SLICE_SECONDS, TimeSlice


def test_others_have_their_turn_after_so_much_work_in_few_steps_or_many(monkeypatch: pytest.MonkeyPatch) -> None:
    worked = 0.0
    monkeypatch.setattr(TimeSlice, "_elapsed", lambda self: worked)
    let_by: list[int] = []

    async def others() -> None:
        while True:
            await asyncio.sleep(0)
            let_by.append(number)

    async def work() -> None:
        nonlocal worked, number
        watching = asyncio.create_task(others())
        await asyncio.sleep(0)
        pace = TimeSlice()
        for step in [0.3] * 8 + [5, 5, 0.3, 0.3]:
            worked += step * SLICE_SECONDS
            number += 1
            await pace.pause_if_over()
        watching.cancel()

    number = 0
    asyncio.run(work())
    assert let_by == [number for number in (4, 8, 9, 10) for _ in range(LOOPS_PER_PAUSE)]
