"""Work that takes longer the larger a world is. It is done in slices, so that other worlds need not wait for it."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import TypeVar

T = TypeVar("T")

Slices = Generator[None, None, T]
"""Such work: a generator that yields between its slices and returns the result."""

STEP = 1000
"""Records that are looked at between two pauses, which takes some milliseconds."""


def steps(values: list[T]) -> Iterator[list[T]]:
    """Yield the values of a list, some at a time."""
    return (values[at : at + STEP] for at in range(0, len(values), STEP))


def completed(slices: Slices[T]) -> T:
    """Return the result of such work, done without a pause."""
    while True:
        try:
            next(slices)
        except StopIteration as end:
            result: T = end.value
            return result
