"""Ids and secrets, computed from a seed and a counter, so that the same seed gives the same ids (B-18, B-93)."""

from __future__ import annotations

import re
from hashlib import shake_256

_DIGITS = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

# One byte makes one character. 256 is no multiple of 62, so the first eight characters are slightly more frequent.
_CHARACTERS = bytes(_DIGITS[byte % len(_DIGITS)] for byte in range(256))

LENGTH = 24
"""Characters of an id after its prefix (B-18)."""

SECRET_LENGTH = 32
"""Characters of a secret after its prefix (B-81)."""

_TEXTS = re.compile(f".{{{LENGTH}}}")

_POSITIONS = 64
"""Positions computed at once: one long hash costs far less than many short ones."""


class IdSource:
    """A sequence of random-looking ids, each decided by the seed and its position alone.

    So one integer, the last position used, is all that a saved world needs of its random source. The ids of the last
    page are cached for speed only.
    """

    def __init__(self, seed: str) -> None:
        self._seed = seed.encode()
        self._page: dict[int, str] = {}

    def id(self, prefix: str, position: int) -> str:
        """``prefix_`` and the 24 characters (``0-9A-Za-z``) of this position."""
        return f"{prefix}_{self._page.get(position) or self._page_of(position)}"

    def secret(self, prefix: str, position: int) -> str:
        """``prefix_`` and 32 characters, which cannot be computed from the id of the same position."""
        return f"{prefix}_{self._characters(f'secret {position}', SECRET_LENGTH)}"

    def _page_of(self, position: int) -> str:
        """The characters of a position outside the cached page; its page is cached instead."""
        first = position - position % _POSITIONS
        text = self._characters(f"page {first}", LENGTH * _POSITIONS)
        self._page = dict(zip(range(first, first + _POSITIONS), _TEXTS.findall(text), strict=True))
        return self._page[position]

    def _characters(self, name: str, length: int) -> str:
        return shake_256(f"{name}/".encode() + self._seed).digest(length).translate(_CHARACTERS).decode("ascii")
