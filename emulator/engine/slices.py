"""Work on the event loop that takes longer the larger a world is, in slices, so that other worlds
need not wait for it.

So a stored world is read, as its rows come. What only reads a world is a plain function
(:mod:`emulator.engine.reading`).
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeVar

T = TypeVar("T")

Slices = Generator[None, None, T]
"""Such work: a generator that yields between its slices and returns the result."""


def completed(slices: Slices[T]) -> T:
    """Return the result of such work, done without a pause."""
    while True:
        try:
            next(slices)
        except StopIteration as end:
            result: T = end.value
            return result
