"""Ids and secrets: drawn from a seed and a counter, so that a world with a seed always gives the same (B-18, B-93)."""

from __future__ import annotations

from hashlib import shake_256

_DIGITS = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

# One byte makes one character. The first eight digits come a little more often, which no id minds.
_CHARACTERS = bytes(_DIGITS[byte % len(_DIGITS)] for byte in range(256))

LINE = 32
"""Characters of each position, and so the longest text."""

_LINES = 64
"""Positions that are drawn at once: one long hash costs far less than many short ones."""


class Source:
    """An endless row of unpredictable looking values that only the seed and the position decide.

    Whoever knows ``seed`` and the position of the last draw can go on from there, so a saved world needs one integer
    for its random source. The page that was drawn last is remembered to save time, nothing else.
    """

    def __init__(self, seed: str) -> None:
        self._seed = seed.encode()
        self._number, self._page = -1, ""

    def text(self, position: int, length: int = 24) -> str:
        """``length`` characters (at most 32) of ``0-9A-Za-z`` for this position."""
        number, line = divmod(position, _LINES)
        if number != self._number:
            self._number, self._page = number, self._drawn(number)
        return self._page[line * LINE : line * LINE + length]

    def id(self, prefix: str, position: int, length: int = 24) -> str:
        """``prefix_`` and that text."""
        return f"{prefix}_{self.text(position, length)}"

    def _drawn(self, number: int) -> str:
        """The text of so many positions."""
        drawn = shake_256(number.to_bytes(8, "big") + self._seed).digest(LINE * _LINES)
        return drawn.translate(_CHARACTERS).decode("ascii")
