"""Reads of a large world: plain functions in a thread, on a copy, while the loop serves others.

Records are frozen, so that a copy of a world takes some milliseconds of the loop: lists of its
records. All else that is long happens in one thread, one piece of work after the other. A small
world is read at once, as it is.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple, TypeVar

from emulator.core.lists import Page, Selection
from emulator.core.records import R
from emulator.core.world import World, WorldContents
from emulator.engine.journal import Journal

T = TypeVar("T")

LARGE = 2000
"""Records, or changes in the journal, that are too many to be read at once: some take 5 µs each."""

SWITCH_SECONDS = 0.0005
"""Seconds that the thread works on while the event loop waits: a tenth of the default."""

_THREAD = ThreadPoolExecutor(1, "reading")


class View(NamedTuple):
    """The parts of a world that are read: its records and its journal."""

    world: World
    journal: Journal


async def in_thread(function: Callable[..., T], *args: Any) -> T:
    """Return the result of a function of what does not change, run in the thread for such work."""
    work = partial(_yielding, function, *args)
    return await asyncio.get_running_loop().run_in_executor(_THREAD, work)


def _yielding(function: Callable[..., T], *args: Any) -> T:
    """Run a function that often gives way: a request takes some rounds of the loop."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(min(interval, SWITCH_SECONDS))
    try:
        return function(*args)
    finally:
        sys.setswitchinterval(interval)


async def compute(size: int, function: Callable[..., T], *args: Any) -> T:
    """Return the same, at once where few records are looked at: work on a large world does not hold
    it up.
    """
    return function(*args) if size <= LARGE else await in_thread(function, *args)


async def read_page(selection: Selection[R]) -> Page[R]:
    """Return the page of a selection that was made just now."""
    if selection.reads <= LARGE:
        return selection.page()
    return await in_thread(selection.page_of, selection.taken())


async def examine(view: View, function: Callable[..., T], *args: Any) -> T:
    """Return ``function(view, *args)``, a report on the world as it is now."""
    world, journal = view
    if world.size + journal.changes <= LARGE:
        return function(view, *args)
    return await in_thread(_examine, WorldContents(world), journal.copied(), function, *args)


def _examine(
    contents: WorldContents, journal: Journal, function: Callable[..., T], *args: Any
) -> T:
    return function(View(contents.view(), journal), *args)
