"""Heaps with stale entries: a reader skips them when they come up, and nothing searches a heap."""

from __future__ import annotations

from collections.abc import Sized

MAX_STALE = 64
"""A heap is rebuilt once it has twice as many entries as are valid, and this many more."""


def is_mostly_stale(heap: Sized, valid: Sized) -> bool:
    """Return whether a heap is to be rebuilt from the things that have a valid entry in it."""
    return len(heap) > 2 * len(valid) + MAX_STALE
