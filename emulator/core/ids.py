"""Ids and secrets: drawn from a seed and a counter, so that a world with a seed always gives the same (B-18, B-93)."""

from __future__ import annotations

import re
from hashlib import shake_256

_DIGITS = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

# One byte makes one character. The first eight digits come a little more often, which no id minds.
_CHARACTERS = bytes(_DIGITS[byte % len(_DIGITS)] for byte in range(256))

LENGTH = 24
"""Characters of an id after its prefix (B-18)."""

SECRET_LENGTH = 32
"""Characters of a secret after its prefix (B-81)."""

_TEXTS = re.compile(f".{{{LENGTH}}}")

_POSITIONS = 64
"""Positions that are drawn at once: one long hash costs far less than many short ones."""


class IdSource:
    """An endless row of unpredictable looking values that only the seed and the position decide.

    Whoever knows ``seed`` and the position of the last draw can go on from there, so a saved world needs one integer
    for its random source. The page that was drawn last is remembered to save time, nothing else.
    """

    def __init__(self, seed: str) -> None:
        self._seed = seed.encode()
        self._page: dict[int, str] = {}

    def id(self, prefix: str, position: int) -> str:
        """``prefix_`` and 24 characters of ``0-9A-Za-z``, those of this position."""
        return f"{prefix}_{self._page.get(position) or self._page_of(position)}"

    def secret(self, prefix: str, position: int) -> str:
        """``prefix_`` and 32 such characters, that no id of the same position tells anything about."""
        return f"{prefix}_{self._characters(f'secret {position}', SECRET_LENGTH)}"

    def _page_of(self, position: int) -> str:
        """The text of a position that is on another page."""
        first = position - position % _POSITIONS
        text = self._characters(f"page {first}", LENGTH * _POSITIONS)
        self._page = dict(zip(range(first, first + _POSITIONS), _TEXTS.findall(text), strict=True))
        return self._page[position]

    def _characters(self, name: str, length: int) -> str:
        return shake_256(f"{name}/".encode() + self._seed).digest(length).translate(_CHARACTERS).decode("ascii")
