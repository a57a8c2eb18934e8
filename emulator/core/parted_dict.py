"""A mapping in parts: however large it grows, no single addition takes longer than some milliseconds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import Self, TypeVar

K = TypeVar("K")
V = TypeVar("V")

PART = 87_381
"""Entries of one part: as many as a dict takes that has 2**17 places.

A dict that grows copies all it holds: a million entries take 0.1 s, the last growth of a part some 4 ms. One renewal
may meet it in five tables.
"""


class PartedDict(dict[K, V | None]):
    """The newest part is the dict itself; ``older`` are those that were full. ``parts[key]`` is None for no entry.

    The newest part answers first, without a call in Python: in a long history, most of what is read is recent. Of the
    methods of a dict, only those below know the older parts.
    """

    __slots__ = ("older",)

    def __init__(self, older: tuple[PartedDict[K, V], ...] = ()) -> None:
        self.older = older

    def __missing__(self, key: K) -> V | None:
        for part in reversed(self.older):
            if (value := part.get(key)) is not None:
                return value
        return None

    def grown(self) -> Self:
        """Where the next entry goes: this part, or a new one if it is full."""
        return self if len(self) < PART else type(self)((*self.older, self))

    def discard(self, key: K) -> V | None:
        """Remove an entry, if there is one; its value."""
        if (value := self.pop(key, None)) is not None or not self.older:
            return value
        for part in self.older:
            if (value := part.pop(key, None)) is not None:
                self.older = tuple(each for each in self.older if each)
                return value
        return None

    def mapped(self, function: Callable[[V], V]) -> Self:
        """The same keys in the same parts, each value replaced by what the function makes of it."""
        parts = [type(self)() for _ in range(len(self.older) + 1)]
        sources: tuple[PartedDict[K, V], ...] = (*self.older, self)
        for part, source in zip(parts, sources, strict=True):
            part.update((key, function(value)) for key, value in source.items() if value is not None)
        parts[-1].older = tuple(parts[:-1])
        return parts[-1]

    def all_values(self) -> Iterator[V]:
        """The values of all parts, the oldest part first."""
        return chain.from_iterable(part.values() for part in (*self.older, self))  # type: ignore[misc]  # None is not stored

    def all_keys(self) -> Iterator[K]:
        """The keys of all parts, the oldest part first."""
        return chain.from_iterable((*self.older, self))

    def size(self) -> int:
        """The number of entries in all parts."""
        return len(self) + sum(map(len, self.older))
